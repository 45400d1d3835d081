#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""count_heads.py FILE...: count the slabs in the incomplete files of a recording: their own, and those of earlier files that
they reuse. Print "OWN EARLIER"."""

import struct
import sys

HEAD = b"\2\0\0\x80\x40\0\0\0TAPSLAB1"


def count(path):
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:  # completed meanwhile
        return 0, 0
    first = data.find(HEAD, 0, 4096)  # behind the opening blocks
    if first < 0:
        return 0, 0
    heads = [struct.unpack_from("<IQ", data, at + 40) for at in range(4096, len(data) - 64, 4096)
             if data[at:at + len(HEAD)] == HEAD]
    own = struct.unpack_from("<Q", data, first + 44)[0]
    return sum(n > 0 and file == own for n, file in heads), sum(n > 0 and file != own for n, file in heads)


counts = [count(path) for path in sys.argv[1:]]
print(sum(own for own, _ in counts), sum(earlier for _, earlier in counts))
