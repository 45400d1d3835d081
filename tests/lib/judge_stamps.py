#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""judge_stamps.py LOG KIND BOUND_NS TIMES: compare the stamps of one kind by the NIC of stamping_nic.c with TIMES, the program's
conversions of them in seconds since 1970, in order. Each must equal CLOCK_REALTIME, within the bound and the uncertainty
of the NIC's log."""

import json
import sys


def to_ns(epoch):
    seconds, fraction = epoch.split(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))


def judge(log, kind, bound_ns, times):
    truths = [tuple(map(int, words[2:])) for words in map(str.split, log) if words[0] == kind]
    off = [abs(to_ns(epoch) - real_ns) - width_ns for epoch, (real_ns, width_ns) in zip(times, truths)]
    return {"stamps": len(truths), "times": len(times), "beyond": sum(ns > bound_ns for ns in off),
            "worst_ns": max(off, default=None)}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="ascii") as log_file, open(sys.argv[4], encoding="ascii") as times_file:
        print(json.dumps(judge(log_file, sys.argv[2], int(sys.argv[3]), times_file.read().split())))
