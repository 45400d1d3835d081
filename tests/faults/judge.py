# SPDX-License-Identifier: BSD-3-Clause
"""Check that a run keeps its guarantees despite failed calls: the ledger matches the files, a file with a complete name is
complete, and the run exits by itself and reports the failure."""

import collections
import fcntl
import json
import os
import subprocess

import errnos
import recording_reader as reader
from recording_frames import EARLIER, number_of

MENDABLE = (".part", ".next")


def is_complete_name(name, suffix):
    return name.endswith(suffix) and not name.startswith(".")


def is_left(name):
    return name.endswith(MENDABLE)


class Count:
    """Frames by their number, of this run and of the previous one."""

    def __init__(self):
        self.seen = collections.Counter()
        self.strange = 0

    def add(self, frames):
        for data in frames:
            number = number_of(data)
            if number is None:
                self.strange += 1
            else:
                self.seen[number] += 1

    def of_this_run(self):
        return {number for number in self.seen if number < EARLIER}

    def of_before(self):
        return {number for number in self.seen if number >= EARLIER}


def read_complete(path, suffix, count, complaints):
    """Read the frames of all files with complete names."""
    for name in sorted(os.listdir(path)):
        if not is_complete_name(name, suffix):
            continue
        full = os.path.join(path, name)
        try:
            frames = reader.read(full)
        except reader.Broken as error:
            complaints.append(f"incomplete: {name}: {error}")
            continue
        before = len([data for data in frames if (number_of(data) or 0) >= EARLIER])
        if 0 < before < len(frames):
            complaints.append(f"earlier life: {name} has {before} frames of an earlier run among {len(frames)}")
        count.add(frames)


def load_json(outcome, complaints):
    if outcome.status == 2 or (outcome.status == 1 and not outcome.stdout.strip()):
        return None
    try:
        return json.loads(outcome.stdout)
    except ValueError:
        complaints.append(f"output: status {outcome.status} and no JSON")
        return None


def judge_ending(outcome, complaints):
    if outcome.hung:
        complaints.append("hang: did not end")
    elif outcome.status < 0:
        complaints.append(f"crash: signal {-outcome.status}")
    elif outcome.status > 2:
        complaints.append(f"crash: status {outcome.status}")
    elif outcome.status != 0 and not outcome.log.strip() and '"why"' not in outcome.stdout:
        complaints.append(f"silence: status {outcome.status} without a word")
    return not complaints


def judge_published(outcome, usual, complaints):
    """Check that bytes are on the disk before a complete name, and then the name, except for files of an earlier run."""
    directory = str(os.stat(outcome.cwd).st_ino)
    dirty, renamed = set(), False
    for what, *rest in outcome.trace:
        if what == "write":
            dirty.add(rest[0])
        elif what == "sync":
            dirty.discard(rest[0])
            renamed = renamed and rest[0] != directory
        elif what == "rename" and is_complete_name(os.path.basename(rest[2]), outcome.suffix):
            renamed = renamed or os.path.basename(rest[1]) not in usual.before
            if rest[0] in dirty:
                complaints.append(f"unsynced: {rest[2]} got its name before its bytes were on the disk")
    if renamed and outcome.status == 0:
        complaints.append("unsynced: the last name was not forced to the disk, and the status is 0")


def judge_recovered(outcome, complaints):
    """Check that a recovery forces each file to the disk before its complete name: who wrote it has not."""
    synced = set()
    for what, *rest in outcome.trace:
        if what == "sync":
            synced.add(rest[0])
        elif what == "rename" and is_complete_name(os.path.basename(rest[2]), outcome.suffix) and rest[0] not in synced:
            complaints.append(f"unsynced: {rest[2]} got its name before its bytes were on the disk")


def judge_leaks(outcome, usual, complaints):
    leaks = collections.Counter(rest[0] for what, *rest in outcome.trace if what == "leak")
    for offset, n in leaks.items():
        if n > usual.leaks[offset] and outcome.status != 2:
            complaints.append(f"leak: {n - usual.leaks[offset]} pieces of memory from {usual.place(offset)}")
    for what, *rest in outcome.trace:
        if what == "open" and rest[0].startswith(outcome.cwd + "/") and outcome.status != 2:
            complaints.append(f"leak: {os.path.basename(rest[0])} is still open")


def recover(tapline, path):
    if any(is_left(name) for name in os.listdir(path)):
        subprocess.run([tapline, "recover", path, "--json"], capture_output=True, check=False, timeout=60)


def count_gone(outcome):
    """Return the number of complete files that have lost their names."""
    gone = set()
    for what, *rest in outcome.trace:
        if what == "remove" and is_complete_name(rest[0], outcome.suffix):
            gone.add(rest[0])
        elif what == "rename":
            if is_complete_name(rest[1], outcome.suffix) and rest[2].startswith("."):
                gone.add(rest[1])
            gone.discard(rest[2])
    return len(gone)


def judge_ledger(outcome, report, complete, found, complaints):
    """Check the counts. complete: frames of files with complete names; found: plus those that recover found in the others. Data
    not confirmed by the disk does not count as written, but may be there."""
    capture = report["captures"][0]
    if not report["ledger_ok"]:
        complaints.append("ledger: an identity is broken")
    written = capture["written_pkts"]
    recycled = set() if outcome.held else outcome.stashed.of_this_run()
    least, most = len(complete.of_this_run() | recycled), len(found.of_this_run() | recycled)
    if most < written:
        complaints.append(f"lost: {written} frames are said to be written, {most} can be read")
    elif least > written:
        complaints.append(f"uncounted: {written} frames are said to be written, {least} can be read")
    if report["lossless"] and capture["drop_disk_pkts"] + capture["drop_ring_pkts"] > 0:
        complaints.append("ledger: lossless though frames were dropped")
    if outcome.status == 0 and capture["error"]:
        complaints.append("status: 0 though there is an error")
    if capture["recycled_files"] != count_gone(outcome):
        complaints.append(f"ring: {capture['recycled_files']} files recycled by the ledger, {count_gone(outcome)} are gone")
    for name in capture["files"]:
        if name not in outcome.names and written:
            complaints.append(f"files: {name} is listed and not there")


def missing_keys(usual, report, path=""):
    """Return missing keys of the faultless run's report; for lists those of the first entry. Another outcome has other keys."""
    if isinstance(usual, list) and isinstance(report, list) and usual and report:
        yield from missing_keys(usual[0], report[0], path + "[0]")
    elif isinstance(usual, dict) and isinstance(report, dict) and report.get("outcome") == usual.get("outcome"):
        for key, value in usual.items():
            if key not in report:
                yield f"{path}.{key}"
            else:
                yield from missing_keys(value, report[key], f"{path}.{key}")


def judge_whole(report, usual, complaints):
    missing = list(missing_keys(usual.report, report)) if report is not None else []
    if missing:
        complaints.append(f"output: the JSON lacks {' '.join(missing)}")


def judge_content(count, complaints):
    if max(count.seen.values(), default=1) > 1 or count.strange:
        complaints.append(f"content: {count.strange} frames are not as they were, some are there twice")


def judge_earlier(outcome, usual, count, complaints):
    """Check that frames of earlier runs are in the files, or in those that the ring removed."""
    gone = usual.earlier - len(count.of_before() | outcome.stashed.of_before())
    if gone > 0:
        complaints.append(f"earlier files: {gone} of their {usual.earlier} frames are gone")


def judge_capture(scenario, outcome, usual, tapline):
    complaints = []
    if not judge_ending(outcome, complaints):
        return complaints
    report = load_json(outcome, complaints)
    judge_whole(report, usual, complaints)
    left = [name for name in outcome.names if is_left(name) and name not in usual.before]
    if outcome.status == 0 and any(name not in outcome.log for name in left):
        complaints.append(f"left: {' '.join(left)} though the status is 0")
    limited = [name for name in outcome.names_complete() if f"{name}: cannot be opened" not in outcome.log]
    if scenario.keep_files and outcome.once and len(limited) > scenario.keep_files:
        complaints.append(f"ring: {len(limited)} files are kept, not {scenario.keep_files}")
    if scenario.synced:
        judge_published(outcome, usual, complaints)
    judge_leaks(outcome, usual, complaints)
    complete, found, mended = Count(), Count(), []
    if scenario.publishes or outcome.status == 0:
        read_complete(outcome.cwd, outcome.suffix, complete, complaints)
    else:  # it never has a complete name
        subprocess.run([tapline, "recover", "r.pcapng"], cwd=outcome.cwd, capture_output=True, check=False)
    recover(tapline, outcome.cwd)
    if not scenario.publishes and outcome.status != 0 and outcome.size("r.pcapng") == 0:
        os.unlink(os.path.join(outcome.cwd, "r.pcapng"))  # begun and empty
    read_complete(outcome.cwd, outcome.suffix, found, mended)
    complaints += [text for text in mended if text not in complaints and outcome.status != 2]
    if report is not None:
        try:
            judge_ledger(outcome, report, complete, found, complaints)
        except (KeyError, IndexError, TypeError):
            complaints.append("output: the JSON lacks a part")
    judge_content(found, complaints)
    judge_earlier(outcome, usual, found, complaints)
    return complaints


def was_killed(outcome):
    return any(what == "fault" and rest[1] == str(errnos.KILLED) for what, *rest in outcome.trace)


def await_locks(path):
    """Wait until the kernel has processed the writes of a killed program, and released its locks."""
    for name in os.listdir(path):
        if is_left(name):
            with open(os.path.join(path, name), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)


def judge_killed(scenario, outcome, usual, tapline):
    """Check the files of a killed program: complete names before, and no others after `tapline recover`."""
    complaints, count, suffix = [], Count(), outcome.suffix
    path = "." if scenario.publishes or scenario.kind == "recover" else "r.pcapng"
    if path == ".":
        read_complete(outcome.cwd, suffix, Count(), complaints)
    elif not outcome.size(path):  # not created, or not begun
        return complaints
    await_locks(outcome.cwd)
    done = subprocess.run([tapline, "recover", path, "--json"], cwd=outcome.cwd, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        complaints.append(f"recover: status {done.returncode}: {done.stderr} {done.stdout}")
    names = os.listdir(outcome.cwd)
    strange = [name for name in names if not is_complete_name(name.removesuffix(".tlx"), suffix) and not name.startswith("c.sock")]
    if strange:
        complaints.append(f"left: {' '.join(strange)}")
    read_complete(outcome.cwd, suffix, count, complaints)
    judge_content(count, complaints)
    judge_earlier(outcome, usual, count, complaints)
    return complaints


def errors_of(outcome):
    return {line for line in outcome.log.splitlines() if "error: " in line}


def judge_damaged(outcome, report, usual, complaints):
    """Check an extraction from a damaged file: the damage is an error, and no other frame is missing without a message."""
    if outcome.status == 0:
        complaints.append("status: 0 though the file is damaged")
    count, path = Count(), os.path.join(outcome.cwd, "out.pcapng")
    try:
        count.add(reader.read(path, closed=False) if outcome.size("out.pcapng") else [])
    except reader.Broken as error:
        if not errors_of(outcome) - usual.errors:
            complaints.append(f"output: {error}")
        return
    judge_content(count, complaints)
    if errors_of(outcome) <= usual.errors and len(count.of_before()) != usual.earlier:
        complaints.append(f"extract: {len(count.of_before())} of {usual.earlier} readable frames, and no message about the others")
    if report is not None and "cannot write" not in outcome.log and report["records_matched"] != len(count.of_before()):
        complaints.append(f"output: {report['records_matched']} packets by the report, {len(count.of_before())} can be read")


def judge_other(scenario, outcome, usual, tapline):
    """Check recover, extract, reindex: existing data stays, and reported work is done."""
    complaints = []
    if not judge_ending(outcome, complaints):
        return complaints
    report = load_json(outcome, complaints)
    judge_whole(report, usual, complaints)
    judge_leaks(outcome, usual, complaints)
    if scenario.damaged or scenario.headless:
        judge_damaged(outcome, report, usual, complaints)
        return complaints
    if scenario.kind == "recover":
        judge_recovered(outcome, complaints)
        busy = report is not None and report.get("busy", 0) > 0
        if outcome.status == 0 and not busy and any(is_left(name) for name in os.listdir(outcome.cwd)):
            complaints.append("left: a file is not recovered though the status is 0")
        read_complete(outcome.cwd, outcome.suffix, Count(), complaints)
        recover(tapline, outcome.cwd)
    count = Count()
    out = os.path.join(outcome.cwd, "out.pcapng")
    if scenario.kind == "extract" and outcome.status == 0:
        count.add(reader.read(out, closed=False))
        if len(count.of_before()) != usual.earlier:
            complaints.append(f"extract: {len(count.of_before())} of {usual.earlier} frames, and status 0")
    if os.path.exists(out):
        os.unlink(out)
    count = Count()
    read_complete(outcome.cwd, outcome.suffix, count, complaints)
    if len(count.of_before()) != usual.earlier:
        complaints.append(f"earlier files: {len(count.of_before())} frames of {usual.earlier}")
    judge_index(outcome, usual, tapline, complaints)
    return complaints


def judge_index(outcome, usual, tapline, complaints):
    """Check that the same number of packets is found through the existing indexes."""
    done = subprocess.run([tapline, "extract", ".", "-w", "judge.out", "--json", "udp"], cwd=outcome.cwd, capture_output=True,
                          check=False)
    count = Count()
    if done.returncode == 0:
        count.add(reader.read(os.path.join(outcome.cwd, "judge.out"), closed=False))
    if len(count.of_before()) != usual.earlier:
        complaints.append(f"index: extract finds {len(count.of_before())} of {usual.earlier} frames through the indexes")


def judge_report(scenario, outcome, usual):
    """Check a command that only reads recordings: the usual status means the usual results, and a ledger holds in any case."""
    complaints = []
    if not judge_ending(outcome, complaints):
        return complaints
    report = load_json(outcome, complaints)
    judge_whole(report, usual, complaints)
    judge_leaks(outcome, usual, complaints)
    if report is None:
        return complaints
    if not report.get("ledger_ok", True):
        complaints.append("ledger: an identity is broken")
    for name in scenario.results if outcome.status == scenario.status else ():
        if report.get(name) not in (usual.report[name], None):  # null: unknown
            complaints.append(f"result: {name} is {report.get(name)}, and the status {outcome.status}")
    count = Count()
    read_complete(outcome.cwd, outcome.suffix, count, complaints)
    if len(count.of_before()) != usual.earlier:
        complaints.append(f"recordings: {len(count.of_before())} frames of {usual.earlier}")
    return complaints


def judge(scenario, outcome, usual, tapline):
    if was_killed(outcome):
        return judge_killed(scenario, outcome, usual, tapline)
    if scenario.kind == "capture":
        return judge_capture(scenario, outcome, usual, tapline)
    if scenario.kind == "report":
        return judge_report(scenario, outcome, usual)
    return judge_other(scenario, outcome, usual, tapline)
