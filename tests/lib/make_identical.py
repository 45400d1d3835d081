#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_identical.py FILE COUNT LOST PERIOD: write COUNT UDP triggers 10 ms apart whose payloads repeat with this period, each
but one answered after 5 us."""

import sys

from exchange import REPLY_PORT, START_NS, TRIGGER_PORT, udp, write_pcap


def main(path, count, lost, period):
    frames = []
    for i in range(int(count)):
        ns, payload = START_NS + i * 10_000_000, bytes([i % int(period)]) * 16
        frames.append((ns, udp(TRIGGER_PORT, payload, six=False, vlan=False)))
        if i != int(lost):
            frames.append((ns + 5000, udp(REPLY_PORT, payload, six=False, vlan=False)))
    write_pcap(path, frames, 1, "<")


if __name__ == "__main__":
    main(*sys.argv[1:])
