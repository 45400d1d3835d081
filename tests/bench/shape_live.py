#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure rate and gaps of frames that `tapline replay --shape` sends, in real time.

usage: shape_live.py [SECONDS]

A class of a given rate, with a burst of 20 ms, gets frames of 1000 bytes, at 10 Gbit/s of 9000, at a higher rate, on a veth in a private
namespace; the kernel stamps what arrives. Prints one JSON object: for each rate that of all frames after the first second, and the errors of the gaps between two
frames against the rate: quantiles and a histogram. Exit status 1 if a rate is off by more than 1 %. Requires root and
build/app/tapline (TL_BUILD: another build).
"""

import bisect
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
TAPLINE = os.path.join(os.environ.get("TL_BUILD", os.path.join(ROOT, "build")), "app", "tapline")
RATES = {64000: 1000, 10**6: 1000, 10**7: 1000, 10**8: 1000, 10**9: 1000, 10**10: 9000}  # bit/s: bytes of a frame
FILE_PKTS = 10000
LIMIT, QUEUE = 0.01, 65536000  # bytes
SO_TIMESTAMPNS, SO_RCVBUFFORCE = 35, 33
STEPS_US = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]


def write_pcap(path, count, size):
    frame = bytes(12) + b"\x88\xb5" + bytes(size - 14)
    record = struct.pack("<IIII", 0, 0, size, size) + frame
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for _ in range(count):
            file.write(record)


def receiver():
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
    out.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 30)
    out.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    out.bind(("h1", 0))
    out.setblocking(False)
    return out


def read_stamps(source):
    """Return the kernel's stamps of the waiting frames."""
    stamps = []
    while True:
        try:
            seconds, ns = struct.unpack("qq", source.recvmsg(16, 64)[1][0][2])
        except BlockingIOError:
            return stamps
        stamps.append(seconds * 10**9 + ns)


def replay(rate, size, seconds):
    """Return the stamps of the frames sent at a rate."""
    source, stamps, frame_rate = receiver(), [], rate / 8 / size
    limit = QUEUE // size
    offered = frame_rate + min(frame_rate, limit / (seconds + 2))  # the excess fits into the queue
    burst = max(4 * size, rate // 8 // 50)
    count = int(frame_rate * (seconds + 1)) + 1
    loops = -(-count // FILE_PKTS)
    with tempfile.TemporaryDirectory() as folder:
        pcap, shape = os.path.join(folder, "in.pcap"), os.path.join(folder, "shape.json")
        write_pcap(pcap, -(-count // loops), size)
        with open(shape, "w", encoding="utf-8") as file:
            json.dump({"name": "wire", "rate": rate, "burst": burst, "classes": [
                {"name": "all", "rate": rate, "burst": burst, "cburst": burst, "limit": limit, "default": True}]}, file)
        run = subprocess.Popen([TAPLINE, "replay", pcap, "-i", "h0", "--rate", f"{offered:.2f}pps", "--loops", str(loops),
                                "--shape", shape, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        while run.poll() is None:
            stamps += read_stamps(source)
            time.sleep(0.001)
        stamps += read_stamps(source)
        report = json.loads(run.stdout.read())
    assert report["ledger_ok"] and report["sent_pkts"] == len(stamps), (report, len(stamps))
    return stamps


def measure(rate, size, seconds):
    for name in "h0", "h1":
        subprocess.run(["ip", "link", "set", name, "mtu", str(max(1500, size)), "up"], check=True)  # a burst holds a frame of the MTU
    stamps = replay(rate, size, seconds)
    steady = stamps[bisect.bisect(stamps, stamps[0] + 10**9):]
    gap_ns = size * 8 * 10**9 / rate
    errors_us = sorted(abs(b - a - gap_ns) / 1000 for a, b in zip(steady, steady[1:]))
    steps = [bisect.bisect(errors_us, step) for step in STEPS_US] + [len(errors_us)]
    return {"rate_bps": rate, "frame_bytes": size, "frames": len(steady), "ratio": round((len(steady) - 1) * gap_ns / (steady[-1] - steady[0]), 5),
            "gap_error_us": {f"p{p}": round(errors_us[min(len(errors_us) * p // 100, len(errors_us) - 1)], 1) for p in (50, 90, 99, 100)},
            "gap_errors": {name: b - a for name, a, b in zip([f"to {step} us" for step in STEPS_US] + ["above"], [0] + steps, steps)}}


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    if os.environ.get("TL_IN_NETNS") is None:
        os.execvpe("unshare", ["unshare", "-n", sys.executable, *sys.argv], os.environ | {"TL_IN_NETNS": "1"})
    subprocess.run(["ip", "link", "add", "h0", "type", "veth", "peer", "name", "h1"], check=True)
    results = [measure(rate, size, seconds) for rate, size in RATES.items()]
    print(json.dumps({"seconds": seconds, "rates": results}, indent=1))
    return 1 if any(abs(row["ratio"] - 1) > LIMIT for row in results) else 0


sys.exit(main())
