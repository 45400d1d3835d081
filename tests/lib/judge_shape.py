#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""judge_shape.py WHAT SENT.pcap GOT.pcap ENTRY.json REPORT.json: compare a kernel's capture of a replay through a class tree with what the
file SENT must give by the entry of "shape", whose leaves "udp" and "rest" share SENT, and with the report.

decisions  the rates are so low that only the bursts of the classes leave: the frames that leave, wait and are dropped at the limit, one by one
rates      every frame leaves, those of a class in the order of SENT; in no window a class sends more than its burst and rate
Print the errors."""

import json
import struct
import sys

MTU = 1518  # longest frame, with a tag
BATCH = 32  # frames that may leave in one call, however late


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


def class_of(data):
    return "udp" if data[12:14] == b"\x08\x00" and data[23] == 17 else "rest"


def decide(sent, leaf):
    """Return what becomes of the frames of a class whose bucket gets no tokens: (frames that leave, dropped at the limit, left at the end)."""
    tokens, leave, waiting, dropped = leaf["burst"], [], 0, 0
    for data in sent:
        if waiting == 0 and tokens >= MTU:
            tokens -= len(data)
            leave.append(data)
        elif waiting < leaf["limit"]:
            waiting += 1
        else:
            dropped += 1
    if waiting and MTU - tokens < 300:
        raise ValueError(f"the burst of {leaf['name']} is too close to another frame: choose another")
    return leave, dropped, waiting


def decisions(sent, got, leaf, row):
    leave, dropped, waiting = decide(sent, leaf)
    if got != leave:
        return f"{len(got)} frames came, not the {len(leave)} that the burst permits, or others"
    want = {"in_pkts": len(sent), "sent_pkts": len(leave), "drop_limit_pkts": dropped, "drop_end_pkts": waiting, "queued_pkts": 0}
    return "".join(f"{key} is {row[key]}, not {value}; " for key, value in want.items() if row[key] != value)


def rates(sent, got, times, leaf):
    if got != sent:
        return f"{len(got)} frames came, not {len(sent)}, or in another order"
    excess, total = 0, 0  # largest sum of bytes - rate x time over the windows that end here
    for i, data in enumerate(got):
        spent = (times[i] - times[i - 1]) * leaf["rate"] / 8e9 if i else 0
        excess = max(excess - spent, 0) + len(data)
        total = max(total, excess)
    most = leaf["burst"] + BATCH * MTU
    return f"{total:.0f} bytes beyond the rate, the burst and a batch are {most}" if total > most else ""


def main(what, sent_path, got_path, entry_path, report_path):
    with open(entry_path, encoding="utf-8") as file:
        leaves = {leaf["name"]: leaf for leaf in json.load(file)["classes"]}
    with open(report_path, encoding="utf-8") as file:
        rows = {row["name"]: row for row in json.load(file)["shapes"][0]["classes"]}
    all_sent, all_got = frames(sent_path), frames(got_path)
    for name, leaf in leaves.items():
        sent = [data for _, data in all_sent if class_of(data) == name]
        got = [(ts, data) for ts, data in all_got if class_of(data) == name]
        if what == "decisions":
            wrong = decisions(sent, [data for _, data in got], leaf, rows[name])
        else:
            wrong = rates(sent, [data for _, data in got], [ts for ts, _ in got], leaf)
        if wrong:
            sys.exit(f"class {name}: {wrong}")


main(*sys.argv[1:])
