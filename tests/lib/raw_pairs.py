#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""raw_pairs.py make FILE: write a pcapng file of eight triggers and their replies, over interfaces of all kinds.
raw_pairs.py check FILE: read the CSV that `tapline latency` made of it, and print the differences from the construction."""

import csv
import struct
import sys

sys.dont_write_bytecode = True
import exchange  # noqa: E402

START_NS, HOW = exchange.START_NS, {"six": False, "vlan": False}
# name, stamp description in a Tapline recording, unit in ns
INTERFACES = [
    ("tap, \"left\"", "queue 0, timestamps: nic-rx (hardware), clock within 57 ns at start", 1),
    ("right", None, 1000),
    (None, "timestamps: file (in units of 1000 ns)", 1),
]
COLUMNS = ("packet_id,time_ns,latency_ns,ambiguous,reply_ns,trigger_packet,reply_packet,trigger_interface,reply_interface,"
           "trigger_source,reply_source,trigger_unit_ns,reply_unit_ns,trigger_start_bound_ns,reply_start_bound_ns,segments,retransmitted,"
           "version").split(",")
LEFT = ("tap, \"left\"", "nic-rx", "1", "57")
RIGHT = ("right", "file", "1000", "")
THIRD = ("2", "file", "1000", "")


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def block(kind, body):
    total = 12 + len(body)
    return struct.pack("<II", kind, total) + body + struct.pack("<I", total)


def interface(name, description, unit_ns):
    body = struct.pack("<HHI", 1, 0, 0) + (option(2, name.encode()) if name else b"")
    body += option(3, description.encode()) if description else b""
    return block(1, body + option(9, bytes([9 if unit_ns == 1 else 6])) + option(0, b""))


def packets():
    """Return (ns, interface, frame), in the order of time."""
    def reply(seq, data):
        return exchange.tcp(40000, 1 + seq, data, **HOW)

    def trigger(data):
        return exchange.udp(exchange.TRIGGER_PORT, data, **HOW)

    yield 0, 1, exchange.tcp(40000, 0, b"", 2, **HOW)
    yield 1000, 0, trigger(b"plain...")
    yield 6000, 1, reply(0, b"plain...")
    yield 10001, 0, trigger(b"split...")
    yield 12000, 1, reply(8, b"spl")
    yield 15000, 1, reply(11, b"it...")
    yield 20000, 0, trigger(b"twins...")
    yield 20001, 2, trigger(b"twins...")
    yield 22000, 1, reply(16, b"twins...")
    yield 23000, 1, reply(24, b"twins...")
    yield 30000, 0, trigger(b"again...")
    yield 31000, 1, reply(32, b"aga")
    yield 35000, 1, reply(32, b"again...")
    yield 40000, 0, trigger(b"filled..")
    yield 41000, 0, trigger(b"waited..")
    yield 42000, 1, reply(48, b"waited..")
    yield 48000, 1, reply(40, b"filled..")
    yield 50000, 1, reply(56, b"early...")
    yield 50007, 0, trigger(b"early...")


# For each pair: trigger_ns, reply_ns, packets, interfaces, segments, ambiguous, retransmitted.
PAIRS = [
    (1000, 6000, (2, 3), (LEFT, RIGHT), 1, 0, 0),
    (10001, 15000, (4, 6), (LEFT, RIGHT), 2, 0, 0),
    (20000, 22000, (7, 9), (LEFT, RIGHT), 1, 1, 0),
    (20001, 23000, (8, 10), (THIRD, RIGHT), 1, 0, 0),
    (30000, 35000, (11, 13), (LEFT, RIGHT), 2, 0, 1),
    (40000, 48000, (14, 17), (LEFT, RIGHT), 1, 0, 1),
    (41000, 42000, (15, 16), (LEFT, RIGHT), 1, 0, 0),
    (50007, 50000, (19, 18), (LEFT, RIGHT), 1, 0, 0),
]


def make(path):
    with open(path, "wb") as out:
        out.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        for described in INTERFACES:
            out.write(interface(*described))
        for ns, number, data in packets():
            ticks = (START_NS + ns) // INTERFACES[number][2]
            head = struct.pack("<IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
            out.write(block(6, head + data + bytes(-len(data) % 4)))


def expected():
    for number, (trigger_ns, reply_ns, where, (left, right), segments, ambiguous, again) in enumerate(PAIRS, 1):
        values = [number, START_NS + trigger_ns, reply_ns - trigger_ns, ambiguous, START_NS + reply_ns, *where]
        for trigger, reply in zip(left, right):
            values += [trigger, reply]
        yield [str(value) for value in (*values, segments, again, 1)]


def check(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    wanted = [COLUMNS, *expected()]
    for i in range(max(len(rows), len(wanted))):
        have, want = rows[i] if i < len(rows) else None, wanted[i] if i < len(wanted) else None
        if have != want:
            print(f"line {i + 1}: {have}\n    not: {want}")
    sys.exit(rows != wanted)


{"make": make, "check": check}[sys.argv[1]](sys.argv[2])
