#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_numbered.py FILE COUNT BYTES: write a pcap file of COUNT numbered UDP frames of BYTES bytes."""

import struct
import sys


def main(path, count, size):
    head = bytes.fromhex("020000000002020000000001") + b"\x08\x00" + struct.pack(
        ">BBHHHBBH4s4sHHHH", 0x45, 0, size - 14, 0, 0, 64, 17, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]), 4000, 5001,
        size - 34, 0)
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for i in range(count):
            out.write(struct.pack("<IIII", 1700000000, i, size, size))
            out.write((head + struct.pack(">I", i)).ljust(size, b"x"))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
