#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_pairs_large.py FILE COUNT GAP_NS KIND: write a pcap file of COUNT UDP messages, one every GAP_NS, each answered after 5 us.
KIND: different (payloads of 64 bytes), identical, wrapping (a number of one byte), or twice (identical, and each frame occurs
twice, as from two interfaces). Fast enough for 10^7 of them: for measurements, not for tests."""

import struct
import sys

from exchange import REPLY_PORT, START_NS, TRIGGER_PORT, udp

SIZE = 64


def main(path, count, gap_ns, kind):
    count, gap_ns = int(count), int(gap_ns)
    how = {"six": False, "vlan": False}
    ask, answer = (bytearray(udp(port, bytes(SIZE), **how)) for port in (TRIGGER_PORT, REPLY_PORT))
    at = len(ask) - SIZE
    copies = 2 if kind == "twice" else 1
    record = struct.Struct("<IIII")
    with open(path, "wb", buffering=1 << 20) as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for i in range(count):
            if kind in ("different", "wrapping"):
                number = struct.pack(">Q", i if kind == "different" else i % 256)
                ask[at:at + 8] = answer[at:at + 8] = number
            ns = START_NS + i * gap_ns
            for frame, stamp in ((ask, ns), (answer, ns + 5000)):
                head = record.pack(stamp // 10**9, stamp % 10**9, len(frame), len(frame))
                for _ in range(copies):
                    out.write(head)
                    out.write(frame)


main(*sys.argv[1:])
