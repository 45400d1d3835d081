#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""judge_replies.py LOG CSV: compare latencies of replies with the log of the NIC of stamping_nic.c, which stamped them and their
triggers by one clock. Each must equal, to the nanosecond, the time from a received frame to a sent one."""

import csv
import json
import sys


def main(log, path):
    with open(log, encoding="ascii") as log_file:
        words = [line.split() for line in log_file]
    received = {int(w[1]) for w in words if w[0] == "rx"}
    sent = [int(w[1]) for w in words if w[0] == "tx" and len(w) > 2]
    with open(path, encoding="ascii") as samples:
        latencies = [int(row["latency_ns"]) for row in csv.DictReader(samples)]
    exact = sum(any(at - ns in received for at in sent) for ns in latencies)
    print(json.dumps({"sent": len(sent), "samples": len(latencies), "exact": exact}))


main(*sys.argv[1:])
