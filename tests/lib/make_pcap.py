#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_pcap.py FILE COUNT [SIZE...]: write a pcap file with nanoseconds: Ethernet frames of 60 to 1514 bytes, every second one
UDP to port 5001, the others TCP to port 80, with distinct payloads. Or, with sizes, COUNT times one frame of each, of an unknown
EtherType. Timestamps are odd numbers that rounding would change."""

import random
import struct
import sys


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def frame(i, rng):
    size = 60 + i * 97 % 1455
    udp = i % 2 == 0
    l4_bytes = size - 14 - 20
    payload = rng.randbytes(l4_bytes - (8 if udp else 20))
    if udp:
        l4 = struct.pack(">HHHH", 4000, 5001, l4_bytes, 0) + payload
    else:
        l4 = struct.pack(">HHIIBBHHH", 4000, 80, i, 0, 0x50, 0x18, 8192, 0, 0) + payload
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + l4_bytes, i & 0xFFFF, 0, 64, 17 if udp else 6, 0,
                       bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    return bytes.fromhex("020000000002020000000001") + b"\x08\x00" + head + l4


def odd_frame(size, rng):
    return (bytes.fromhex("020000000002020000000001") + b"\x88\xb5" + rng.randbytes(size))[:size]


def main(path, count, *sizes):
    rng = random.Random(1)
    frames = [lambda size=int(size): odd_frame(size, rng) for size in sizes]
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for i in range(int(count) * max(len(frames), 1)):
            data = frames[i % len(frames)]() if frames else frame(i, rng)
            ns = 123456789 + i * 1000003
            out.write(struct.pack("<IIII", 1700000000 + ns // 10**9, ns % 10**9, len(data), len(data)) + data)


main(*sys.argv[1:])
