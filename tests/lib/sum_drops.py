#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sum_drops.py FILE: print the sum of epb_dropcount over the records of a pcapng file, little endian."""

import mmap
import struct
import sys

EPB, OPT_END, EPB_DROPCOUNT = 6, 0, 4


def options(data, at, end):
    while at + 4 <= end:
        code, length = struct.unpack_from("<HH", data, at)
        if code == OPT_END:
            return
        yield code, data[at + 4:at + 4 + length]
        at += 4 + (length + 3 & ~3)


def drops(data):
    at = 0
    while at < len(data):
        kind, total = struct.unpack_from("<II", data, at)
        if kind == EPB:
            stored = struct.unpack_from("<I", data, at + 20)[0] + 3 & ~3
            for code, value in options(data, at + 28 + stored, at + total - 4):
                if code == EPB_DROPCOUNT:
                    yield struct.unpack("<Q", value)[0]
        at += total


with open(sys.argv[1], "rb") as file:
    print(sum(drops(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))))
