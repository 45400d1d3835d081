#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""judge_pairs.py LOG PPB BOUND_NS CSV: the client's samples against the log of the NIC of stamping_nic.c that sent its messages
at a time. From the time at which the NIC sent a message to the stamp that it gave a received frame, by its own clock, must lie
what the client says, within the bound and 500 ppm, by which the client's line may bend; that clock is faster than others by
PPB."""

import csv
import json
import sys

NEAR_NS = 20000  # a frame is known by its time; of echoes that were polled together the one that fits


def stamps(lines, kind):
    """(CLOCK_REALTIME, give or take, the NIC's clock) of each."""
    return [(int(words[2]), int(words[3]), int(words[1])) for words in map(str.split, lines) if words[0] == kind]


def near(logged, real_ns):
    """What the NIC's clock showed of those that may be of this time."""
    return [nic_ns for at_ns, width_ns, nic_ns in logged if abs(at_ns - real_ns) <= NEAR_NS + width_ns]


def judge(lines, ppb, samples):
    departures, arrivals = stamps(lines, "at"), stamps(lines, "rx")
    off, strays = [], 0
    for row in samples:
        time_ns, latency_ns = int(row["time_ns"]), int(row["latency_ns"])
        came = near(arrivals, time_ns + latency_ns)
        errors = [abs(round((to_ns - from_ns) * 1e9 / (1e9 + ppb)) - latency_ns)
                  for from_ns in near(departures, time_ns) for to_ns in came]
        strays += not errors
        off += [min(errors) - latency_ns // 2000] if errors else []
    return off, strays


def main(log, ppb, bound_ns, path):
    with open(log, encoding="ascii") as log_file, open(path, encoding="ascii") as samples:
        off, strays = judge(log_file.readlines(), int(ppb), csv.DictReader(samples))
    print(json.dumps({"samples": len(off), "strays": strays, "beyond": sum(ns > int(bound_ns) for ns in off),
                      "worst_ns": max(off, default=None)}))


main(*sys.argv[1:])
