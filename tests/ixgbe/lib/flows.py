#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""flows.py FILE [PROTO DST DPORT N]...: write a classic pcap file: N frames of PROTO, udp or tcp, to the address DST,
port DPORT, each from a different source port. PROTO icmp, for IPv4 only: DPORT does not matter."""

import socket
import struct
import sys

PROTOS = {"udp": 17, "tcp": 6, "icmp": 1}
SOURCE, SOURCE6 = socket.inet_aton("10.0.0.9"), socket.inet_pton(socket.AF_INET6, "2001:db8:9::9")


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", total ^ 0xFFFF)


def frame(proto, dst, dport, i):
    ports = struct.pack(">HH", 20000 + 101 * i, dport)
    l4 = {"udp": ports + struct.pack(">HH", 20, 0) + bytes(12), "tcp": ports + struct.pack(">IIBBHHH", 0, 0, 0x50, 2, 8192, 0, 0),
          "icmp": struct.pack(">BBHHH", 8, 0, 0, i, 0) + bytes(12)}[proto]
    ends = SOURCE6 + socket.inet_pton(socket.AF_INET6, dst) if ":" in dst else SOURCE + socket.inet_aton(dst)
    if proto == "tcp":
        l4 = l4[:16] + checksum(ends + struct.pack(">HH", 6, len(l4)) + l4) + l4[18:]
    if ":" in dst:
        kind, head = b"\x86\xdd", struct.pack(">IHBB", 6 << 28, len(l4), PROTOS[proto], 64) + ends
    else:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(l4), i, 0, 64, PROTOS[proto], 0) + ends
        kind, head = b"\x08\x00", head[:10] + checksum(head) + head[12:]
    return (bytes.fromhex("021b21000001020000000002") + kind + head + l4).ljust(60, b"\0")


with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for at in range(2, len(sys.argv), 4):
        kind, to, port, count = sys.argv[at:at + 4]
        for n in range(int(count)):
            packet = frame(kind, to, int(port), n)
            file.write(struct.pack("<IIII", 0, n, len(packet), len(packet)) + packet)
