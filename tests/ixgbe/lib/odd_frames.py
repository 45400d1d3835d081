#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""odd_frames.py KIND FILE: write a classic pcap file of frames that NICs treat differently.

  tagged     UDP in a VLAN, with a priority, and in two (QinQ), 20 of each; the largest has 1518 bytes
  jumbo      1 of each of some sizes from 1514 to 9014 bytes
  oversize   5 of 1514 bytes, 3 of 1519, 2 of 9014
  sums       UDP and TCP over IPv4 and IPv6: 8 right ones, then each with a wrong checksum of layer 4, then 4 with a
             wrong one of IPv4"""

import struct
import sys

HOSTS = bytes.fromhex("021b210000010200000000aa")


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def packet(proto, payload, six=False, tags=b"", wrong_l4=0, wrong_ip=0):
    hosts = bytes.fromhex("20010db8") + bytes(11)
    ends = hosts + b"\x01" + hosts + b"\x02" if six else bytes((10, 0, 0, 1, 10, 0, 0, 2))
    if proto == 17:
        l4, at = struct.pack(">HHHH", 4000, 5001, 8 + len(payload), 0) + payload, 6
    else:
        l4, at = struct.pack(">HHIIBBHHH", 4000, 80, 1, 1, 0x50, 0x18, 8192, 0, 0) + payload, 16
    value = checksum(ends + struct.pack(">HH", proto, len(l4)) + l4)
    l4 = l4[:at] + struct.pack(">H", (value or 0xFFFF) ^ wrong_l4) + l4[at + 2:]
    if six:
        head = struct.pack(">IHBB", 6 << 28, len(l4), proto, 64) + ends
    else:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(l4), 7, 0, 64, proto, 0) + ends
        head = head[:10] + struct.pack(">H", checksum(head) ^ wrong_ip) + head[12:]
    return HOSTS + tags + (b"\x86\xdd" if six else b"\x08\x00") + head + l4


def tagged():
    for i in range(20):
        yield packet(17, bytes(1472 - i), tags=struct.pack(">HH", 0x8100, i % 8 << 13 | 100 + i))
    for i in range(20):
        yield packet(17, bytes(1468 - i), tags=struct.pack(">HHHH", 0x88A8, 7, 0x8100, 100 + i))


def sized(sizes):
    for size in sizes:
        yield packet(17, bytes(i % 251 for i in range(size - 42)))


def sums():
    kinds = [(proto, six, size) for proto in (17, 6) for six in (False, True) for size in (100, 101)]
    for wrong in (0, 1):
        for proto, six, size in kinds:
            yield packet(proto, bytes(range(size)), six, wrong_l4=wrong)
    for size in range(4):
        yield packet(17, bytes(100 + size), wrong_ip=1)


KINDS = {"tagged": tagged, "jumbo": lambda: sized((1514, 1515, 2047, 2048, 2049, 4096, 8000, 9014)),
         "oversize": lambda: sized([1514] * 5 + [1519] * 3 + [9014] * 2), "sums": sums}

with open(sys.argv[2], "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for n, frame in enumerate(KINDS[sys.argv[1]]()):
        file.write(struct.pack("<IIII", 0, n, len(frame), len(frame)) + frame)
