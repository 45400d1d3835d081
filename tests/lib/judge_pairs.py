#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""judge_pairs.py LOG PPB BOUND_NS CSV: compare the client's samples with the log of the NIC of stamping_nic.c, which sent its
messages at scheduled times. The time from the NIC's launch of a message to its stamp of a received frame, by its own clock,
must equal the client's latency, within the bound and 500 ppm, by which the client's clock model may bend; the NIC's clock is
faster than others by PPB."""

import csv
import json
import sys

NEAR_NS = 20000  # frames are identified by time; of echoes from one poll the matching one


def stamps(lines, kind):
    """Return (CLOCK_REALTIME, +/-, the NIC's clock) of each stamp."""
    return [(int(words[2]), int(words[3]), int(words[1])) for words in map(str.split, lines) if words[0] == kind]


def near(logged, real_ns):
    """Return the NIC's clock of the stamps that may belong to this time."""
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
