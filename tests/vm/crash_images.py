#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""crash_images.py [options] DISK LOG TAIL: build the disks that losses of power could have left from a disk and the
log of its writes (crash_log.py), and check each: the file system is consistent except for its journal, `tapline
recover` leaves no incomplete file, a file that was complete keeps its name and bytes, and no file has a frame of its
earlier contents. Print "ok - " or "not ok - " for each check."""

import argparse
import collections
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import recording_reader as reader
from recording_frames import number_of

from crash_log import Disk, Log

FILE_FRAMES = 600  # more than a file holds

PROMISES = {
    "fsck": "the file system needs nothing but its journal",
    "name": "a name that says complete is over a file that is, before anything is recovered",
    "kept": "a file that was complete has the same name and bytes",
    "recover": "recover makes every file that was left a whole one",
    "whole": "after that an independent reader finds every file whole",
    "life": "no file has frames of what it held before",
}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


class Required:
    """Return the files that must exist after a loss of power before an entry: those in the last mark before it that
    the next mark still has."""

    def __init__(self, marks):
        self.rows = [(at, {name: total for name, total in files.items() if name in after})
                     for (at, files), (_, after) in zip(marks, marks[1:])]

    def at(self, end):
        rows = [files for at, files in self.rows if at <= end]
        following = [files for at, files in self.rows if at > end][:1]
        last = rows[-1] if rows else {}
        return {name: total for name, total in last.items() if not following or name in following[0]}


def numbers(path):
    return [number_of(data) for data in reader.read(path)]


def check_files(directory, promise, complaints):
    """Return name -> frame numbers of all files with a complete name."""
    found = {}
    for name in sorted(os.listdir(directory)):
        if not name.endswith(".pcapng") or name.startswith("."):
            continue
        try:
            found[name] = numbers(os.path.join(directory, name))
        except reader.Broken as error:
            complaints.append((promise, f"{name}: {error}"))
            continue
        if None in found[name]:
            complaints.append((promise, f"{name}: {found[name].count(None)} frames are not as they were"))
    return found


def check_lives(found, complaints):
    """Check that frames of a file are in order and near each other: those of its earlier contents are older by the
    length of the ring."""
    seen = {}
    for name, frames in found.items():
        for number, following in zip(frames, frames[1:]):
            if None not in (number, following) and not number < following:
                complaints.append(("life", f"{name}: frame {following} behind frame {number}"))
        known = [number for number in frames if number is not None]
        if known and known[-1] - known[0] > FILE_FRAMES:
            complaints.append(("life", f"{name}: has frames {known[0]} to {known[-1]}"))
        twice = [number for number in known if seen.setdefault(number, name) != name]
        if twice:
            complaints.append(("life", f"{name}: {len(twice)} of its frames are in {seen[twice[0]]} too"))


def check_required(directory, required, complaints):
    for name, total in required.items():
        path = os.path.join(directory, name)
        if not os.path.exists(path):
            complaints.append(("kept", f"{name} is not there"))
        else:
            with open(path, "rb") as file:
                if hashlib.sha1(file.read()).hexdigest() != total:
                    complaints.append(("kept", f"{name} is another"))


def is_blank(path):
    """Check for a file that recover leaves alone, because no block in it identifies its recording."""
    with open(path, "rb") as file:
        return not file.read().strip(b"\0")


class Judge:
    def __init__(self, tapline, scratch):
        self.tapline, self.scratch = tapline, scratch

    def check_disk(self, image, complaints):
        """Check the file system: the first pass replays the journal; the second must find no error."""
        first = run("e2fsck", "-p", "-E", "journal_only", image)
        second = run("e2fsck", "-fn", image)
        if first.returncode > 1 or second.returncode != 0:
            complaints.append(("fsck", f"{first.returncode}, {second.returncode}: {first.stderr}{second.stdout[-400:]}"))
            run("e2fsck", "-fy", image)

    def judge(self, image, required):
        complaints = []
        directory = os.path.join(self.scratch, "files")
        shutil.rmtree(directory, ignore_errors=True)
        os.mkdir(directory)
        self.check_disk(image, complaints)
        run("debugfs", "-R", f"rdump / {directory}", image)
        check_files(directory, "name", complaints)
        done = run(self.tapline, "recover", directory, "--json")
        report = json.loads(done.stdout or "{}")
        if done.returncode != 0 or report.get("failed", 1) != 0:
            complaints.append(("recover", f"status {done.returncode}: {done.stdout[-600:]} {done.stderr[-300:]}"))
        left = [name for name in os.listdir(directory)
                if name.endswith((".part", ".next")) and not is_blank(os.path.join(directory, name))]
        if left:
            complaints.append(("recover", f"{' '.join(left)}: still there"))
        check_lives(check_files(directory, "whole", complaints), complaints)
        check_required(directory, required, complaints)
        return complaints, len(required)


def crash_points(log, count, rng):
    """Choose any entry, or as often one between two flushes, where most data is unconfirmed."""
    flushes = [i for i, entry in enumerate(log.entries) if entry.flags & 1]
    points = [rng.randrange(len(log.entries)) for _ in range(count - count // 2)]
    points += [max(0, rng.choice(flushes) - rng.randrange(2)) for _ in range(count // 2)]
    return sorted(points)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("disk")
    parser.add_argument("log")
    parser.add_argument("tail", type=int)
    parser.add_argument("--tapline", required=True)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--name", default="vm", help="for the lines of results")
    parser.add_argument("--keep", help="keep the first image that breaks a promise under this name")
    args = parser.parse_args()
    log = Log(args.log, args.tail)
    required = Required(log.marks)
    rng = random.Random(args.seed)
    broken, held, kept = collections.defaultdict(list), 0, 0
    with tempfile.TemporaryDirectory(prefix="tapline-crash-") as scratch:
        base, image = os.path.join(scratch, "base"), os.path.join(scratch, "image")
        shutil.copyfile(args.disk, base)
        disk, judge = Disk(log, base), Judge(args.tapline, scratch)
        for end in crash_points(log, args.images, rng):
            what = disk.crash(end, rng, image)
            complaints, n = judge.judge(image, required.at(end))
            held += n
            for promise, text in complaints:
                broken[promise].append(f"{what}: {text}")
            if complaints and args.keep and not kept:
                kept = 1
                disk.crash(end, rng, args.keep)
    for promise, sentence in PROMISES.items():
        print(f"{'not ok' if broken[promise] else 'ok'} - {args.name}: {sentence}, in {args.images} images")
        for text in broken[promise][:5]:
            print(f"#   {text}")
        if len(broken[promise]) > 5:
            print(f"#   and {len(broken[promise]) - 5} more")
    again = log.files_written_again()
    print(f"{'ok' if again else 'not ok'} - {args.name}: the ring wrote its files again")
    flushes = sum(1 for entry in log.entries if entry.flags & 1)
    print(f"# {again} files were written again; {len(log.entries)} entries, {flushes} flushes, {len(log.marks)} marks; {held} times a complete file was looked for")
    return 1 if any(broken.values()) or not again else 0


if __name__ == "__main__":
    sys.exit(main())
