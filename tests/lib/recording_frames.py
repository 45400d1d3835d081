# SPDX-License-Identifier: BSD-3-Clause
"""Frames whose bytes are a function of their number, so that a reader can identify each and detect changes."""

import functools
import hashlib
import struct

EARLIER = 1 << 24  # frames with such numbers were recorded by an earlier run
NUMBER_AT = 42  # offset in a frame, behind Ethernet, IPv4 and UDP


@functools.lru_cache(maxsize=50000)
def frame(number, size):
    """Return a unique frame, whose bytes are a function of its number."""
    head = bytes.fromhex("020000000002020000000001") + b"\x08\x00" + struct.pack(
        ">BBHHHBBH4s4sHHHH", 0x45, 0, size - 14, number & 0xFFFF, 0, 64, 17, 0, bytes([192, 0, 2, 1]),
        bytes([192, 0, 2, 2]), 4000, 5001, size - 34, 0)
    body = hashlib.shake_128(struct.pack(">I", number)).digest(size - NUMBER_AT - 4)
    return head + struct.pack(">I", number) + body


def number_of(data):
    """Return the number of a frame; None: foreign, or changed."""
    if len(data) < NUMBER_AT + 4:
        return None
    number = struct.unpack_from(">I", data, NUMBER_AT)[0]
    return number if data == frame(number, len(data)) else None


def make_input(path, count, size, first=0):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for i in range(first, first + count):
            ns = i * 1000003
            out.write(struct.pack("<IIII", 1700000000 + ns // 10**9, ns % 10**9, size, size) + frame(i, size))
