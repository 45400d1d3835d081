#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""relink.py IN OUT LINKTYPE [big]: copy the Ethernet frames of a little-endian pcap file of nanoseconds with another link type, by
its number. Frames from TCP port 5002 are marked as sent by the capturing host, if the header has a direction. big: address
families in the byte order of a big-endian host."""

import struct
import sys

ETHERNET, NULL, RAW, LOOP, SLL, IPV4, IPV6, SLL2 = 1, 0, 101, 108, 113, 228, 229, 276


def relink(data, linktype, order):
    ethertype, packet = struct.unpack(">H", data[12:14])[0], data[14:]
    six = ethertype == 0x86DD
    sent = 4 if struct.unpack(">H", packet[40 if six else 20:][:2])[0] == 5002 else 0
    if linktype == NULL:
        return struct.pack(order + "I", 30 if six else 2) + packet
    if linktype == LOOP:
        return struct.pack(">I", 24 if six else 2) + packet
    if linktype == SLL:
        return struct.pack(">HHH6sHH", sent, 1, 6, data[6:12], 0, ethertype) + packet
    if linktype == SLL2:
        return struct.pack(">HHIHBB6sH", ethertype, 0, 3, 1, sent, 6, data[6:12], 0) + packet
    return data if linktype == ETHERNET else packet


def main(source, target, linktype, order="little"):
    with open(source, "rb") as file:
        text = file.read()
    assert struct.unpack("<I", text[:4])[0] == 0xA1B23C4D
    known = int(linktype) in (ETHERNET, NULL, RAW, LOOP, SLL, IPV4, IPV6, SLL2)
    with open(target, "wb") as out:
        out.write(text[:20] + struct.pack("<I", int(linktype)))
        at = 24
        while at < len(text):
            seconds, ns, size, _ = struct.unpack("<IIII", text[at:at + 16])
            data = text[at + 16:at + 16 + size]
            data = relink(data, int(linktype), ">" if order == "big" else "<") if known else data
            out.write(struct.pack("<IIII", seconds, ns, len(data), len(data)) + data)
            at += 16 + size


main(*sys.argv[1:])
