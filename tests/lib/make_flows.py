#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_flows.py FILE FLOWS FRAMES: write a pcap file with nanoseconds of FLOWS interleaved conversations: TCP, UDP and SCTP over
IPv4 and IPv6, untagged, in one VLAN and in two, with repeated connections and pauses of 50 and of 70 seconds;
between them ARP, fragments, and inconsistent frames, which come from 02:00:00:00:00:ee."""

import random
import struct
import sys

A, B, LIAR = (bytes.fromhex("02000000" + last) for last in ("0001", "0002", "00ee"))
TCP, UDP, SCTP = 6, 17, 132
SYN, SYN_ACK, ACK = 0x02, 0x12, 0x10


def l4(proto, ports, flags, size):
    head = struct.pack(">HH", *ports)
    if proto == TCP:
        head += struct.pack(">IIBBHHH", 0, 0, 0x50, flags, 8192, 0, 0)
    elif proto == UDP:
        head += struct.pack(">HH", max(size, 8), 0)
    else:
        head += struct.pack(">II", 7, 0)
    return head.ljust(size, b"\0")


def ip4(addresses, proto, payload, fragment=0):
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, fragment, 64, proto, 0)
    return head + b"".join(bytes([10, 0, 0, last]) for last in addresses) + payload


def ip6(addresses, proto, payload):
    head = struct.pack(">IHBB", 6 << 28, len(payload), proto, 64)
    return head + b"".join(bytes.fromhex("20010db8").ljust(15, b"\0") + bytes([last]) for last in addresses) + payload


class Flow:
    """Return flow n; no two have the same ends, protocol and VLANs."""

    def __init__(self, n):
        self.version = (4, 6)[n % 2]
        self.proto = (TCP, UDP, SCTP)[n // 2 % 3]
        self.vlans = ([], [7], [8], [7, 8])[n // 6 % 4]
        self.addresses = (1, 2 + n // 24 % 2)
        self.ports = (1000 + n // 48, 80)
        self.opening = [SYN, SYN_ACK, ACK]

    def frame(self, rng):
        if self.proto == TCP and not self.opening and rng.random() < 0.02:
            self.opening = [SYN, SYN_ACK, ACK]
        flags = self.opening.pop(0) if self.opening else ACK
        back = flags == SYN_ACK or (flags == ACK and rng.random() < 0.5)
        ends = (self.addresses[::-1], self.ports[::-1]) if back else (self.addresses, self.ports)
        size = 40 if flags & SYN else rng.randint(40, 1400)
        packet = (ip4 if self.version == 4 else ip6)(ends[0], self.proto, l4(self.proto, ends[1], flags, size))
        tags = b"".join(struct.pack(">HH", 0x8100, rng.randrange(8) << 13 | vlan) for vlan in self.vlans)
        return (A + B if back else B + A) + tags + (b"\x08\x00" if self.version == 4 else b"\x86\xdd") + packet


def stranger(rng):
    """Return a frame of no flow."""
    ports = l4(UDP, (1000, 80), 0, 1000)
    whole = ip4((1, 2), UDP, ports)
    return rng.choice([
        B + A + b"\x08\x06" + bytes(46),
        B + A + b"\x08\x00" + ip4((1, 2), UDP, ports, fragment=0x2001),
        B + A + b"\x08\x00" + ip4((1, 2), UDP, ports, fragment=0x00b9),
        B + LIAR + b"\x08\x00" + b"\x4f" + whole[1:24],
        B + LIAR + b"\x08\x00" + b"\x43" + whole[1:],
        B + LIAR + b"\x08\x00" + whole[:2] + b"\0\x16" + whole[4:],
        B + LIAR + b"\x86\xdd" + whole,
        B + LIAR + b"\x81\x00\x00",
    ])


def main(path, flows, frames):
    rng = random.Random(1)
    conversations = [Flow(n) for n in range(int(flows))]
    ns = 123456789
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for i in range(int(frames)):
            data = stranger(rng) if i % 20 == 0 else rng.choice(conversations).frame(rng)
            ns += (50 if i % 2000 == 1000 else 70 if i % 2000 == 0 else 0) * 10**9 + rng.randint(1, 1000003)
            out.write(struct.pack("<IIII", 1700000000 + ns // 10**9, ns % 10**9, len(data), len(data)) + data)


main(*sys.argv[1:])
