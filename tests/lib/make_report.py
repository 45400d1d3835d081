#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_report.py KIND [KEY=VALUE...]: print a latency report as JSON, as any producer may fill it. KIND is none, one, many (20,000
samples around a microsecond, some up to a millisecond), dependent (each sample depends on the one before, AR(1) with 0.95) or
full (many, with every part of a report). KEYs: seed, shift_ns, drift_ns (total), samples, method, unit_ns (of stamps), lost,
lost_at (once: all at one time), payload_bytes. With page=TEMPLATE it is put into the page."""

import json
import math
import random
import sys


def upper(value):
    width = 1 if value < 2048 else 1 << (value.bit_length() - 11)
    return value // width * width + width - 1


def summary(samples):
    samples = sorted(samples)
    if not samples:
        return dict.fromkeys(("min", "p50", "p90", "p99", "p999", "max", "mean")) | {"count": 0, "sum": 0, "overflow": 0}
    at = {key: samples[-(-len(samples) * permille // 1000) - 1]
          for key, permille in (("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999))}
    return at | {"min": samples[0], "max": samples[-1], "mean": sum(samples) / len(samples), "sum": sum(samples),
                 "count": len(samples), "overflow": 0}


def histogram(samples):
    counts = {}
    for sample in samples:
        counts[upper(sample)] = counts.get(upper(sample), 0) + 1
    return [[value, counts[value]] for value in sorted(counts)]


def quantiles(samples):
    at = summary(samples)
    return {key: {"ns": at[key], "with_loss_ns": at[key], "above_window": not samples, "late": False, "beyond": beyond, "few": beyond < 10}
            for key, beyond in ((key, len(samples) * above // 1000)
                                for key, above in (("p50", 500), ("p90", 100), ("p99", 10), ("p999", 1)))}


def levels_of(samples):
    """Return the values with the share of samples nearest to p50, p90, p99, p99.9, but less than all."""
    values = sorted(map(upper, samples))
    ends = [i + 1 for i in range(len(values)) if i + 1 == len(values) or values[i + 1] != values[i]]
    ends = ends[:-1] or ends
    return [values[min(ends, key=lambda end, wanted=share * len(values): abs(end - wanted)) - 1] for share in (0.5, 0.9, 0.99, 0.999)]


def blocks_of(samples):
    n = min(len(samples), 240)
    levels = levels_of(samples) if samples else []
    blocks = [[upper(sample) for sample in samples[len(samples) * i // n:len(samples) * (i + 1) // n]] for i in range(n)]
    return [[len(block), sum(block)] + [sum(value <= level for value in block) for level in levels] for block in blocks]


def report(samples, method, unit_ns):
    return {
        "name": "made </script> & \"quoted\"", "method": method, "source": "nic-rx", "trigger_source": "nic-rx", "trigger_unit_ns": unit_ns, "trigger_bound_ns": None,
        "reply_source": "nic-rx", "reply_unit_ns": unit_ns, "reply_bound_ns": None, "matched": len(samples), "unmatched_triggers": 0, "unmatched_replies": 0,
        "ambiguous": 0, "duplicates": 0, "unstamped": 0, "reply_first": 0, "subtracted_ns": 0, "latency_ns": summary(samples), "cold_ns": [],
        "valid": True, "invalid": [], "facts": {}, "stages": [], "sweep": [], "payload_fit": None, "costs": [], "outliers": [],
        "series": {"start_ns": 1795235116123456789, "span_ns": 1000 * max(len(samples) - 1, 0), "samples": len(samples),
                   "kept": "all", "in_blocks": len(samples), "blocks": blocks_of(samples),
                   "points": [[i * 1000, sample, sample, 1, i] for i, sample in enumerate(samples[:2000])]},
        "histogram": histogram(samples), "clocks_shown": "one", "window_ns": 1000000, "max_loss": 0.001, "quantiles": quantiles(samples),
    }


def add_costs(made):
    for i, name in enumerate(("no recording", "ours", "tcpdump")):
        interval = {"diff": 20.5 * i, "low": 20.5 * i - 3, "high": 20.5 * i + 3}
        unbounded = {"diff": 20.5 * i, "low": None, "high": None}
        made["costs"].append({"name": name, "latency_ns": summary([900 + 20 * i]), "p50_ns": interval, "p99_ns": interval,
                              "p999_ns": unbounded})
    made["costs_family"] = 6
    made["also"] = [{"name": "round trip", "invalid": ["the sender was late"], "costs": made["costs"][:2], "costs_family": 0}]


def add_every_part(made, rng):
    made |= {"valid": False, "invalid": ["the sender was late"], "facts": {"kernel": "6.1", "cmdline": "<b>isolcpus=1</b>"},
             "cold_ns": [5100, 1700], "subtracted_ns": 305, "payload_fit": {"p50_at_0_bytes_ns": 900.5, "ns_per_byte": 1.5, "r2": 1.0}}
    made |= {"triggers": made["matched"] + 30, "answered": made["matched"], "unanswered": 30, "unmatched_triggers": 30}
    made["quantiles"]["p999"] |= {"with_loss_ns": None, "above_window": True, "late": True}
    made["series"] |= {"samples": 2000, "kept": "last"}
    made["quantiles"]["p50"] |= {"low_ns": 941, "high_ns": 957, "effective": 814.4}
    made["series"] |= {"autocorrelation": {"chance": 0.014, "lags": [[1, 0.5], [2, -0.25], [5, 0.001]]},
                       "drift": {"p50_ns": [940 + i for i in range(16)], "settled": False},
                       "residuals": {"against_ns": 950, "points": [[2 * i, i % 3 - 1, 2 * i, -20, 2 * i + 1, i * i] for i in range(1000)]}}
    made |= {"schema": "made", "manifest": {"version": "0", "time": "2026-11-22T00:00:00Z", "argv": ["tapline", "</script>"],
             "host": {"kernel": None, "cpus_isolated": ""}, "seeds": {"client": "0x01"}, "match": {"method": "payload", "reply_bytes": None},
             "inputs": [{"path": "a", "bytes": None, "sha256": None}, {"path": "b", "bytes": 5, "sha256": "00"}], "clocks": None}}
    for name in ("wire to poll", "poll to parsed", "parsed to tx_burst"):
        stage = [rng.randrange(20, 400) for _ in range(1000)]
        made["stages"].append({"name": name, "latency_ns": summary(stage), "histogram": histogram(stage)})
    for i in range(6):
        made["sweep"].append({"payload_bytes": 16 << i, "latency_ns": summary([900 + (24 << i), 2000])})
        made["sweep"].append({"rate_pps": 1000 * 8 ** i, "latency_ns": summary([900, 1000 + 300 * i])})
    add_costs(made)
    made["outliers"] = [{"time_ns": 1795235116123456789, "latency_ns": 900000, "packet_id": 7, "poll_gap_ns": 800000,
                         "interrupts": 1, "steal_ns": None, "note": "</script>"}]


def independent(rng, n):
    samples = [900 + rng.randrange(100) for _ in range(n)]
    return [int(sample / rng.uniform(0.001, 1)) if rng.randrange(50) == 0 else sample for sample in samples]


def dependent(rng, n):
    x, samples = rng.gauss(0, 1), []
    for _ in range(n):
        x = 0.95 * x + math.sqrt(1 - 0.95 ** 2) * rng.gauss(0, 1)
        samples.append(int(1000 * math.exp(x / 2)))
    return samples


def main(kind, **options):
    rng = random.Random(int(options.get("seed", 1)))
    n = {"none": 0, "costs": 0, "one": 1}.get(kind, int(options.get("samples", 20000)))
    unit_ns = int(options.get("unit_ns", 1))
    samples = (dependent if kind == "dependent" else independent)(rng, n)
    drift_ns = int(options.get("drift_ns", 0))
    samples = [(sample + int(options.get("shift_ns", 0)) + drift_ns * i // n) // unit_ns * unit_ns for i, sample in enumerate(samples)]
    made = report(samples, options.get("method", "two-port"), unit_ns)
    made["unmatched_triggers"] = lost = int(options.get("lost", 0))
    blocks = made["series"]["blocks"]
    for i, block in enumerate(blocks):
        at_once = options.get("lost_at") == "once"
        block.append(lost * (i == 80) if at_once else lost * (i + 1) // len(blocks) - lost * i // len(blocks))
    if "payload_bytes" in options:
        made["facts"]["payload_bytes"] = options["payload_bytes"]
    if kind == "full":
        add_every_part(made, rng)
    if kind == "costs":
        add_costs(made)
    text = json.dumps(made)
    if "page" in options:
        with open(options["page"], encoding="utf-8") as file:
            text = file.read().replace("@REPORT@", text.replace("<", "\\u003c"))
    print(text)


main(sys.argv[1], **dict(option.split("=", 1) for option in sys.argv[2:]))
