#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""list_records.py FILE [FROM_NS TO_NS]: print one line for each packet block of a little-endian pcapng file: its interface's
description block, and the rest of the record, as digests; with times only the blocks in between.
list_records.py --bytes FILE FROM_NS TO_NS: print the total length of these blocks."""

import hashlib
import struct
import sys


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def records(data):
    at, interfaces = 0, []
    while at + 12 <= len(data):
        kind, total = struct.unpack_from("<II", data, at)
        if kind == 0x0A0D0D0A:
            interfaces = []
        elif kind == 1:
            interfaces.append(data[at:at + total])
        elif kind == 6:
            interface, high, low = struct.unpack_from("<III", data, at + 8)
            yield high << 32 | low, total, interfaces[interface], data[at + 12:at + total - 4]
        at += total


def main(args):
    sizes = args[0] == "--bytes"
    args = args[sizes:]
    with open(args[0], "rb") as file:
        data = file.read()
    start, end = map(int, args[1:3]) if len(args) > 1 else (0, 1 << 64)
    total = 0
    for ts_ns, size, interface, body in records(data):
        if start <= ts_ns < end:
            total += size
            if not sizes:
                print(ts_ns, digest(interface), digest(body))
    if sizes:
        print(total)


main(sys.argv[1:])
