#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""List the slabs of a compressed recording by their HEADs: offset, bytes in the file, records."""
import struct
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
at = 0
while at < len(data):
    magic, length = struct.unpack_from("<II", data, at)
    if (magic, length) != (0x184D2A54, 80):
        at += 4096
        continue
    (records,) = struct.unpack_from("<I", data, at + 8 + 40)
    (unit_bytes,) = struct.unpack_from("<I", data, at + 8 + 64 + 4)
    print(at, unit_bytes, records)
    at += unit_bytes
