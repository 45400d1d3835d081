#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_report.py NAME: check that NAME.json, NAME.hgrm and NAME.html of a latency report agree with the samples in NAME.csv.
The percentile file is recomputed here from the sorted samples. Print the errors."""

import csv
import html.parser
import json
import math
import sys

TICKS_PER_HALF = 5
FIXED = ("ns", "with_loss_ns", "above_window", "beyond", "few", "late")  # independent of the order of the samples
wrong = []


def expect(what, got, expected):
    if got != expected:
        wrong.append(f"{what}: {got!r}, not {expected!r}")


def bucket(value):
    """Return the first and last value that are equal in 3 significant digits."""
    width = 1 if value < 2048 else 1 << (value.bit_length() - 11)
    first = value // width * width
    return first, first + width - 1


def nearest_rank(samples, permille):
    return samples[max(math.ceil(len(samples) * permille / 1000), 1) - 1]


def quantile(samples, permille, unanswered):
    rank = math.ceil(len(samples) * permille / 1000)
    with_loss = math.ceil((len(samples) + unanswered) * permille / 1000)
    never = with_loss > len(samples)
    return {"ns": samples[rank - 1], "with_loss_ns": None if never else samples[with_loss - 1], "above_window": never,
            "beyond": len(samples) - rank, "few": len(samples) - rank < 10, "late": False}


def level_lines(samples):
    """Return the percentile at each level, from 0 on: each step is a fifth of half of the rest to 100."""
    level, at, count = 0.0, 0, len(samples)
    while at < count:
        last = bucket(samples[at])[1]
        end = at
        while end < count and samples[end] <= last:
            end += 1
        while 100 * end / count >= level:
            yield f"{last:12.3f} {level / 100:2.12f} {end:10d} {1 / (1 - level / 100):14.2f}"
            if end == count:
                break
            level += 100 / (TICKS_PER_HALF * 2 ** (int(math.log2(100 / (100 - level))) + 1))
        at = end
    yield f"{bucket(samples[-1])[1]:12.3f} {1:2.12f} {count:10d}"


def footer_lines(samples):
    middles = [first + (last + 1 - first) // 2 for first, last in map(bucket, samples)]
    mean = sum(middles) / len(middles)
    deviation = math.sqrt(sum((middle - mean) ** 2 for middle in middles) / len(middles))
    yield f"#[Mean    = {mean:12.3f}, StdDeviation   = {deviation:12.3f}]"
    yield f"#[Max     = {bucket(samples[-1])[1]:12.3f}, Total count    = {len(samples):12d}]"


class Page(html.parser.HTMLParser):
    """Return the JSON in the page, parsed as in a browser."""

    def __init__(self):
        super().__init__()
        self.inside, self.text = False, ""

    def handle_starttag(self, tag, attrs):
        self.inside = tag == "script" and ("id", "report") in attrs

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.text += data


def main(name):
    with open(name + ".csv", encoding="utf-8") as file:
        samples = sorted(int(row["latency_ns"]) for row in csv.DictReader(file))
    with open(name + ".json", encoding="utf-8") as file:
        report = json.load(file)
    with open(name + ".hgrm", encoding="utf-8") as file:
        hgrm = file.read().splitlines()
    page = Page()
    with open(name + ".html", encoding="utf-8") as file:
        page.feed(file.read())

    latency = report["latency_ns"]
    expect("count", latency["count"], len(samples))
    expect("min", latency["min"], samples[0])
    expect("max", latency["max"], samples[-1])
    expect("mean", round(latency["mean"], 3), round(sum(samples) / len(samples), 3))
    for key, permille in (("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)):
        expect(key, latency[key], nearest_rank(samples, permille))
    for key, permille in (("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)):
        quantile_said = report["quantiles"][key]
        expect(f"quantile {key}", {name: quantile_said[name] for name in FIXED}, quantile(samples, permille, report["unanswered"]))
        if quantile_said["low_ns"] is not None and quantile_said["high_ns"] is not None:
            expect(f"interval of {key}", quantile_said["low_ns"] <= quantile_said["ns"] <= quantile_said["high_ns"], True)
    expect("residuals", sorted(value for point in report["series"]["residuals"]["points"] for value in (point[3], point[5]))[::len(samples) * 2 - 1],
           [samples[0] - latency["p50"], samples[-1] - latency["p50"]])
    expect("triggers", report["triggers"], report["answered"] + report["unanswered"])
    in_buckets = {}
    for sample in samples:
        last = bucket(sample)[1]
        in_buckets[last] = in_buckets.get(last, 0) + 1
    expect("histogram", report["histogram"], [[value, count] for value, count in sorted(in_buckets.items())])
    expect("series", sum(point[3] for point in report["series"]["points"]), len(samples))
    expect("peak of the series", max(point[2] for point in report["series"]["points"]), samples[-1])
    expect("JSON in the page", json.loads(page.text), report)
    expect("head of the percentiles", hgrm[0].split(), ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"])
    expect("percentiles", [line for line in hgrm[2:] if line[0] != "#"], list(level_lines(samples)))
    expect("foot of the percentiles", [line for line in hgrm if line[0:1] == "#"][:2], list(footer_lines(samples)))


main(sys.argv[1])
print("\n".join(line[:2000] for line in wrong), end="")
sys.exit(1 if wrong else 0)
