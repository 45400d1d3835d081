#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Figures of tools/bench.sh: which runs measure them, the result made of the runs' output, its comparison and its tables.

usage: bench.py list
       bench.py plan PATTERN                        print a line "RUN FIGURE..." for each run that the pattern needs
       bench.py result PATTERN quick|full RAW OUT   make OUT/result.json and OUT/index.html of the runs' output in RAW
       bench.py compare OLD NEW                     print what became slower; exit status 1 if something did
       bench.py write-counts RESULT PROGRAM [FILE]  put the instruction counts into FILE, for the compiler of PROGRAM
       bench.py check-counts RUN OUTPUT PROGRAM [FILE]
                                                    compare a run's output with them, but for those that take minutes; exit
                                                    status 3: there are none
       bench.py write-docs RESULT [ROOT]            write the tables of README.md and docs/benchmarks.md
FILE is tests/bench/instructions.json.
"""

import fnmatch
import glob
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the tree stays clean
import bench_page
from bench_figures import COUNT, COUNT_LIMIT, FIGURES, SPREAD_RULE, Missing, Raw, read_json

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
COUNTS = os.path.join(ROOT, "tests", "bench", "instructions.json")
# A run is noisy beyond one of these: shares of the time of all CPUs, and relative changes.
STEAL_LIMIT, OTHERS_LIMIT, MHZ_LIMIT, SPREAD_LIMIT = 0.01, 0.05, 0.02, 0.25
NOISE_RULE = (f"noisy: steal above {STEAL_LIMIT:.0%} or other processes above {OTHERS_LIMIT:.0%} of the time of all CPUs, "
              f"a change of the CPUs' frequency above {MHZ_LIMIT:.0%}, or rounds that differ from the figure by more than "
              f"{SPREAD_LIMIT:.0%}; instruction counts never are")


def wanted(pattern):
    return [figure for figure in FIGURES if fnmatch.fnmatchcase(figure.name, pattern)]


def runs_of(figures):
    runs = {}
    for figure in figures:
        runs.setdefault(figure.run, []).append(figure.name)
    return runs


# ---- noise

def read_sample(path):
    """Return total, steal and busy ticks of all CPUs, our children's ticks, and the mean frequency in MHz."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, re.search(r"^cpu +(.*)$", text, re.M)[1].split()[:8])
    ours = re.findall(r"(\d+)m([\d.]+)s", text.split("\ncpu")[0])[2:4]
    mhz = [float(one) for one in re.findall(r"^cpu MHz\s*: ([\d.]+)", text, re.M)]
    return {"total": user + nice + system + idle + iowait + irq + softirq + steal, "steal": steal, "busy": user + nice + system,
            "ours": sum(int(minutes) * 60 + float(seconds) for minutes, seconds in ours) * os.sysconf("SC_CLK_TCK"),
            "mhz": statistics.mean(mhz) if mhz else 0}


def noise_between(before, after):
    """Return the reasons why a run between two samples is noisy."""
    change = {key: after[key] - before[key] for key in before}
    total = max(change["total"], 1)
    steal, others = change["steal"] / total, max(change["busy"] - change["ours"], 0) / total
    frequency = abs(change["mhz"]) / before["mhz"] if before["mhz"] else 0
    return [f"{what} {share:.1%}" for what, share, limit in (
        ("steal", steal, STEAL_LIMIT), ("other processes", others, OTHERS_LIMIT), ("change of frequency", frequency, MHZ_LIMIT))
        if share > limit]


def noise_of_run(raw, run):
    try:
        return noise_between(read_sample(os.path.join(raw, run + ".before")), read_sample(os.path.join(raw, run + ".after")))
    except OSError:
        return ["no sample of the host's load"]


# ---- the result

def make_figure(figure, raw):
    row = {"name": figure.name, "title": figure.title, "value": None, "unit": figure.unit,
           "better": "lower" if figure.lower else "higher", "reference": None, "ratio": None, "noisy": False}
    try:
        row |= pick(figure, raw)
    except Missing as why:
        return row | {"why": str(why)}
    except (KeyError, IndexError, TypeError) as what:
        return row | {"why": f"the run's output lacks {what}"}
    if row["reference"] and row["reference"]["value"]:
        row["ratio"] = round(row["value"] / row["reference"]["value"], 3)
    if figure.unit != COUNT:
        row["noise"] = noise_of_run(raw, figure.run)
        if row["spread"] > SPREAD_LIMIT:
            row["noise"].append(f"rounds differ by {row['spread']:.0%}")
    row["noisy"] = bool(row.get("noise"))
    return row


def pick(figure, raw):
    why = os.path.join(raw, figure.run + ".why")
    if os.path.exists(why):
        with open(why, encoding="utf-8") as file:
            raise Missing(file.read().strip())
    outputs = [path for tail in (".json", ".[0-9]*.json") for path in glob.glob(os.path.join(raw, figure.run + tail))]
    picked = figure.pick(Raw(outputs))
    if picked["value"] is None:
        raise Missing("the run has no such value")
    return picked | {"spread": round(picked["spread"], 3)}


def make_result(pattern, kind, raw, out):
    figures = [make_figure(figure, raw) for figure in wanted(pattern)]
    result = {"format": 1, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "quick": kind == "quick",
              "noisy": any(row["noisy"] for row in figures), "rules": [NOISE_RULE, SPREAD_RULE],
              "host": read_json(os.path.join(raw, "host.json")) or {}, "figures": figures}
    write(os.path.join(out, "result.json"), json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    write(os.path.join(out, "index.html"), bench_page.page(result, raw))
    sys.stdout.write(bench_page.text_table(figures))


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


# ---- comparison

def compare(old_path, new_path):
    """Ratios of one run can be compared between hosts, other values only on the same kind of CPU."""
    old, new = (read_result(path) for path in (old_path, new_path))
    same_cpu = old["host"].get("cpu") == new["host"].get("cpu")
    before = {row["name"]: row for row in old["figures"]}
    slower = 0
    for row in new["figures"]:
        verdict, text = judge(before.get(row["name"]), row, same_cpu)
        slower += verdict == "slower"
        if verdict != "same":
            print(f"{verdict}: {row['name']}: {text}")
    print(f"{slower} of {len(new['figures'])} figures became slower")
    return 1 if slower else 0


def judge(old, new, same_cpu):
    """Return a verdict on a figure, and its reason."""
    if old is None or old["value"] is None or new["value"] is None:
        return "not judged", (new.get("why") if old and new["value"] is None else None) or "the old result has no value"
    if old["noisy"] or new["noisy"]:
        return "not judged", "noisy: " + "; ".join((new if new["noisy"] else old)["noise"])
    field = "ratio" if old["ratio"] and new["ratio"] else "value"
    if field == "value" and new["unit"] != COUNT and not same_cpu:
        return "not judged", "it has no reference, and the CPU is another"
    if new["unit"] == COUNT:
        limit = count_limit(old["value"]) / old["value"] if old["value"] else 0
    else:
        limit = old["spread"] + new["spread"]
    worse = (quotient(new[field], old[field]) if new["better"] == "lower" else quotient(old[field], new[field])) - 1
    text = f"{field} {old[field]:g} became {new[field]:g}, {abs(worse):.1%} {'worse' if worse > 0 else 'better'}, limit {limit:.1%}"
    return ("slower" if worse > limit else "faster" if worse < -limit else "same"), text


def count_limit(value):
    """Return by how many instructions a count may differ: 2 %, or one."""
    return max(COUNT_LIMIT * value, 1)


def quotient(above, below):
    return above / below if below else math.inf if above else 1.0


def read_result(path):
    result = read_json(path)
    if not isinstance(result, dict) or not isinstance(result.get("figures"), list):
        print(f"bench: {path}: no result of tools/bench.sh; give its result.json", file=sys.stderr)
        sys.exit(2)
    return result


# ---- committed instruction counts

def build_of(program):
    """Return a name for the compiler and the DPDK that a count depends on."""
    comment = subprocess.run(["readelf", "-p", ".comment", program], capture_output=True, text=True, check=True).stdout
    found = re.search(r"(clang) version (\d+)", comment) or re.search(r"(GCC): \(.*?\) (\d+)", comment)
    dpdk = subprocess.run(["pkg-config", "--modversion", "libdpdk"], capture_output=True, text=True, check=True).stdout
    return f"{found[1].lower()}-{found[2]} dpdk-{'.'.join(dpdk.split('.')[:2])}"


def write_counts(result_path, program, path=COUNTS):
    committed = read_json(path) or {}
    counts = committed.setdefault(build_of(program), {})
    for row in read_result(result_path)["figures"]:
        if row["unit"] == COUNT and row["value"] is not None:
            counts[row["name"]] = row["value"]
    write(path, json.dumps(committed, indent=1, sort_keys=True) + "\n")


def check_counts(run, output, program, path=COUNTS):
    build, committed = build_of(program), read_json(path) or {}
    if build not in committed:
        print(f"no counts are committed for {build}")
        return 3
    status = 0
    for figure in FIGURES:
        expected = committed[build].get(figure.name)
        if figure.run != run or expected is None or figure.complete:
            continue
        try:
            value = figure.pick(Raw([output]))["value"]
        except Missing as why:
            value = f"missing: {why}"
        if isinstance(value, str) or abs(value - expected) > count_limit(expected):
            status = 1
            print(f"{figure.name}: {value}, committed {expected}, limit {count_limit(expected):.1f}; on purpose: "
                  "tools/bench.sh --only '*-instructions' --write-counts")
    return status


# ---- documents

def write_docs(result_path, root=ROOT):
    """Replace the text between the marks of README.md and docs/benchmarks.md. A quick result is rejected."""
    result = read_result(result_path)
    if result["quick"]:
        print("bench: a quick result is not for documents; run tools/bench.sh without --quick", file=sys.stderr)
        return 1
    for path, only in (("README.md", {figure.name for figure in FIGURES if figure.readme}), ("docs/benchmarks.md", None)):
        path = os.path.join(root, path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        rows = [row for row in result["figures"] if only is None or row["name"] in only]
        text, found = re.subn(r"(<!-- tools/bench.sh: [^\n]*-->\n).*?(<!-- end -->)",
                              lambda mark: mark[1] + bench_page.markdown(result, rows) + mark[2], text, flags=re.S)
        if found != 1:
            print(f"bench: {path}: {found} places for figures, not one", file=sys.stderr)
            return 1
        write(path, text)
    return 0


def main(command="", *arguments):
    if command == "list":
        print("\n".join(f"{figure.name:42}{figure.title}" for figure in FIGURES))
    elif command == "plan":
        print("\n".join(" ".join([run] + names) for run, names in runs_of(wanted(*arguments)).items()))
    else:
        commands = {"result": make_result, "compare": compare, "write-counts": write_counts, "check-counts": check_counts,
                    "write-docs": write_docs}
        if command not in commands:
            sys.exit(__doc__)
        return commands[command](*arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
