#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""judge_timed.py LOG SENT.pcap SPEED START_NS: compare the send times that the NIC of stamping_nic.c got with a file replayed at a
speed from a time since 1970 on. A frame that was late has none. Print as JSON: timed (frames with a time), strays (times that
are not the due time of a later frame than the one before, within half a gap), and worst_ns, the largest deviation from a due
time beyond the uncertainty of the log."""

import json
import struct
import sys


def recorded(path):
    with open(path, "rb") as file:
        data = file.read()
    at, times = 24, []
    while at < len(data):
        seconds, ns, captured, _ = struct.unpack_from("<IIII", data, at)
        times.append(seconds * 10**9 + ns)
        at += 16 + captured
    return times


def judge(log, sent, speed, start_ns):
    due = [start_ns + int((ns - sent[0]) / speed) for ns in sent]
    slack = min(b - a for a, b in zip(due, due[1:])) // 2
    timed = [tuple(map(int, words[1:])) for words in map(str.split, log) if words[0] == "at"]
    strays, worst, at = 0, 0, 0
    for _, real_ns, width_ns in timed:
        while at < len(due) and due[at] < real_ns - slack:
            at += 1
        if at == len(due) or abs(due[at] - real_ns) >= slack:
            strays += 1
            continue
        worst = max(worst, abs(due[at] - real_ns) - width_ns)
        at += 1
    return {"timed": len(timed), "strays": strays, "worst_ns": worst,
            "backward": sum(a[0] > b[0] for a, b in zip(timed, timed[1:]))}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="ascii") as log_file:
        print(json.dumps(judge(log_file, recorded(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))))
