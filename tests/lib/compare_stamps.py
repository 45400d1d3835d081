#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compare_stamps.py CSV FIELDS CLIENT_IP: compare the client's samples with tshark's view of the same packets.

FIELDS has lines "epoch time, source address, payload in hex" of a capture in nanoseconds. The kernel gives a received
packet one stamp, which tcpdump and the client both get; tcpdump gets a sent packet before the driver stamps it.
"""

import csv
import json
import sys


def to_ns(epoch):
    seconds, fraction = epoch.split(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))


def compare(samples, fields, client_ip):
    left, arrived = {}, {}
    for line in fields:
        epoch, source, payload = line.rstrip("\n").split("\t")
        if len(payload) == 32:  # one message of 16 bytes
            times = left if source == client_ip else arrived
            times.setdefault(int(payload[:16], 16), to_ns(epoch))
    judged, same_arrival, before_departure = 0, 0, 0
    for row in csv.DictReader(samples):
        seq, tx_ns, latency_ns = (int(row[key]) for key in ("packet_id", "time_ns", "latency_ns"))
        if seq not in left or seq not in arrived:
            continue
        judged += 1
        same_arrival += arrived[seq] == tx_ns + latency_ns
        before_departure += left[seq] <= tx_ns <= arrived[seq]
    return {"judged": judged, "same_arrival": same_arrival, "between": before_departure}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="ascii") as samples, open(sys.argv[2], encoding="ascii") as fields:
        print(json.dumps(compare(samples, fields, sys.argv[3])))
