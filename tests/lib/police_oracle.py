#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""police_oracle.py write FILE: write a capture file of a storm from 10.0.0.1, a trickle from 10.0.9.9, calls with DSCP 46 behind up to two tags, frames
in VLAN 7, other sources and ARP.
police_oracle.py judge FILE CONFIG OUT REPORT: compare a recording OUT (pcap-ns) of FILE by the classes of CONFIG, and their counters in REPORT, with
meters in fractions, by the formulas of RFC 2697, RFC 2698 and RFC 4115. Prints the differences."""

import json
import random
import struct
import sys
from fractions import Fraction

S = 10**9
RATES = {"kbit": 10**3, "Mbit": 10**6}

# ---- frames


def udp(source, size, dscp=0, vlans=()):
    tags = b"".join(struct.pack(">HH", 0x8100, vlan) for vlan in vlans)
    head = struct.pack(">BBHHHBBH", 0x45, dscp << 2, size, 0, 0, 64, 17, 0) + bytes([10, 0, *source]) + bytes([10, 0, 7, 7])
    return bytes(12) + tags + b"\x08\x00" + head + struct.pack(">HHHH", 1000, 2000, size - 20, 0) + bytes(size - 28)


def make_frames(rng):
    """(time in ns, frame): 1.2 s of all traffic, with a pause in the storm that lets its buckets fill."""
    frames = [(n * 10 * 10**6, udp((9, 9), 1200)) for n in range(120)]
    frames += [(t, udp((0, 1), rng.randrange(60, 1400))) for t in sorted(rng.randrange(S) for _ in range(2500)) if t < 400 * 10**6 or t > 700 * 10**6]
    frames += [(rng.randrange(S), udp((2, rng.randrange(4)), 200, 46, rng.choice([(), (9,), (8, 7)]))) for _ in range(600)]
    frames += [(rng.randrange(S), udp((3, 1), rng.randrange(60, 900), vlans=(7,))) for _ in range(500)]
    frames += [(rng.randrange(S), udp((1, rng.randrange(12)), rng.randrange(60, 1400), dscp=rng.choice([0, 0, 0, 10, 12, 30, 8, 13, 44]))) for _ in range(12000)]
    frames += [(rng.randrange(S), bytes(12) + b"\x08\x06" + bytes(46)) for _ in range(300)]
    return sorted((1700000000 * S + time, frame) for time, frame in frames)


def write(path):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for time, frame in make_frames(random.Random(20)):
            out.write(struct.pack("<IIII", time // S, time % S, len(frame), len(frame)) + frame)


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert struct.unpack_from("<I", data)[0] == 0xA1B23C4D
    at, frames = 24, []
    while at < len(data):
        s, ns, cap, wire = struct.unpack_from("<IIII", data, at)
        frames.append((s * S + ns, wire, data[at + 16 : at + 16 + cap]))
        at += 16 + cap
    return frames


# ---- meters


class Meter:
    def __init__(self, cls):
        byte = cls.get("unit") != "packets"
        self.cost = (lambda size: size) if byte else (lambda size: 1)
        self.cir, self.eir, self.pir = (self.rate(cls.get(key, 0), byte) for key in ("cir", "eir", "pir"))
        self.cbs, self.second = cls["cbs"], cls.get("pbs", cls.get("ebs", 0))
        self.tc, self.te, self.last = Fraction(self.cbs), Fraction(self.second), None

    @staticmethod
    def rate(value, byte):
        if isinstance(value, str):
            value = int(value[:-4]) * RATES[value[-4:]]
        return Fraction(value, 8 if byte else 1)

    def colour(self, now, size, arrival):
        cost, passed = self.cost(size), Fraction(now - (self.last or now), S)
        self.last = now
        tc = self.tc + self.cir * passed
        self.tc = min(tc, self.cbs)
        own = self.eir or self.pir
        self.te = min(self.te + (own * passed if own else tc - self.tc), self.second)
        if arrival == "red" or (self.pir and self.te < cost):
            return "red"
        if self.tc >= cost and arrival == "green":
            self.tc -= cost
            self.te -= cost if self.pir else 0
            return "green"
        if self.te < cost:
            return "red"
        self.te -= cost
        return "yellow"


# ---- classes


def fields(frame):
    """(source address or None, DSCP, outer VLAN)"""
    vlan, at = None, 12
    while frame[at : at + 2] == b"\x81\x00":
        vlan, at = vlan or struct.unpack_from(">H", frame, 14)[0] & 0xFFF, at + 4
    if frame[at : at + 2] != b"\x08\x00":
        return None, None, vlan
    return frame[at + 14 : at + 18], frame[at + 3] >> 2, vlan


def arrival(dscp):
    """The colour of RFC 2597, section 6: the drop precedence of AF11 to AF43."""
    return {2: "yellow", 3: "red"}.get((dscp or 0) >> 1 & 3, "green") if dscp in ASSURED else "green"


ASSURED = {8 * cls + 2 * drop for cls in (1, 2, 3, 4) for drop in (1, 2, 3)}
MATCH = {
    "storm": lambda source, dscp, vlan: source == bytes([10, 0, 0, 1]) and vlan is None,
    "voice": lambda source, dscp, vlan: dscp == 46,
    "tagged": lambda source, dscp, vlan: vlan == 7,
    "rest": lambda source, dscp, vlan: True,
}


def police(frames, classes):
    """The frames to be recorded, and the counts of each class."""
    kept, counts, meters = [], {}, {}
    for time, wire, frame in frames:
        source, dscp, vlan = fields(frame)
        cls = next(c for c in classes if MATCH[c["name"]](source, dscp, vlan))
        meter = meters.setdefault((cls["name"], source if cls.get("per") == "source" else None), Meter(cls))
        colour = meter.colour(time, wire, arrival(dscp) if cls.get("aware") else "green")
        key = (cls["name"], colour)
        pkts, size = counts.get(key, (0, 0))
        counts[key] = (pkts + 1, size + wire)
        if colour != "red":
            kept.append((time, wire, frame if colour == "green" else frame[: cls.get("snaplen", 64)]))
    return kept, counts


def judge(source, config, out, report):
    with open(config, encoding="utf-8") as file:
        classes = json.load(file)["capture"][0]["classes"]
    with open(report, encoding="utf-8") as file:
        rows = {row["name"]: row for row in json.load(file)["captures"][0]["classes"]}
    kept, counts = police(read(source), classes)
    recorded = read(out)
    if recorded != kept:
        first = next((i for i, pair in enumerate(zip(recorded, kept)) if pair[0] != pair[1]), min(len(recorded), len(kept)))
        print(f"{len(recorded)} frames are recorded, {len(kept)} should be; number {first} is the first that differs")
    for name in MATCH:
        for colour in ("green", "yellow", "red"):
            row = (rows[name][colour + "_pkts"], rows[name][colour + "_bytes"])
            if row != counts.get((name, colour), (0, 0)):
                print(f"{name}: {colour} {row}, should be {counts.get((name, colour), (0, 0))}")
    print(" ".join(sorted({f"{name} {colour}" for name, colour in counts})))
    trickle = [len(frame) == wire for _, wire, frame in recorded if fields(frame)[0] == bytes([10, 0, 9, 9])]
    print(f"{sum(trickle)} of {len(trickle)} frames of the trickle are whole")


if __name__ == "__main__":
    {"write": write, "judge": judge}[sys.argv[1]](*sys.argv[2:])
