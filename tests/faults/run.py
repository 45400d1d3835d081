#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py [options]: make each call of tapline fail, and check the recording (judge.py).

A scenario (scenarios.py) runs once to record the call sites (seam.h). Then it runs again for each site and each errno in the
call's manual (errnos.py), once with a single failure, and once with failures from then on; and once for each of some calls near
which a file changes, with a kill before the call. Without --nightly: each site once, with one errno, and once with a kill, in
one scenario that has it, by --seed. Print "ok - " or "not ok - " for each scenario, with each fault that violated a
guarantee."""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import recording_reader as reader

import errnos
import judge
import matrix
import scenarios

DEADLINE_S = 40  # four times the longest wait of a recording
DELAYED_S = 120  # the same with delayed calls, on a busy machine
KILLS = 3  # at most, of a site in a scenario


@dataclass(frozen=True)
class Site:
    offset: str
    call: str
    place: str = field(compare=False)  # function, file and line
    calls: int = field(compare=False)


@dataclass(frozen=True)
class Case:
    scenario: str
    site: Site
    errno: str
    first: int
    last: int  # 0: all from the first on

    def __str__(self):
        how = "for ever" if self.last == 0 else f"call {self.first} of {self.site.calls}"
        return f"{self.scenario}: {self.site.place} {self.site.call} {self.errno} ({how})"

    def fault(self):
        return f"{self.site.offset}:{self.site.call}:{self.first}:{self.last}:{errnos.code_of(self.errno)}"


@dataclass
class Usual:
    """The run without a fault."""

    sites: list
    leaks: collections.Counter
    earlier: int  # frames of the previous run
    before: list  # files at the beginning
    report: object  # its JSON output
    errors: set  # its error messages

    def place(self, offset):
        return next((site.place for site in self.sites if site.offset == offset), offset)


@dataclass
class Outcome:
    cwd: str
    suffix: str
    held: bool
    status: int
    hung: bool
    stdout: str
    log: str
    trace: list
    stashed: judge.Count
    names: list  # files at the end
    once: bool  # the fault was a single call

    def size(self, name):
        path = os.path.join(self.cwd, name)
        return os.path.getsize(path) if os.path.exists(path) else None

    def names_complete(self):
        return [name for name in self.names if judge.is_complete_name(name, self.suffix) or name.endswith(".part")]


class Runner:
    def __init__(self, build, root):
        self.tapline = os.path.join(build, "app/tapline")
        self.seam = os.path.join(build, "tests/faults/libseam.so")
        self.delays = os.path.join(build, "tests/faults/libdelays.so")
        self.root = root
        self.stage = scenarios.Stage(root, self.tapline)
        self.places = {}

    # ---- one run

    def run(self, scenario, name, fault=None, delays=None):
        """Run in a private directory, NAME; with a fault, in the form of SEAM_FAULT, or with delays of this seed."""
        top = os.path.join(self.root, name)
        shutil.rmtree(top, ignore_errors=True)
        os.mkdir(top)
        cwd, stash, trace = (os.path.join(top, part) for part in ("d", "stash", "trace"))
        self.stage.fresh(scenario, cwd)
        inside = os.path.join(cwd, ".stash")  # the only place where the process may write
        os.mkdir(inside)
        seam = [f"LD_PRELOAD={self.seam}", f"SEAM_TRACE={trace}", f"SEAM_STASH={inside}", f"SEAM_SUFFIX={scenario.suffix}"]
        if delays is not None:
            seam[0] = f"LD_PRELOAD={self.delays}:{self.seam}"
            seam += [f"DELAYS={delays}", f"DELAYS_TRACE={os.path.join(top, 'delays')}"]
        command = ["env"] + seam + ([f"SEAM_FAULT={fault}"] if fault else []) + self.stage.command(scenario.args)
        if scenario.control:
            command = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"] + command
        with open(os.path.join(top, "out"), "w+") as out, open(os.path.join(top, "log"), "w+") as log:
            process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=log)
            hung = self.wait(process, scenario, cwd, DEADLINE_S if delays is None else DELAYED_S)
            os.rename(inside, stash)
            out.seek(0), log.seek(0)
            return self.outcome(scenario, cwd, process.returncode, hung, out.read(), log.read(), trace, stash,
                                fault is None or ":0:" not in fault)

    def wait(self, process, scenario, cwd, limit_s):
        """Wait for the process. True: it did not exit by itself."""
        deadline = time.monotonic() + limit_s
        if scenario.control:
            self.control(process, scenario, os.path.join(cwd, "c.sock"), deadline)
        try:
            process.wait(deadline - time.monotonic())
            return False
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return True

    def control(self, process, scenario, path, deadline):
        while not os.path.exists(path) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        for verb in scenario.control:
            command = [self.tapline] + (["status"] if verb == "status" else ["control", verb]) + ["--socket", path]
            try:
                subprocess.run(command, capture_output=True, check=False, timeout=10)
            except subprocess.TimeoutExpired:
                pass
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)

    def outcome(self, scenario, cwd, status, hung, stdout, log, trace, stash, once):
        stashed = judge.Count()
        for name in os.listdir(stash):
            try:
                stashed.add(reader.read(os.path.join(stash, name)))
            except reader.Broken:
                pass
        lines = []
        if os.path.exists(trace):
            with open(trace, encoding="utf-8", errors="replace") as file:
                lines = [line.rstrip("\n").split(" ", 3) for line in file]
        return Outcome(cwd, scenario.suffix, scenario.held, status, hung, stdout, log, lines, stashed, os.listdir(cwd), once)

    # ---- the state of a directory

    def locate(self, offsets):
        """Return function file:line of each return address."""
        wanted = [offset for offset in offsets if offset not in self.places]
        if not wanted:
            return
        calls = [f"{int(offset, 16) - 1:#x}" for offset in wanted]
        done = subprocess.run(["addr2line", "-aif", "-e", self.tapline] + calls, capture_output=True, text=True, check=True)
        for offset, found in zip(wanted, done.stdout.split("0x0")[1:]):
            lines = found.split("\n")[1:]
            frames = [(function, file.split(" ")[0]) for function, file in zip(lines[::2], lines[1::2])]
            # The caller of a wrapper of libc, or of tl_array_reserve().
            function, file = next((frame for frame in frames if "/include/" not in frame[1] and "tl_array.h" not in frame[1]), frames[0])
            self.places[offset] = f"{'/'.join(file.split('/')[-2:])} {function}()"

    def record(self, scenario):
        outcome = self.run(scenario, "usual-" + scenario.name)
        if outcome.status != scenario.status:
            raise SystemExit(f"not ok - faults: {scenario.name}: status {outcome.status} when nothing fails: {outcome.log}")
        count = judge.Count()
        judge.read_complete(self.stage.template(scenario), scenario.suffix, count, [])
        if scenario.leave:
            count = self.with_left(scenario)
        rows = [rest for what, *rest in outcome.trace if what == "site"]
        self.locate({row[0] for row in rows})
        sites = [Site(offset, call, self.places[offset], int(calls)) for offset, call, calls in rows
                 if not errnos.is_excused(self.places[offset], call)]
        leaks = collections.Counter(rest[0] for what, *rest in outcome.trace if what == "leak")
        earlier = self.stage.readable.get(scenario.name, len(count.of_before()))
        usual = Usual(sorted(sites, key=lambda site: (site.place, site.call)), leaks, earlier,
                      os.listdir(self.stage.template(scenario)), json.loads(outcome.stdout), judge.errors_of(outcome))
        complaints = judge.judge(scenario, outcome, usual, self.tapline)
        if complaints:
            raise SystemExit(f"not ok - faults: {scenario.name}: when nothing fails: {'; '.join(complaints)}\n{outcome.log}")
        return usual

    def with_left(self, scenario):
        path = os.path.join(self.root, "mended-" + scenario.name)
        self.stage.fresh(scenario, path)
        judge.recover(self.tapline, path)
        count = judge.Count()
        judge.read_complete(path, scenario.suffix, count, [])
        return count

    def try_case(self, scenario, usual, case, name):
        outcome = self.run(scenario, name, case.fault())
        happened = any(what == "fault" for what, *_ in outcome.trace)
        return happened, judge.judge(scenario, outcome, usual, self.tapline), outcome

    def try_delays(self, scenario, usual, seed, name):
        """Return the failed checks of a run with delayed calls."""
        outcome = self.run(scenario, name, delays=seed)
        complaints = judge.judge(scenario, outcome, usual, self.tapline)
        if outcome.status != scenario.status and not complaints:
            complaints.append(f"status: {outcome.status}")
        return [f"{'; '.join(complaints)}\n{outcome.log}"] if complaints else []


# ---- which cases

def choice_of(seed, *names):
    """Return a generator for one choice: the choice at one site does not depend on other sites."""
    return random.Random(" ".join(map(str, (seed, *names))))


def some_calls(scenario, site, errno, most, seed):
    """Return the numbers of random calls of a site, at most so many."""
    choice = choice_of(seed, scenario.name, site.place, site.call, errno)
    return choice.sample(range(1, site.calls + 1), min(site.calls, most))


def cases_of(scenario, site, seed):
    for errno in errnos.errnos_of(site.call):
        if errnos.is_excused(site.place, site.call, errno):
            continue
        for once in some_calls(scenario, site, errno, errnos.tries_of(site.place), seed):
            yield Case(scenario.name, site, errno, once, once)
        if errno not in errnos.TWICE:
            yield Case(scenario.name, site, errno, 1, 0)


def kills_of(scenario, site, seed):
    """Yield kills before some calls of a site, in scenarios that a recovery follows."""
    if scenario.kind in ("capture", "recover") and errnos.kills(site.call):
        for once in some_calls(scenario, site, "KILLED", KILLS, seed):
            yield Case(scenario.name, site, "KILLED", once, once)


def faults_of(scenario, site, seed):
    yield from cases_of(scenario, site, seed)
    yield from kills_of(scenario, site, seed)


def all_cases(usuals, chosen, seed):
    return [case for scenario in chosen for site in usuals[scenario.name].sites for case in faults_of(scenario, site, seed)]


def few_cases(usuals, chosen, seed):
    """Return each site with its likeliest errno, in one scenario that has it, once or for ever; and with a kill in one."""
    having = collections.defaultdict(list)
    for scenario in chosen:
        for site in usuals[scenario.name].sites:
            having[(site.offset, site.call)].append((scenario, site))
    few = []
    for places in having.values():
        choice = choice_of(seed, places[0][1].place, places[0][1].call)
        cases = list(cases_of(*choice.choice(places), seed))[:2]
        kills = [case for place in places for case in kills_of(*place, seed)]
        few += [choice.choice(found) for found in (cases, kills) if found]
    return few


# ---- the run

def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.environ.get("TL_BUILD", "build"), help="the build directory")
    parser.add_argument("--nightly", action="store_true", help="every errno, once and for ever, and kills, of every site in every scenario")
    parser.add_argument("--seed", type=int, default=1, help="for what is chosen")
    parser.add_argument("--sample", type=int, default=0, help="of all cases so many, by the seed")
    parser.add_argument("--scenario", action="append", help="only this one; again: this one, too")
    parser.add_argument("--site", default="", help="only sites whose place, and call, contain this")
    parser.add_argument("--errno", default="", help="only this errno, SHORT or KILLED")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--seconds", type=int, default=0, help="begin no case later than so")
    parser.add_argument("--keep", action="store_true", help="keep the directory of each case that failed")
    parser.add_argument("--list", action="store_true", help="print the cases, and run none")
    parser.add_argument("--skipped", action="store_true", help="with --list: as SEAM_FAULT that makes the call do nothing")
    parser.add_argument("--matrix", help="write the tables of sites and scenarios into this page")
    return parser.parse_args(argv)


def plan(args, usuals, chosen):
    if args.sample:
        cases = all_cases(usuals, chosen, args.seed)
        cases = choice_of(args.seed).sample(cases, min(args.sample, len(cases)))
    else:
        cases = (all_cases if args.nightly or args.site or args.errno else few_cases)(usuals, chosen, args.seed)
    return [case for case in cases if args.site in f"{case.site.place} {case.site.call}" and args.errno in ("", case.errno)]


class Tally:
    def __init__(self, runner, args, usuals):
        self.runner, self.args, self.usuals = runner, args, usuals
        self.ran, self.idle, self.late = collections.Counter(), 0, 0
        self.failed = collections.defaultdict(list)
        self.end = time.monotonic() + args.seconds if args.seconds else float("inf")

    def one(self, number, case):
        if time.monotonic() > self.end:
            self.late += 1
            return
        scenario = next(s for s in scenarios.SCENARIOS if s.name == case.scenario)
        name = f"case-{number}"
        happened, complaints, outcome = self.runner.try_case(scenario, self.usuals[case.scenario], case, name)
        self.ran[case.scenario] += 1
        self.idle += not happened
        if complaints:
            self.failed[case.scenario].append((case, complaints, outcome.log))
            print(f"# {case}: {'; '.join(complaints)}", flush=True)
        if not (complaints and self.args.keep):
            shutil.rmtree(os.path.join(self.runner.root, name))

    def show(self, chosen):
        for scenario in chosen:
            failed = self.failed[scenario.name]
            print(f"{'not ' if failed else ''}ok - faults: {scenario.name}: each promise is kept in {self.ran[scenario.name]} runs "
                  "with a call that fails, or a kill" + (f"; {len(failed)} broke one" if failed else ""))
            for case, complaints, log in failed:
                print(f"#   {case}\n#     {'; '.join(complaints)}")
                print("".join(f"#     | {line}\n" for line in log.splitlines() if "error" in line or "warning" in line)[:1000], end="")
        print(f"# {sum(self.ran.values())} runs, {self.idle} in which the call was not made, {self.late} not begun for want of time")


def main(argv):
    args = parse(argv)
    chosen = [s for s in scenarios.SCENARIOS if not args.scenario or s.name in args.scenario]
    root = tempfile.mkdtemp(prefix="tapline-faults-")
    try:
        runner = Runner(os.path.abspath(args.build), root)
        usuals = {scenario.name: runner.record(scenario) for scenario in chosen}
        if args.matrix:
            matrix.write(args.matrix, chosen, usuals, faults_of, args.seed)
            return 0
        cases = plan(args, usuals, chosen)
        if args.skipped:
            print("\n".join(sorted({f"{case.site.offset}:{case.site.call}:1:0:{errnos.SKIPPED}" for case in cases})))
            return 0
        if args.list:
            print("\n".join(map(str, cases)))
            return 0
        tally = Tally(runner, args, usuals)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for done in [pool.submit(tally.one, number, case) for number, case in enumerate(cases)]:
                done.result()
        tally.show(chosen)
        return 1 if any(tally.failed.values()) else 0
    finally:
        if args.keep:
            print(f"# kept: {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
