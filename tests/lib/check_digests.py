#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_digests.py FILE: recompute the digests of a recording with Python's libraries, as defined in docs/recording.md: print
the offset and the length of each unit, or fail."""

import hashlib
import struct
import sys

TABLE = []
for index in range(256):
    crc = index
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    TABLE.append(crc)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return struct.pack("<I28x", crc ^ 0xFFFFFFFF)


KINDS = {b"TAPSLABC": (1, crc32c), b"TAPSLABS": (2, lambda data: hashlib.sha256(data).digest())}


def blocks(data, at, end):
    while at < end:
        kind, total = struct.unpack_from("<II", data, at)
        yield at, kind, total
        at += total


def padded(used):
    gap = -used % 4096
    return used + gap + (4096 if 0 < gap < 12 else 0)


def units(data):
    """Yield the offsets of each unit: its HEAD, the end of the used bytes, and the PAD behind them."""
    at, head = 0, next(at for at, kind, _ in blocks(data, 0, len(data)) if kind == 0x80000002)
    while at < len(data):
        used = head + 64 if at == 0 else at + struct.unpack_from("<I", data, head + 36)[0]
        yield at, head, used, padded(used)
        at = head = padded(used)


def main(path):
    data = open(path, "rb").read()
    chain, count, closed = bytes(32), 0, None
    for at, head, used, end in units(data):
        kind, digest_of = KINDS[data[head + 8 : head + 16]]
        digest = digest_of(struct.pack("<Q", at) + data[at : head + 52] + data[head + 60 : used])
        assert data[head + 52 : head + 60] == digest[:8], f"unit at {at}"
        for block, number, _ in blocks(data, at, used):
            if number == 0x80000003:
                closed = struct.unpack_from("<IIIIQQ32sI", data, block)
                assert closed == (0x80000003, 68, kind, 0, count, at, chain, 68), "chain"
        chain, count = digest_of(chain + digest), count + 1
        print(at, end)
    assert closed is not None, "no chain"


main(sys.argv[1])
