#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_ptp.py FILE COUNT: write a pcap file of COUNT PTP frames (IEEE 1588-2008): Sync messages over Ethernet, numbered from 0."""

import struct
import sys


def sync(i):
    ethernet = bytes.fromhex("0180c200000e" "020000000008" "88f7")
    head = struct.pack(">BBHBBHQI", 0, 2, 44, 127, 0, 0, 0, 0)
    identity = bytes.fromhex("020000fffe000008") + struct.pack(">H", 1)
    return (ethernet + head + identity + struct.pack(">HBb", i, 0, 0x7F) + bytes(10)).ljust(60, b"\0")


def main(path, count):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for i in range(int(count)):
            frame = sync(i)
            file.write(struct.pack("<IIII", 1700000000 + i, 0, len(frame), len(frame)) + frame)


main(*sys.argv[1:])
