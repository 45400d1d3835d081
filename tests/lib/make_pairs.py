#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_pairs.py: write captures with known latencies to the current directory: 1000 triggers, whose replies come after 1000 to
1999 ns, no two after the same time, in segments of one. triggers.pcap, replies.pcap and both.pcapng have nanoseconds, us.pcap
microseconds; in both.pcapng each frame is marked as received, in own.pcapng as sent, in unmarked.pcapng as neither; late.pcap has
the replies 0.5 s earlier, as from a slow clock; cut.pcap has both, 60 bytes of each frame."""

import random
import struct
import sys

sys.dont_write_bytecode = True
import exchange  # noqa: E402

COUNT, GAP_NS, ISN = 1000, 10007, (1 << 32) - 5000


def main():
    rng = random.Random(1)
    order = rng.sample(range(COUNT), COUNT)
    how = {"six": False, "vlan": False}
    triggers, replies = [], [(exchange.START_NS, exchange.tcp(40000, ISN - 1 & 0xFFFFFFFF, b"", 2, **how))]
    for i, extra_ns in enumerate(order):
        ns = exchange.START_NS + (i + 1) * GAP_NS
        payload = struct.pack(">Q", i) + rng.randbytes(24)
        triggers.append((ns, exchange.udp(exchange.TRIGGER_PORT, payload, **how)))
        replies.append((ns + 1000 + extra_ns, exchange.tcp(40000, (ISN + 32 * i) & 0xFFFFFFFF, payload, **how)))
    both = sorted(triggers + replies, key=lambda frame: frame[0])
    exchange.write_pcap("triggers.pcap", triggers, 1, "<")
    exchange.write_pcap("replies.pcap", replies, 1, "<")
    exchange.write_pcapng("both.pcapng", both, 1, ">", 1)
    exchange.write_pcapng("own.pcapng", both, 1, ">", 2)
    exchange.write_pcapng("unmarked.pcapng", both, 1, ">")
    exchange.write_pcap("us.pcap", both, 1000, "<")
    exchange.write_pcap("late.pcap", [(ns - 500_000_000, data) for ns, data in replies], 1, "<")
    cut(both)


def cut(frames):
    exchange.write_pcap("cut.pcap", [], 1, "<")
    with open("cut.pcap", "ab") as out:
        for ns, data in frames:
            out.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, min(len(data), 60), len(data)) + data[:60])


main()
