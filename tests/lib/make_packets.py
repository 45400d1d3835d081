#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_packets.py FILE COUNT [SEED]: write a pcap file of random Ethernet frames with right checksums, one in eight with a wrong one:
TCP, UDP with and without checksum, ICMP echoes and errors with a quoted packet, ARP, neighbour discovery, over IPv4 with
options and IPv6 with extension headers, some as two fragments, with 0 to 2 VLAN tags. Addresses are in 10.0.0.0/15, 192.0.2.0/24
and 2001:db8::/47, ports 4990 to 5109."""

import ipaddress
import random
import struct
import sys


def words(*values):
    return struct.pack(f">{len(values)}H", *values)


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.number = 0

    def address(self, six):
        if six:
            return (ipaddress.IPv6Address("2001:db8::") + self.rng.randrange(2 << 80)).packed
        start, size = self.rng.choice([("10.0.0.0", 2 << 16), ("192.0.2.1", 250)])
        return (ipaddress.IPv4Address(start) + self.rng.randrange(size)).packed

    def signed(self, data, at, pseudo, udp=False):
        """Return the data with its checksum, sometimes a wrong one."""
        value = checksum(pseudo + data)
        if self.rng.randrange(8) == 0:
            value ^= 1 << self.rng.randrange(16)
        if udp and value == 0:
            value = 0xFFFF
        return data[:at] + words(value) + data[at + 2:]

    def l4(self, six, ends):
        """Return (protocol, header and payload)."""
        payload = self.rng.randbytes(self.rng.randrange(64))
        ports = words(self.rng.randrange(4990, 5110), self.rng.randrange(4990, 5110))
        kind = self.rng.choice(["tcp", "udp", "udp", "none", "echo", "error"])
        number = {"tcp": 6, "udp": 17, "none": 17, "echo": 58 if six else 1, "error": 58 if six else 1}[kind]
        if kind == "tcp":
            data, at = ports + struct.pack(">IIBBHHH", self.rng.getrandbits(32), 7, 0x50, 0x18, 8192, 0, 0) + payload, 16
        elif number == 17:
            data, at = ports + words(8 + len(payload), 0) + payload, 6
        elif kind == "echo":
            data, at = bytes([128 if six else 8, 0]) + words(0, 1, 2) + payload, 2
        else:
            head = bytes([self.rng.choice([1, 2, 3, 4]), 0]) if six else bytes([self.rng.choice([3, 11, 12]), 1])
            data, at = head + bytes(6) + self.ip(six, quoted=True)[0][:self.rng.randrange(60, 120)], 2
        if kind == "none" and not six:
            return number, data
        covered = b"".join(ends) + (struct.pack(">II", len(data), number) if six else words(number, len(data)))
        return number, self.signed(data, at, b"" if number == 1 else covered, number == 17)

    def ip(self, six, quoted=False):
        """Return the packet, or its two fragments."""
        ends = [self.address(six), self.address(six)]
        number, data = self.l4(six, ends)
        while quoted and number in (1, 58):
            number, data = self.l4(six, ends)
        self.number += 1
        parts = [(0, 0, data)]
        if not quoted and number not in (1, 58) and len(data) > 40 and self.rng.randrange(4) == 0:
            parts = [(0, 1, data[:24]), (24, 0, data[24:])]
        make = self.ipv6 if six else self.ipv4
        return [make(ends, number, part) for part in parts]

    def ipv4(self, ends, number, part):
        offset, more, data = part
        options = self.rng.choice([b"", b"", bytes([1, 1, 1, 0])])
        head = struct.pack(">BBHHHBBH", 0x45 + len(options) // 4, self.rng.getrandbits(8), 20 + len(options) + len(data),
                           self.number & 0xFFFF, more << 13 | offset // 8, 64, number, 0) + b"".join(ends) + options
        return self.signed(head, 10, b"") + data

    def ipv6(self, ends, number, part):
        offset, more, data = part
        if offset or more:
            data, number = struct.pack(">BBHI", number, 0, offset | more, self.number) + data, 44
        for extension in self.rng.sample([60, 43], self.rng.randrange(3)):
            head = [0, 0, 0, 0, 0, 0] if extension == 43 else [1, 4, 0, 0, 0, 0]
            data, number = bytes([number, 0, *head]) + data, extension
        return struct.pack(">IHBB", 6 << 28 | self.rng.getrandbits(28), len(data), number, 64) + b"".join(ends) + data

    def discovery(self):
        ends = [self.address(True), self.address(True)]
        data = bytes([self.rng.choice([135, 136]), 0]) + bytes(6) + self.address(True)
        data = self.signed(data, 2, b"".join(ends) + struct.pack(">II", len(data), 58))
        return struct.pack(">IHBB", 6 << 28, len(data), 58, 255) + b"".join(ends) + data

    def frames(self):
        macs = bytes.fromhex("020000000002020000000001")
        tags = b"".join(words(0x8100, self.rng.randrange(1, 0xFFF)) for _ in range(self.rng.choice([0, 0, 1, 2])))
        kind = self.rng.randrange(16)
        if kind == 0:
            body = words(1, 0x800, 0x604, 1) + macs[6:] + self.address(False) + bytes(6) + self.address(False)
            packets = [words(0x806) + body]
        elif kind == 1:
            packets = [words(0x86DD) + self.discovery()]
        else:
            six = kind % 2 == 1
            packets = [words(0x86DD if six else 0x800) + packet for packet in self.ip(six)]
        return [macs + tags + packet for packet in packets]


def main(path, count, seed="1"):
    maker, written = Maker(int(seed)), 0
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        while written < int(count):
            for data in maker.frames():
                out.write(struct.pack("<IIII", 1700000000, written * 1000, len(data), len(data)) + data)
                written += 1


main(*sys.argv[1:])
