#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare the class tree with the kernel's: the same trees and loads in tc-htb(8), on a veth in a private namespace.

usage: htb.py [SECONDS]

Prints one JSON object: bytes per class of the kernel, in real time (default 10 s), and of lib/shape/tree, on a
simulated clock; exit status 1 if a class differs by more than 2 %. Requires root, and build/tests/bench/bench_tree_run
(TL_BUILD: another build).
"""

import json
import os
import re
import socket
import subprocess
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
RUN = os.path.join(os.environ.get("TL_BUILD", os.path.join(ROOT, "build")), "tests", "bench", "bench_tree_run")
FRAME, QUANTUM, BURST = 1000, 3000, 30000
MBIT, ALWAYS = 10**6, 2**64 - 1
LIMIT = 0.02

# A tree: name, parent, rate, ceil, prio, demand, in Mbit/s; demand None: has children. Between classes with children that borrow
# from the same parent, the kernel does not share by quantum: its round robin advances among siblings of the leaf only
# (htb_dequeue_tree() in net/sched/sch_htb.c), so "A" is held by its ceil.
TREES = {
    "siblings": [
        ("root", None, 40, 40, 0, None), ("low", 0, 5, 40, 0, 8), ("capped", 0, 10, 15, 1, ALWAYS), ("rest", 0, 5, 40, 1, ALWAYS)],
    "weighted-rates": [
        ("root", None, 30, 30, 0, None), ("a", 0, 12, 30, 0, ALWAYS), ("b", 0, 6, 30, 0, ALWAYS), ("c", 0, 3, 30, 0, ALWAYS)],
    "four-levels": [
        ("root", None, 40, 40, 0, None), ("A", 0, 25, 27, 0, None), ("B", 0, 10, 40, 0, None),
        ("A1", 1, 15, 27, 0, None), ("A2", 1, 5, 8, 0, ALWAYS), ("B1", 2, 5, 40, 0, ALWAYS), ("B2", 2, 2, 40, 0, 4),
        ("A11", 3, 4, 27, 0, 6), ("A12", 3, 6, 27, 0, ALWAYS)],
}


def run(*words):
    subprocess.run([str(word) for word in words], check=True)


def set_up():
    run("ip", "link", "add", "h0", "type", "veth", "peer", "name", "h1")
    for name in "h0", "h1":
        run("ip", "link", "set", name, "mtu", 1500, "up")


def set_tree(tree):
    """Return the kernel's name of class i: 1:(i + 1) in hexadecimal."""
    subprocess.run(["tc", "qdisc", "del", "dev", "h0", "root"], check=False, stderr=subprocess.DEVNULL)
    run("tc", "qdisc", "add", "dev", "h0", "root", "handle", "1:", "htb")
    for i, (_, parent, rate, ceil, prio, _) in enumerate(tree):
        run("tc", "class", "add", "dev", "h0", "parent", "1:" if parent is None else f"1:{parent + 1:x}", "classid", f"1:{i + 1:x}",
            "htb", "rate", f"{rate}mbit", "ceil", f"{ceil}mbit", "prio", prio, "quantum", QUANTUM, "burst", BURST, "cburst", BURST)


class Sender:
    """Send frames of one class: those of its demand, or as many as the socket's buffer holds."""

    def __init__(self, index, demand):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 1 << 16 | index + 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 400000)
        self.socket.setblocking(False)
        self.socket.bind(("h0", 0))
        self.frame = bytes(12) + b"\x88\xb5" + bytes(FRAME - 14)
        self.rate, self.sent = demand * MBIT / 8 / FRAME if demand != ALWAYS else None, 0

    def send(self, elapsed_s):
        while self.rate is None or self.sent < self.rate * elapsed_s:
            try:
                self.socket.send(self.frame)
            except OSError:
                return
            self.sent += 1


def sent_bytes(n):
    text = subprocess.run(["tc", "-s", "class", "show", "dev", "h0"], check=True, capture_output=True, text=True).stdout
    sent = {int(minor, 16): int(count) for minor, count in re.findall(r"^class htb 1:(\w+) .*\n Sent (\d+) bytes", text, re.M)}
    return [sent[i + 1] for i in range(n)]


def kernel(tree, seconds):
    set_tree(tree)
    senders = [Sender(i, demand) for i, (*_, demand) in enumerate(tree) if demand is not None]
    begin, before = time.monotonic(), None
    while (now := time.monotonic() - begin) < seconds + 1:
        if before is None and now >= 1:
            before, from_s = sent_bytes(len(tree)), now
        for sender in senders:
            sender.send(now)
        time.sleep(0.001)
    after = sent_bytes(len(tree))
    elapsed_s = time.monotonic() - begin - from_s
    return [round((b - a) * seconds / elapsed_s) for a, b in zip(before, after)]


def simulated(tree, seconds):
    lines = [f"{parent or 0} {rate * MBIT} {ceil * MBIT} {prio} {QUANTUM} {BURST} {FRAME} "
             f"{0 if demand is None else demand if demand == ALWAYS else demand * MBIT}"
             for _, parent, rate, ceil, prio, demand in tree]
    result = subprocess.run([RUN, str(seconds)], input="\n".join(lines), check=True, capture_output=True, text=True)
    return [int(line) for line in result.stdout.split()]


def compare(tree, seconds):
    return [{"name": name, "kernel_bytes": theirs, "tree_bytes": ours, "ratio": round(ours / theirs, 4)}
            for (name, *_), theirs, ours in zip(tree, kernel(tree, seconds), simulated(tree, seconds))]


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    if os.environ.get("TL_IN_NETNS") is None:
        os.execvpe("unshare", ["unshare", "-n", sys.executable, *sys.argv], os.environ | {"TL_IN_NETNS": "1"})
    set_up()
    result = {name: compare(tree, seconds) for name, tree in TREES.items()}
    print(json.dumps(result, indent=1))
    return 1 if any(abs(row["ratio"] - 1) > LIMIT for rows in result.values() for row in rows) else 0


sys.exit(main())
