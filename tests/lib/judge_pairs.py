#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""judge_pairs.py LOG PPB BOUND_NS CSV: the client's samples against the log of the NIC of stamping_nic.c that sent its messages
at a time. From the time at which the NIC sent a message to the stamp that it gave a received frame, by its own clock, must lie
what the client says, within the bound and 500 ppm, by which the client's line may bend; that clock is faster than others by
PPB."""

import bisect
import csv
import json
import sys

NEAR_NS = 20000  # a departure is known by its time, which no two messages share


def stamps(lines, kind):
    """(CLOCK_REALTIME, the NIC's clock) of each."""
    return sorted((int(words[2]), int(words[1])) for words in map(str.split, lines) if words[0] == kind)


def nearest(sorted_stamps, real_ns):
    at = bisect.bisect(sorted_stamps, (real_ns, 0))
    return min(sorted_stamps[max(at - 1, 0):at + 1], key=lambda stamp: abs(stamp[0] - real_ns))


def judge(lines, ppb, samples):
    departures, arrivals = stamps(lines, "at"), stamps(lines, "rx")
    off, strays = [], 0
    for row in samples:
        time_ns, latency_ns = int(row["time_ns"]), int(row["latency_ns"])
        left, came = nearest(departures, time_ns), nearest(arrivals, time_ns + latency_ns)
        strays += abs(left[0] - time_ns) > NEAR_NS
        off.append(abs(round((came[1] - left[1]) * 1e9 / (1e9 + ppb)) - latency_ns) - latency_ns // 2000)
    return off, strays


def main(log, ppb, bound_ns, path):
    with open(log, encoding="ascii") as log_file, open(path, encoding="ascii") as samples:
        off, strays = judge(log_file.readlines(), int(ppb), csv.DictReader(samples))
    print(json.dumps({"samples": len(off), "strays": strays, "beyond": sum(ns > int(bound_ns) for ns in off),
                      "worst_ns": max(off, default=None)}))


main(*sys.argv[1:])
