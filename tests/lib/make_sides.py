#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_sides.py NAME COUNT: write COUNT frames of two sides, in irregular turns, to NAME.pcap and NAME.pcapng. All marks of a frame agree:
clients have the source MAC 02:00:00:00:00:01, an address in 10.0.1.0/24, interface 0 and outbound epb_flags; servers
02:00:00:00:00:02, 10.0.2.0/24, interface 1 and inbound. TCP sessions begin with SYN and SYN+ACK."""

import random
import struct
import sys

SYN, ACK = 2, 16


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def frame(side, session, flags, number):
    macs = bytes.fromhex("02000000000%d02000000000%d" % (2 - side, 1 + side))
    hosts = [bytes([10, 0, 1, 1 + session]), bytes([10, 0, 2, 1 + session % 3])]
    payload = struct.pack(">I", number) * (1 + number % 50)
    tcp = struct.pack(">HHIIBBHHH", 4000 + 1000 * side, 5000 - 1000 * side, number, 0, 0x50, flags, 8192, 0, 0) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), number & 0xFFFF, 0, 64, 6, 0) + hosts[side] + hosts[1 - side]
    return macs + b"\x08\x00" + ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + tcp


def frames(count):
    """Yield (time in ns, side, bytes)."""
    rng, begun = random.Random(1), {}
    for i in range(count):
        session = rng.randrange(8)
        step = begun[session] = begun.get(session, -1) + 1
        side, flags = (step, SYN | ACK * step) if step < 2 else (rng.randrange(2), ACK)
        yield 1700000000 * 10**9 + 5 + i * 1000003, side, frame(side, session, flags, i)


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<II", kind, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))


def main(name, count):
    with open(name + ".pcap", "wb") as pcap, open(name + ".pcapng", "wb") as pcapng:
        pcap.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        pcapng.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        for _ in range(2):
            pcapng.write(block(1, struct.pack("<HHIHHI", 1, 0, 0, 9, 1, 9)))
        for ns, side, data in frames(int(count)):
            pcap.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(data), len(data)) + data)
            padded = data + b"\0" * (-len(data) % 4)
            pcapng.write(block(6, struct.pack("<IIIII", side, ns >> 32, ns & 0xFFFFFFFF, len(data), len(data)) + padded
                               + struct.pack("<HHI", 2, 4, 1 if side else 2) + bytes(4)))


main(*sys.argv[1:])
