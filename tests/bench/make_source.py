#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_source.py FILE SIZES: write a pcap file of 504 UDP frames that a source repeats without end. SIZES is a
length in bytes without FCS, or "imix": 60, 590 and 1514 bytes, 7 to 4 to 1."""

import struct
import sys

IMIX = [60, 590, 60, 590, 60, 60, 1514, 60, 590, 60, 590, 60]
FRAMES = 504


def frame(i, size):
    ip_bytes = size - 14
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, ip_bytes, i, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 1, i % 250]))
    udp = struct.pack(">HHHH", 1024 + i, 5001, ip_bytes - 20, 0)
    return bytes.fromhex("020000000001020000000002") + b"\x08\x00" + ip + udp + bytes(ip_bytes - 28)


def main(path, sizes):
    lengths = IMIX if sizes == "imix" else [int(sizes)]
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i in range(FRAMES):
            data = frame(i, lengths[i % len(lengths)])
            out.write(struct.pack("<IIII", 1700000000, i, len(data), len(data)) + data)


main(*sys.argv[1:])
