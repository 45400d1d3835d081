#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""meter_oracle.py TAPLINE FROM TO: for each seed, run `tapline meter` on a random capture file with random settings,
and compare it with token buckets in fractions: the colour and departure of every frame, the counts, every point of the
series, tokens, queue, delays, the required burst. Print the first difference of each failed seed; work in the current
directory."""

import csv
import json
import os
import random
import struct
import subprocess
import sys
from fractions import Fraction
from math import ceil, floor

S = 10**9
RATE_UNITS = {"": 1, "bit": 1, "kbit": 10**3, "Mbit": 10**6, "kibit": 2**10, "bps": 8, "Kbps": 8000, "mibps": 2**23}
SIZE_UNITS = {"": 1, "b": 1, "k": 2**10, "KiB": 2**10, "kb": 2**10, "kbit": 2**7}

# ---- files


def make_frames(rng):
    """Return (time in units of the file, length on the wire, captured length)."""
    now, frames = rng.choice([0, 5, 1700000000 * 10**6 + rng.randrange(10**6)]), []
    for _ in range(rng.choice([1, 2, 100, 300, 300, 300])):
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
    """Return the bytes beyond the rate after each frame."""
    level, last, levels = Fraction(0), frames[0][0], []
    for now, size in frames:
        level = max(Fraction(0), level - rate * Fraction(now - last, S)) + size
        levels, last = levels + [ceil(level)], now
    return levels


def police(frames, cir, cbs, ebs, eir, pir, pbs):
    """Yield colour, no departure, committed tokens, and no queue, after each frame."""
    committed, second, last = Fraction(cbs), Fraction(pbs if pir else ebs), frames[0][0]
    for now, size in frames:
        elapsed, last = Fraction(now - last, S), now
        committed += cir * elapsed
        if pir:
            second = min(second + pir * elapsed, pbs)
        elif eir:
            second = min(second + eir * elapsed, ebs)
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
        yield colour, "", floor(committed), []


def shape(frames, cir, cbs, limit):
    """Yield colour, departure, tokens, and the sizes in the queue, after each frame."""
    tokens, clock, waiting = Fraction(cbs), frames[0][0], []
    for now, size in frames:
        waiting = [(leaves, n) for leaves, n in waiting if leaves > now]
        if size > cbs or (limit is not None and sum(n for _, n in waiting) + size > limit):
            yield "red", "", floor(tokens), [n for _, n in waiting]
            continue
        start = max(now, clock)
        tokens = min(cbs, tokens + cir * Fraction(start - clock, S))
        leaves = start + (ceil((size - tokens) / cir * S) if tokens < size else 0)
        tokens = min(cbs, tokens + cir * Fraction(leaves - start, S)) - size
        clock = leaves
        if leaves > now:
            waiting.append((leaves, size))
        yield ("green" if leaves == now else "yellow"), str(leaves), floor(tokens), [n for _, n in waiting]


# ---- calls


def rate(rng, low):
    value = int(10 ** rng.uniform(low, low + 5))
    unit = rng.choice([unit for unit, factor in RATE_UNITS.items() if factor <= value])
    n = value // RATE_UNITS[unit]
    return f"{n}{unit}", n * RATE_UNITS[unit]


def size(rng):
    unit = rng.choice(list(SIZE_UNITS))
    n = max(1, int(10 ** rng.uniform(2.5, 5)) // SIZE_UNITS[unit])
    return f"{n}{unit}", n * SIZE_UNITS[unit]


def make_call(rng):
    """Return the arguments and the settings, in the order of the report: the last option of the call varies fastest."""
    kind, options = rng.choice(["one", "apart", "two", "shaper"]), {}
    low = 1 if kind == "shaper" else 3  # delays beyond 137 s, the end of a histogram
    options["--cir"] = [rate(rng, low) for _ in range(rng.choice([1, 1, 2]))]
    if kind == "two":
        most = max(bps for _, bps in options["--cir"])
        options["--pir"] = [(str(most + extra), most + extra) for extra in [rng.randrange(10**7)]]
    if kind == "apart":
        options["--eir"] = [rate(rng, low) for _ in range(rng.choice([1, 2]))]
    options["--cbs"] = [size(rng) for _ in range(rng.choice([1, 2, 3]))]
    if kind == "apart" or (kind == "one" and rng.random() < 0.7):
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
    eir, pir = (Fraction(setting[name], 8) if name in setting else None for name in ("--eir", "--pir"))
    return list(police(frames, cir, setting["--cbs"], setting.get("--ebs", 0), eir, pir, setting.get("--pbs")))


def differs(name, ours, theirs):
    return [f"{name}: {ours} is not {theirs}"] if ours != theirs else []


def most(values):
    return max(values) if values else None


def compare_series(frames, expected, levels, kind, report, series):
    first, width = frames[0][0], report["bin_ns"]
    bins = (frames[-1][0] - first) // width + 1
    found = differs("bins", bins <= 512 and (width == 1000 or (frames[-1][0] - first) // (width // 2) >= 512), True)
    wanted, frames_of = {name: [] for name in series}, [[] for _ in range(bins)]
    for k, (now, _) in enumerate(frames):
        frames_of[(now - first) // width].append(k)
    for of in frames_of:
        for colour in ("green", "yellow", "red"):
            wanted[colour + "_bytes"].append(sum(frames[k][1] for k in of if expected[k][0] == colour))
        wanted["tokens_min_bytes"].append(min((expected[k][2] for k in of), default=None))
        wanted["level_max_bytes"].append(most([levels[k] for k in of]))
        shaped = of if kind == "shaper" else []
        wanted["queue_max_bytes"].append(most([sum(expected[k][3]) for k in shaped]))
        wanted["delay_max_ns"].append(most([int(expected[k][1] or frames[k][0]) - frames[k][0] for k in shaped]))
    for name, points in wanted.items():
        found += differs("points of " + name, len(series[name]), bins)
        found += [f"{name} of bin {i}: {a} is not {b}" for i, (a, b) in enumerate(zip(series[name], points)) if a != b][:1]
    return found


def compare_delays(delays, said):
    found = differs("longest delay", said["max"], max(delays)) + differs("shortest delay", said["min"], min(delays))
    found += differs("mean delay", abs(said["mean"] - sum(delays) / len(delays)) <= said["mean"] * 1e-6, True)
    for name, permille in (("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)):
        exact = sorted(delays)[ceil(len(delays) * permille / 1000) - 1]
        high = exact + exact // 1024 + (10**6 if exact >= 2**37 else 1)
        if not exact <= said[name] <= min(high, max(delays)):
            found.append(f"{name} of the delays: {said[name]} is not {exact} or up to a 1024th more")
    return found


def compare(frames, settings, kind, report, rows):
    found = differs("settings", len(report["settings"]), len(settings))
    found += differs("pkts", report["pkts"], len(frames)) + differs("bytes", report["bytes"], sum(n for _, n in frames))
    for i, setting in enumerate(settings):
        expected, said = judge(frames, setting, kind), report["settings"][i]
        mine = [(row["colour"], row["departure_ns"]) for row in rows if row["setting"] == str(i + 1)]
        found += [f"setting {i} frame {k}: {a} is not {b[:2]}" for k, (a, b) in enumerate(zip(mine, expected)) if a != b[:2]][:1]
        found += differs("rows", len(mine), len(frames))
        for colour in ("green", "yellow", "red"):
            sizes = [n for (_, n), (c, *_) in zip(frames, expected) if c == colour]
            for told in [said] + [report] * (i == 0):
                found += differs(colour + "_pkts", told[colour + "_pkts"], len(sizes))
                found += differs(colour + "_bytes", told[colour + "_bytes"], sum(sizes))
        levels = envelope(frames, Fraction(setting["--cir"], 8))
        found += differs("burst", said["burst_needed_bytes"], max(levels))
        found += differs("fewest tokens", said["tokens_min_bytes"], min(setting["--cbs"], *(tokens for _, _, tokens, _ in expected)))
        found += compare_series(frames, expected, levels, kind, report, said["series"])
        delays = [int(leaves) - now for (now, _), (_, leaves, *_) in zip(frames, expected) if leaves]
        if kind == "shaper":
            queues = [queue for _, _, _, queue in expected]
            found += differs("longest queue", [said["queue_max_bytes"], said["queue_max_pkts"]], [max(map(sum, queues)), max(map(len, queues))])
        if delays:
            found += compare_delays(delays, said["delay_ns"])
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
