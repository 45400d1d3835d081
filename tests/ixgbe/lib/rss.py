#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compute receive side scaling, independently of any driver.

  rss.py frames FILE N               write a classic pcap file of N conversations, one frame each: UDP and TCP over IPv4 and IPv6
  rss.py queues FILE QUEUES [WHAT]   print the number of its frames per queue, as a JSON list: by Microsoft's Toeplitz
                                     hash with the 82599 driver's key, and a table whose entry i is i modulo QUEUES
  rss.py back FILE OUT               write its frames with both ends exchanged: the reverse directions of its conversations
  rss.py wrap FILE OUT SEED          write each of its frames in VXLAN (RFC 7348), between two tunnel end points, from ports by SEED
  rss.py torn FILE                   count conversations of a pcapng recording, and those with frames on several interfaces
                                     (queues), as a JSON list
  rss.py pick FILE QUEUES QUEUE OUT  write its frames that belong to the queue to another file
"""

import json
import struct
import sys

# key of Microsoft's verification suite, also in DPDK's ixgbe driver (rss_intel_key in ixgbe_rxtx.c, DPDK 22.11.11)
KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
ENTRIES = 128


def toeplitz(data):
    key, result = int.from_bytes(KEY, "big"), 0
    for i in range(len(data) * 8):
        if data[i // 8] >> (7 - i % 8) & 1:
            result ^= key >> (len(KEY) * 8 - 32 - i) & 0xFFFFFFFF
    return result


def frame(i):
    tcp, six = i % 2 == 0, i // 2 % 2 == 1
    l4 = struct.pack(">HH", 1024 + i * 7919 % 60000, 5000 + i % 13)
    l4 += struct.pack(">IIBBHHH", 0, 0, 0x50, 0x10, 8192, 0, 0) if tcp else struct.pack(">HH", 20, 0) + bytes(12)
    proto = 6 if tcp else 17
    if six:
        net = bytes.fromhex("20010db8") + bytes(10)
        head = struct.pack(">IHBB", 6 << 28, len(l4), proto, 64) + net + struct.pack(">H", i) + net + b"\0\1"
    else:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(l4), 0, 0, 64, proto, 0) + bytes((10, 1, i // 256, i % 256)) + b"\x0a\2\0\1"
    return bytes.fromhex("021b21000001020000000002") + (b"\x86\xdd" if six else b"\x08\x00") + head + l4


def write(path, count):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i in range(count):
            data = frame(i).ljust(60, b"\0")
            file.write(struct.pack("<IIII", 0, i, len(data), len(data)) + data)


def tuple_of(data):
    if data[12:14] == b"\x08\x00" and data[23] == 17 and data[36:38] == b"\x12\xb5":
        return tuple_of(data[50:])  # of the frame in VXLAN
    if data[12:14] == b"\x08\x00":
        return data[26:34] + data[34:38]
    return data[22:54] + data[54:58]


def queue_of(data, count):
    return toeplitz(tuple_of(data)) % ENTRIES % count


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 24
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at:at + 16 + length]
        at += 16 + length


def queues(path, count):
    found = [0] * count
    for record in records(path):
        found[queue_of(record[16:], count)] += 1
    print(json.dumps(found, separators=(",", ":")))


def wrapped(record, i, seed):
    inner = record[16:]
    udp = struct.pack(">HHHH", 0xC000 | (i * 7919 + seed * 104729) % 0x4000, 4789, 16 + len(inner), 0)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 36 + len(inner), 0, 0, 64, 17, 0) + b"\x0a\3\0\1\x0a\3\0\2"
    data = bytes.fromhex("021b210000010200000000020800") + head + udp + bytes.fromhex("0800000000002a00") + inner
    return record[:8] + struct.pack("<II", len(data), len(data)) + data


def wrap(path, out, seed):
    with open(path, "rb") as file:
        head = file.read(24)
    with open(out, "wb") as file:
        file.write(head + b"".join(wrapped(r, i, seed) for i, r in enumerate(records(path))))


def torn(path):
    with open(path, "rb") as file:
        data = file.read()
    at, seen = 0, {}
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:  # an enhanced packet block: interface, time, captured length, length, frame
            interface, length = struct.unpack_from("<I8xI", data, at + 8)
            ends = tuple_of(data[at + 28:at + 28 + length])
            half = (len(ends) - 4) // 2
            pair = sorted((ends[:half] + ends[-4:-2], ends[half:-4] + ends[-2:]))
            seen.setdefault(tuple(pair), set()).add(interface)
        at += size
    print(json.dumps([len(seen), sum(len(found) > 1 for found in seen.values())], separators=(",", ":")))


def pick(path, count, queue, out):
    with open(path, "rb") as file:
        head = file.read(24)
    with open(out, "wb") as file:
        file.write(head + b"".join(r for r in records(path) if queue_of(r[16:], count) == queue))


def exchanged(record):
    data, size = record[16:], 4 if record[28:30] == b"\x08\x00" else 16
    at = 26 if size == 4 else 22
    ends = at + 2 * size
    return record[:16 + at] + data[at + size:ends] + data[at:at + size] + data[ends + 2:ends + 4] + data[ends:ends + 2] + data[ends + 4:]


def back(path, out):
    with open(path, "rb") as file:
        head = file.read(24)
    with open(out, "wb") as file:
        file.write(head + b"".join(exchanged(r) for r in records(path)))


if sys.argv[1] == "torn":
    torn(sys.argv[2])
elif sys.argv[1] == "wrap":
    wrap(sys.argv[2], sys.argv[3], int(sys.argv[4]))
elif sys.argv[1] == "back":
    back(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "frames":
    write(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "pick":
    pick(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
else:
    queues(sys.argv[2], int(sys.argv[3]))
