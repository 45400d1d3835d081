#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_recovered.py COUNT RECORDS WRITTEN REPORT FILE...: check the files of a ring after a crash and `tapline recover`. The
frames come from make_numbered.py, sent in a loop. Every file consists of complete blocks. Within a slab, and from a slab
to the next, numbers are consecutive, except for drops counted in epb_dropcount. The gaps of the slabs' sequence are
those in REPORT, recover's JSON. The slabs hold at least WRITTEN records, including those dropped from the ring before
the first; a slab has at most RECORDS. Print one line of figures, or the errors with exit status 1."""

import json
import struct
import sys

SHB, IDB, ISB, EPB, PAD, HEAD = 0x0A0D0D0A, 1, 5, 6, 0x80000001, 0x80000002


def blocks(data, name):
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length < 12 or length % 4 or at + length > len(data):
            sys.exit(f"{name}: no block at {at}")
        if struct.unpack_from("<I", data, at + length - 4)[0] != length:
            sys.exit(f"{name}: the lengths of the block at {at} differ")
        yield at, kind, length
        at += length


def dropped(data, at, length):
    """Return epb_dropcount of the record."""
    captured = struct.unpack_from("<I", data, at + 20)[0]
    option = at + 28 + (captured + 3) // 4 * 4
    while option < at + length - 8:
        code, size = struct.unpack_from("<HH", data, option)
        if code == 4:
            return struct.unpack_from("<Q", data, option + 4)[0]
        if code == 0:
            break
        option += 4 + (size + 3) // 4 * 4
    return 0


def read(name):
    """Return the slabs of a file: sequence -> (first number, its drops, next number, records)."""
    with open(name, "rb") as file:
        data = file.read()
    slabs, files, sequence, statistics, interfaces = {}, set(), None, set(), 0
    for at, kind, length in blocks(data, name):
        if kind == HEAD:
            sequence, _, _, records, file = struct.unpack_from("<QIIIQ", data, at + 24)
            files.add(file)
            if records:
                slabs[sequence] = [None, 0, None, records]
        elif kind == EPB:
            statistics.clear()
            slab, number = slabs[sequence], struct.unpack_from(">I", data, at + 28 + 42)[0]
            lost = dropped(data, at, length)
            if slab[0] is None:
                slab[0], slab[1] = number, lost
            elif number != (slab[2] + lost) % COUNT:
                sys.exit(f"{name}: frame {number} at {at}, not {(slab[2] + lost) % COUNT}")
            slab[2] = (number + 1) % COUNT
            slab[3] -= 1
        if kind == ISB:
            statistics.add(struct.unpack_from("<I", data, at + 8)[0])
        interfaces += kind == IDB
    if len(files) != 1:
        sys.exit(f"{name}: has slabs of {len(files)} files")
    if statistics != set(range(interfaces)) or interfaces == 0:
        sys.exit(f"{name}: statistics of interfaces {statistics}, not of all {interfaces}, behind the last packet")
    return slabs


def main(written, report, names):
    found, per_file, full = {}, {}, 1
    for name in names:
        per_file[name] = read(name)
        if found.keys() & per_file[name].keys():
            sys.exit(f"{name}: has slabs that another file has")
        found |= per_file[name]
    for sequence, (first, lost, _, missing) in found.items():
        if missing:
            sys.exit(f"slab {sequence}: {missing} records too few")
        before = found.get(sequence - 1)
        if before and first != (before[2] + lost) % COUNT:
            sys.exit(f"slab {sequence} begins with frame {first}, not {before[2]} + {lost}")
    said = {row.get("name", row["path"]): row for row in report["files"] if row["outcome"] == "recovered"}
    torn = 0
    for name, row in said.items():
        torn += row["slabs_torn"]
        slabs = per_file[name]
        gaps = {i for ring in row["rings"] for a, b in ring["missing"] for i in range(a, b + 1)}
        if slabs and gaps != set(range(min(slabs), max(slabs) + 1)) - slabs.keys():
            sys.exit(f"{name}: the missing slabs are not those that recover names")
    last = max(found, default=-1)
    oldest = min(found, default=0)
    held = oldest + len(found)  # slabs; those of dropped files were complete
    if held * RECORDS < written:
        sys.exit(f"{held} slabs of up to {RECORDS} records, but {written} were written")
    print(f"{len(names)} files, slabs {oldest}-{last}, {last + 1 - held} missing, {torn} torn, {written} written before")


COUNT, RECORDS = int(sys.argv[1]), int(sys.argv[2])
main(int(sys.argv[3]), json.load(open(sys.argv[4])), sys.argv[5:])
