#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""judge_replay.py WHAT SENT.pcap GOT.pcap REPORT.json [START_NS]: compare a capture of a replay by another host's kernel with the
file that was sent and the report.

same     the frames of GOT are those of SENT, repeated for each loop of the report, byte for byte and in order
times    by the kernel's stamps no frame came more than half the smallest gap before it was due; half of them came no later
         than twice the largest lateness in the report. START_NS is the due time of the first
sides    both, of two ports: GOT is a list with a comma of the captures behind the first and the second; a frame of SENT belongs to the port
         that the last digit of its source MAC names, 1 or 2
Print the errors."""

import json
import statistics
import struct
import sys


def frames(path):
    """Yield (time in ns, bytes) of a little-endian pcap file of either resolution."""
    with open(path, "rb") as file:
        data = file.read()
    unit = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[struct.unpack_from("<I", data)[0]]
    at, found = 24, []
    while at < len(data):
        seconds, fraction, captured, _ = struct.unpack_from("<IIII", data, at)
        found.append((seconds * 10**9 + fraction * unit, data[at + 16:at + 16 + captured]))
        at += 16 + captured
    return found


def same(sent, got, report):
    wanted = [data for _, data in sent] * report["pacing"]["loops"]
    have = [data for _, data in got]
    if len(wanted) != len(have):
        return f"{len(have)} frames came, not {len(wanted)}"
    differ = [i for i, pair in enumerate(zip(wanted, have)) if pair[0] != pair[1]]
    return f"frame {differ[0]} and {len(differ) - 1} more differ" if differ else ""


def times(sent, got, report, start_ns):
    if len(sent) != len(got):
        return f"{len(got)} frames came, not {len(sent)}"
    due = [int((ts - sent[0][0]) / report["pacing"]["speed"]) for ts, _ in sent]
    slack = min(b - a for a, b in zip(due, due[1:])) // 2
    after = [ts - start_ns - wanted for (ts, _), wanted in zip(got, due)]
    early = sum(ns < -slack for ns in after)
    if early:
        return f"{early} frames came before they were due, the first {min(after)} ns"
    late = statistics.median_low(after)
    if late > report["lateness_ns"]["max"] + slack:
        return f"half of the frames came more than {late} ns late, and the report admits {report['lateness_ns']['max']}"
    return ""


def sides(sent, gots, report, start_ns):
    for port, got in enumerate(gots, 1):
        part = [frame for frame in sent if frame[1][11] == port]
        first_ns = start_ns + int((part[0][0] - sent[0][0]) / report["pacing"]["speed"])
        wrong = same(part, got, report) or times(part, got, report, first_ns)
        if wrong:
            return f"port {port}: {wrong}"
    return ""


def main(what, sent, got, report, start_ns="0"):
    with open(report, encoding="utf-8") as file:
        said = json.load(file)
    if what == "sides":
        wrong = sides(frames(sent), [frames(path) for path in got.split(",")], said, int(start_ns))
    elif what == "same":
        wrong = same(frames(sent), frames(got), said)
    else:
        wrong = times(frames(sent), frames(got), said, int(start_ns))
    if wrong:
        sys.exit(wrong)


main(*sys.argv[1:])
