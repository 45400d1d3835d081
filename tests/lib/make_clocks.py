#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_clocks.py PPM OFFSET_NS STEP_NS DIRECTION: write 2000 UDP triggers 5 ms apart to triggers.pcapng and their replies, after
5 us plus jitter, to replies.pcapng, whose clock is ahead by OFFSET_NS, runs faster by PPM, and is set forward by STEP_NS after
6 s. Frames are marked as received (DIRECTION 1) or not at all (0)."""

import random
import struct
import sys

sys.dont_write_bytecode = True
from exchange import REPLY_PORT, START_NS, TRIGGER_PORT, udp, write_pcapng  # noqa: E402


def main(ppm, offset_ns, step_ns, direction):
    rng = random.Random(7)
    triggers, replies = [], []
    for i in range(2000):
        ns, payload = i * 5_000_000, struct.pack(">Q", i)
        seen_ns = ns + 5000 + int(rng.expovariate(1 / 800))
        seen_ns += int(seen_ns * float(ppm) / 1e6) + int(offset_ns) + (int(step_ns) if i >= 1200 else 0)
        triggers.append((START_NS + ns, udp(TRIGGER_PORT, payload, six=False, vlan=False)))
        replies.append((START_NS + seen_ns, udp(REPLY_PORT, payload, six=False, vlan=False)))
    write_pcapng("triggers.pcapng", triggers, 1, "<", int(direction))
    write_pcapng("replies.pcapng", replies, 1, "<", int(direction))


if __name__ == "__main__":
    main(*sys.argv[1:])
