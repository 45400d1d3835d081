#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_recording.py FILE SLABS SLAB_BYTES SECONDS: write a recording like Tapline's, of SLABS slabs that span SECONDS
seconds. Frames are UDP, TCP and SCTP over IPv4 and IPv6, some of them tagged, fragments, and ARP; hosts and ports change
from slab to slab. Some records have a comment and flags. Timestamps are slightly out of order."""

import random
import struct
import sys

RUN, START_NS = 0x1122334455667788, 1700000000 * 10**9 + 123
MACS = bytes.fromhex("020000000002020000000001")


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def pad(used):
    gap = -used % 4096
    gap += 4096 if 0 < gap < 12 else 0
    return block(0x80000001, bytes(gap - 12)) if gap else b""


def ipv4(proto, payload, host, fragment=0):
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, fragment, 64, proto, 0, bytes([10, 0, 0, 1]),
                       bytes([10, 1, host >> 8, host & 255])) + payload


def ipv6(proto, payload, host):
    return struct.pack(">IHBB", 6 << 28, len(payload), proto, 64) + bytes.fromhex("20010db8") + bytes(11) + b"\1" + \
        bytes.fromhex("20010db8") + bytes(10) + struct.pack(">H", host) + payload


def frame(number, slab, rng, size):
    kind, host, port = number % 8, slab * 4 + number % 3, 10000 + slab % 1000
    udp = struct.pack(">HHHH", port, 53, size, 0) + rng.randbytes(size - 8)
    tcp = struct.pack(">HHIIBBHHH", port, 443, number, 0, 0x50, 0x10, 8192, 0, 0) + rng.randbytes(size - 20)
    if kind == 0:
        return b"\x86\xdd" + ipv6(17, udp, host)
    if kind == 1:
        return b"\x81\0\0\x07\x08\0" + ipv4(6, tcp, host)
    if kind == 2:
        return b"\x08\0" + ipv4(17, udp[:size // 8 * 8], host, 0x2000)
    if kind == 3:
        return b"\x08\0" + ipv4(17, rng.randbytes(64), host, 0x0010)
    if kind == 4:
        return b"\x08\x06" + struct.pack(">HHBBH6s4s6s4s", 1, 0x800, 6, 4, 1, MACS[6:], bytes([10, 0, 0, 1]), bytes(6),
                                         bytes([10, 1, host >> 8, host & 255])) + bytes(18)
    if kind == 5:
        return b"\x08\0" + ipv4(132, struct.pack(">HHII", port, 9, 0, 0) + rng.randbytes(32), host)
    return b"\x08\0" + (ipv4(6, tcp, host) if kind == 6 else ipv4(17, udp, host))


def record(number, ts_ns, data):
    body = struct.pack("<IIIII", 0, ts_ns >> 32, ts_ns & 0xFFFFFFFF, len(data), len(data)) + data + bytes(-len(data) % 4)
    if number % 10 == 0:
        body += option(2, struct.pack("<I", 1)) + option(1, f"record {number}".encode()) + bytes(4)
    return block(6, body)


def main(path, slabs, slab_bytes, seconds):
    rng, number, step = random.Random(1), 0, seconds * 10**9 // slabs
    with open(path, "wb") as out:
        head = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + option(4, b"tapline test") + bytes(4))
        head += block(1, struct.pack("<HHI", 1, 0, 0) + option(2, b"port0") + option(9, b"\x09") + bytes(4))
        out.write(head + pad(len(head)))
        for slab in range(slabs):
            records, used, ts_ns = [], 64, START_NS + slab * step
            while used < slab_bytes - 4096:
                data = MACS + frame(number, slab, rng, 1400)
                ts_ns += step * (len(data) + 32) // slab_bytes
                records.append(record(number, ts_ns - number % 3 * 1000, data))
                used += len(records[-1])
                number += 1
            out.write(block(0x80000002, b"TAPSLAB1" + struct.pack("<QQIII16x", RUN, slab, 0, used, len(records))))
            out.write(b"".join(records) + pad(used))
        tail = block(5, struct.pack("<III", 0, START_NS >> 32, START_NS & 0xFFFFFFFF))
        out.write(tail + pad(len(tail)))


main(sys.argv[1], *map(int, sys.argv[2:]))
