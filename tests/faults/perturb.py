#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""perturb.py [options]: run programs of the recorder with delayed calls (delays.c), so that their threads interact in a different
order than on an idle host with a fast disk. Guarantees must hold with delays, too: unit suites and functional suites pass, and
in each scenario (scenarios.py) the files match the ledger.

Print "ok - " or "not ok - " for each suite and scenario, with the seeds that failed; the same seed and the same binary delay the
same calls."""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

import run
import scenarios

UNITS = "writer writer_digest writer_faults writer_full writer_hold writer_kept writer_removed writer_ring writer_rotation writer_sidecar " \
        "writer_stream capture slow_disk index recover recover_packed recover_reused recode slab tail verify extract".split()
FUNCTIONALS = "ring rotate recover recover_forms trigger disk_full thin_disk null capture statistics extract verify recode cutoff " \
              "status faults".split()
DELAYED = "run|capture|recover|extract|verify"  # commands delayed in functional suites
DEADLINE_S = 900


def reds(text):
    return re.findall(r"^not ok - .*(?:\n#   .*)*", text, re.MULTILINE)


class Suites:
    def __init__(self, build, root, most_ms):
        self.build, self.root, self.most_ms = build, root, most_ms
        self.library = os.path.join(build, "tests/faults/libdelays.so")
        self.source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")

    def command_of(self, kind, name, seed):
        """Return the command of a suite, and its additions to the environment."""
        trace = os.path.join(self.root, f"{kind}-{name}-{seed}.trace")
        delays = {"LD_PRELOAD": self.library, "DELAYS": f"{seed}:{self.most_ms}", "DELAYS_TRACE": trace}
        if kind == "unit":
            return [os.path.join(self.build, f"tests/unit/test_{name}")], delays
        build = os.path.join(self.root, f"build-{name}-{seed}")
        self.make_build(build, delays)
        return [os.path.join(self.source, f"tests/func/{name}_test.sh")], {"TL_BUILD": build}

    def make_build(self, top, delays):
        """Make a build directory in which tapline is delayed in commands that record or read recordings."""
        os.makedirs(top + "/app")
        for entry in os.listdir(self.build):
            if entry != "app":
                os.symlink(os.path.join(self.build, entry), os.path.join(top, entry))
        for entry in os.listdir(self.build + "/app"):
            if entry != "tapline":
                os.symlink(os.path.join(self.build, "app", entry), os.path.join(top, "app", entry))
        words = " ".join(f"{name}={value}" for name, value in delays.items())
        with open(top + "/app/tapline", "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\ncase $1 in {DELAYED}) export {words} ;; esac\nexec {self.build}/app/tapline "$@"\n')
        os.chmod(top + "/app/tapline", 0o755)

    def run(self, kind, name, seed):
        """Run a suite and return the lines of its failures."""
        command, more = self.command_of(kind, name, seed)
        done = subprocess.run(["timeout", "--kill-after=30", str(DEADLINE_S)] + command, env={**os.environ, **more},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        text = done.stdout.decode(errors="replace")
        found = reds(text)
        if done.returncode != 0 and not found:
            found = [f"ended with status {done.returncode}\n{text[-1000:]}"]
        if found:
            with open(os.path.join(self.root, f"{kind}-{name}-{seed}.log"), "w", encoding="utf-8") as file:
                file.write(text)
        return found


class Scenarios:
    """The scenarios of the faults, without faults."""

    def __init__(self, build, root, most_ms, names):
        self.runner, self.most_ms = run.Runner(build, root), most_ms
        self.all = {scenario.name: scenario for scenario in scenarios.SCENARIOS if scenario.name in names}
        self.usuals = {name: self.runner.record(scenario) for name, scenario in self.all.items()}

    def run(self, name, seed):
        return self.runner.try_delays(self.all[name], self.usuals[name], f"{seed}:{self.most_ms}", f"{name}-{seed}")


def seeds_of(text):
    """Parse "7" or "1-20"."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("TL_BUILD", "build"), help="the build directory")
    parser.add_argument("--seeds", default="1-3", help='"7" or "1-20"')
    parser.add_argument("--most-ms", type=int, default=12000, help="that a program is delayed by, in all")
    parser.add_argument("--unit", default="", help='these unit suites, by commas; "all": those that record')
    parser.add_argument("--func", default="", help="these functional suites")
    parser.add_argument("--scenario", default="", help="these scenarios")
    parser.add_argument("--jobs", type=int, default=8, help="runs at a time; they mostly sleep")
    parser.add_argument("--keep", action="store_true", help="keep logs and traces")
    return parser.parse_args(argv)


def chosen(text, known):
    names = known if text == "all" else [name for name in text.split(",") if name]
    return list(names)


def main(argv):
    args = parse(argv)
    build = os.path.abspath(args.build)
    root = tempfile.mkdtemp(prefix="tapline-delays-")
    os.chmod(root, 0o755)  # the user of the appliance reads its build there
    suites = Suites(build, root, args.most_ms)
    work = [("unit", name) for name in chosen(args.unit, UNITS) if os.path.exists(f"{build}/tests/unit/test_{name}")]
    work += [("func", name) for name in chosen(args.func, FUNCTIONALS)]
    chosen_scenarios = chosen(args.scenario, [scenario.name for scenario in scenarios.SCENARIOS])
    stage = Scenarios(build, root, args.most_ms, chosen_scenarios)
    work += [("scenario", name) for name in chosen_scenarios]
    seeds = seeds_of(args.seeds)
    failed = {}

    def one(kind, name, seed):
        found = stage.run(name, seed) if kind == "scenario" else suites.run(kind, name, seed)
        for line in found:
            print(f"# {kind}/{name} seed {seed}: {line}", flush=True)
        if found:
            failed.setdefault((kind, name), []).append(seed)

    try:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for done in [pool.submit(one, kind, name, seed) for seed in seeds for kind, name in work]:
                done.result()
        for kind, name in work:
            bad = sorted(failed.get((kind, name), []))
            print(f"{'not ' if bad else ''}ok - delays: {kind}/{name} holds in {len(seeds)} orders of events"
                  + (f"; red with seeds {' '.join(map(str, bad))}" if bad else ""))
        return 1 if failed else 0
    finally:
        if args.keep:
            print(f"# kept: {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
