#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""meter_oracle.py TAPLINE FROM TO: for each seed, run `tapline meter` on a random capture file with random settings,
and compare it with token buckets in fractions: the colour and departure of every frame, the counts, the series, the
required burst. Print the first difference of each failed seed; work in the current directory."""

import csv
import json
import os
import random
import struct
import subprocess
import sys
from fractions import Fraction
from math import ceil

S = 10**9
RATE_UNITS = {"": 1, "bit": 1, "kbit": 10**3, "Mbit": 10**6, "kibit": 2**10, "bps": 8, "Kbps": 8000, "mibps": 2**23}
SIZE_UNITS = {"": 1, "b": 1, "k": 2**10, "KiB": 2**10, "kb": 2**10, "kbit": 2**7}

# ---- files


def make_frames(rng):
    """Return (time in units of the file, length on the wire, captured length)."""
    now, frames = rng.choice([0, 5, 1700000000 * 10**6 + rng.randrange(10**6)]), []
    for _ in range(rng.choice([1, 2, 100, 300])):
        now += rng.choice([0, 0, rng.randrange(20), rng.randrange(2000), rng.randrange(200000), rng.randrange(10**8) if rng.random() < 0.1 else 1])
        back = rng.randrange(100000) if rng.random() < 0.05 else 0
        wire = rng.choice([60, 64, 1514, rng.randrange(14, 9000)])
        frames.append((max(0, now - back), wire, rng.choice([wire, min(wire, 64)])))
    return frames


def write_pcap(path, frames, per_second, order):
    magic = {10**6: 0xA1B2C3D4, S: 0xA1B23C4D}[per_second]
    with open(path, "wb") as out:
        out.write(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 1))
        for time, wire, cap in frames:
            out.write(struct.pack(order + "IIII", time // per_second, time % per_second, cap, wire) + bytes(cap))


def block(order, kind, body):
    size = 12 + len(body)
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)


def write_pcapng(path, frames, digits, order):
    with open(path, "wb") as out:
        out.write(block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)))
        out.write(block(order, 1, struct.pack(order + "HHIHHB3xHH", 1, 0, 0, 9, 1, digits, 0, 0)))
        for time, wire, cap in frames:
            body = struct.pack(order + "IIIII", 0, time >> 32, time & 0xFFFFFFFF, cap, wire) + bytes(cap + -cap % 4)
            out.write(block(order, 6, body))


def write_file(rng, path):
    """Write a file, and return (ns, length) of its frames."""
    frames, order = make_frames(rng), rng.choice("<>")
    if rng.random() < 0.5:
        per_second = rng.choice([10**6, S])
        write_pcap(path, frames, per_second, order)
    else:
        digits = rng.choice([3, 6, 9])
        per_second = 10**digits
        if digits == 3:  # a reader rejects times after 2554
            frames = [(time % 10**12, wire, cap) for time, wire, cap in frames]
        write_pcapng(path, frames, digits, order)
    return [(time * (S // per_second), wire) for time, wire, _ in frames]


# ---- buckets, in bytes and seconds


def envelope(frames, rate):
    level = peak = Fraction(0)
    last = frames[0][0]
    for now, size in frames:
        level = max(Fraction(0), level - rate * Fraction(now - last, S)) + size
        peak, last = max(peak, level), now
    return ceil(peak)


def police(frames, cir, cbs, ebs, pir, pbs):
    committed, second, last = Fraction(cbs), Fraction(pbs if pir else ebs), frames[0][0]
    for now, size in frames:
        elapsed, last = Fraction(now - last, S), now
        committed += cir * elapsed
        if pir:
            second = min(second + pir * elapsed, pbs)
        else:
            second = min(second + max(committed - cbs, 0), ebs)
        committed = min(committed, cbs)
        if pir and second < size:
            colour = "red"
        elif committed >= size:
            colour = "green"
            committed -= size
            second -= size if pir else 0
        elif second >= size:
            colour = "yellow"
            second -= size
        else:
            colour = "red"
        yield colour, ""


def shape(frames, cir, cbs, limit):
    tokens, clock, waiting = Fraction(cbs), frames[0][0], []
    for now, size in frames:
        waiting = [(leaves, n) for leaves, n in waiting if leaves > now]
        if size > cbs or (limit is not None and sum(n for _, n in waiting) + size > limit):
            yield "red", ""
            continue
        start = max(now, clock)
        tokens = min(cbs, tokens + cir * Fraction(start - clock, S))
        leaves = start + (ceil((size - tokens) / cir * S) if tokens < size else 0)
        tokens = min(cbs, tokens + cir * Fraction(leaves - start, S)) - size
        clock = leaves
        if leaves > now:
            waiting.append((leaves, size))
        yield ("green" if leaves == now else "yellow"), str(leaves)


# ---- calls


def rate(rng):
    unit = rng.choice(list(RATE_UNITS))
    n = max(1, int(10 ** rng.uniform(3, 8)) // RATE_UNITS[unit])
    return f"{n}{unit}", n * RATE_UNITS[unit]


def size(rng):
    unit = rng.choice(list(SIZE_UNITS))
    n = max(1, int(10 ** rng.uniform(2.5, 5)) // SIZE_UNITS[unit])
    return f"{n}{unit}", n * SIZE_UNITS[unit]


def make_call(rng):
    """Return the arguments and the settings, in the order of the report: the last option of the call varies fastest."""
    kind, options = rng.choice(["one", "one", "two", "shaper"]), {}
    options["--cir"] = [rate(rng) for _ in range(rng.choice([1, 1, 2]))]
    if kind == "two":
        most = max(bps for _, bps in options["--cir"])
        options["--pir"] = [(str(most + extra), most + extra) for extra in [rng.randrange(10**7)]]
    options["--cbs"] = [size(rng) for _ in range(rng.choice([1, 2, 3]))]
    if kind == "one" and rng.random() < 0.7:
        options["--ebs"] = [size(rng)]
    if kind == "two":
        options["--pbs"] = [size(rng)]
    if kind == "shaper" and rng.random() < 0.5:
        options["--limit"] = [size(rng)]
    overhead = rng.choice([0, 0, 4, 24])
    args = [word for name, values in options.items() for text, _ in values for word in (name, text)]
    args += ["--overhead", str(overhead)] * (overhead > 0) + ["--shape"] * (kind == "shaper")
    settings = [{}]
    for name, values in options.items():
        settings = [{**setting, name: value} for setting in settings for _, value in values]
    return args, settings, overhead, kind


def judge(frames, setting, kind):
    cir = Fraction(setting["--cir"], 8)
    if kind == "shaper":
        return list(shape(frames, cir, setting["--cbs"], setting.get("--limit")))
    pir = Fraction(setting["--pir"], 8) if "--pir" in setting else None
    return list(police(frames, cir, setting["--cbs"], setting.get("--ebs", 0), pir, setting.get("--pbs")))


def differs(name, ours, theirs):
    return [f"{name}: {ours} is not {theirs}"] if ours != theirs else []


def compare(frames, settings, kind, report, rows):
    found = differs("settings", len(report["settings"]), len(settings))
    found += differs("pkts", report["pkts"], len(frames)) + differs("bytes", report["bytes"], sum(n for _, n in frames))
    for i, setting in enumerate(settings):
        expected, said = judge(frames, setting, kind), report["settings"][i]
        mine = [(row["colour"], row["departure_ns"]) for row in rows if row["setting"] == str(i + 1)]
        found += [f"setting {i} frame {k}: {a} is not {b}" for k, (a, b) in enumerate(zip(mine, expected)) if a != b][:1]
        found += differs("rows", len(mine), len(frames))
        for colour in ("green", "yellow", "red"):
            sizes = [n for (_, n), (c, _) in zip(frames, expected) if c == colour]
            for told in [said] + [report] * (i == 0):
                found += differs(colour + "_pkts", told[colour + "_pkts"], len(sizes))
                found += differs(colour + "_bytes", told[colour + "_bytes"], sum(sizes))
            found += differs("series of " + colour, sum(said["series"][colour + "_bytes"]), sum(sizes))
        found += differs("burst", said["burst_needed_bytes"], envelope(frames, Fraction(setting["--cir"], 8)))
        delays = [int(leaves) - now for (now, _), (_, leaves) in zip(frames, expected) if leaves]
        if delays:
            found += differs("longest delay", said["delay_ns"]["max"], max(delays))
            found += differs("longest of the series", max(n or 0 for n in said["series"]["delay_max_ns"]), max(delays))
    return found


def run_seed(tapline, seed):
    rng = random.Random(seed)
    times = write_file(rng, "oracle.cap")
    args, settings, overhead, kind = make_call(rng)
    done = subprocess.run([tapline, "meter", "oracle.cap", *args, "--json", "--csv", "oracle.csv"],
                          capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        return [f"status {done.returncode}: {done.stderr}"]
    report = json.loads(done.stdout)
    latest, frames, backward = 0, [], 0
    for now, wire in times:
        backward += now < latest
        latest = max(latest, now)
        frames.append((latest, wire + overhead))
    with open("oracle.csv", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    return differs("backward_pkts", report["backward_pkts"], backward) + compare(frames, settings, kind, report, rows)


def main(tapline, first, last):
    bad = 0
    for seed in range(int(first), int(last) + 1):
        found = run_seed(tapline, seed)
        bad += bool(found)
        for line in found[:3]:
            print(f"seed {seed}: {line}")
    for name in ("oracle.cap", "oracle.csv", "oracle.csv.manifest.json"):
        if os.path.exists(name):
            os.remove(name)
    sys.exit(bad != 0)


main(*sys.argv[1:])
