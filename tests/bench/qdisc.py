#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare the class tree with the kernel's queueing disciplines: the same trees and frames.

usage: qdisc.py [--scale FACTOR] [--seconds N] [--only NAME] [--svg FILE]

The kernel's run on a veth in a private namespace, in real time; lib/shape/tree gets the frames at the times at which the kernel
got them, on a simulated clock. Prints one JSON object: for each class the bytes sent after the first second, the delays, and the
largest distance between both curves of bytes against time; --svg draws bytes and delays against time. Exit status 1 if bytes differ by more than 2 %.
A discipline that this kernel lacks is refused, with the message of tc. --scale multiplies all rates (1: at most 40 Mbit/s).
Requires root, and build/tests/bench/bench_tree_trace (TL_BUILD: another build).
"""

import argparse
import json
import os
import socket
import struct
import subprocess
import sys
import time

from qdisc_plot import draw

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
TRACE = os.path.join(os.environ.get("TL_BUILD", os.path.join(ROOT, "build")), "tests", "bench", "bench_tree_trace")
FRAME, QUANTUM, BURST, LIMIT_PKTS = 1000, 3000, 30000, 1000
SO_TIMESTAMPNS = 35
NS = 10**9
LIMIT = 0.02
STEP_NS = 10 * 10**6  # of the curves


class Class:
    """A class of the tree; load: frames in Mbit/s, or a list of (from s, to s, Mbit/s) and (at s, frames)."""

    def __init__(self, name, parent, rate, ceil, prio=0, load=None, burst=BURST, flows=0):
        self.name, self.parent, self.rate, self.ceil, self.prio = name, parent, rate, ceil, prio
        self.load, self.burst, self.flows = load, burst, flows


def tc(*words):
    subprocess.run(["tc", *map(str, words)], check=True, stderr=subprocess.PIPE, text=True)


def mbit(rate):
    return f"{round(rate * scale * 1e6)}bit"


def htb_class(parent, minor, c):
    tc("class", "add", "dev", "h0", "parent", parent, "classid", f"1:{minor:x}", "htb", "rate", mbit(c.rate), "ceil", mbit(c.ceil),
       "prio", c.prio, "quantum", QUANTUM, "burst", c.burst, "cburst", c.burst)


def set_tbf(tree):
    tc("qdisc", "add", "dev", "h0", "root", "tbf", "rate", mbit(tree[0].rate), "burst", tree[0].burst, "limit", LIMIT_PKTS * FRAME)


def set_htb(tree):
    tc("qdisc", "add", "dev", "h0", "root", "handle", "1:", "htb")
    for i, c in enumerate(tree):
        htb_class("1:" if c.parent is None else f"1:{c.parent + 1:x}", i + 1, c)
        if c.load:
            tc("qdisc", "add", "dev", "h0", "parent", f"1:{i + 1:x}", "pfifo", "limit", LIMIT_PKTS)


def set_below_htb(tree, *words):
    """Set a discipline below one class with the rate of the root."""
    tc("qdisc", "add", "dev", "h0", "root", "handle", "1:", "htb", "default", 1)
    htb_class("1:", 1, tree[0])
    tc("qdisc", "add", "dev", "h0", "parent", "1:1", "handle", "10:", *words)


def set_prio(tree):
    set_below_htb(tree, "prio", "bands", len(tree) - 1)
    for i in range(1, len(tree)):
        tc("qdisc", "add", "dev", "h0", "parent", f"10:{i}", "pfifo", "limit", LIMIT_PKTS)


def set_fq(tree):
    set_below_htb(tree, "fq", "limit", 100 * LIMIT_PKTS, "flow_limit", LIMIT_PKTS, "quantum", QUANTUM, "initial_quantum", QUANTUM)


def set_fq_pacing(tree):
    tc("qdisc", "add", "dev", "h0", "root", "fq", "flow_limit", LIMIT_PKTS, "quantum", FRAME, "initial_quantum", FRAME,
       "maxrate", mbit(tree[1].rate))


def set_mqprio(tree):
    queues = range(len(tree) - 1)
    tc("qdisc", "add", "dev", "h0", "root", "handle", "100:", "mqprio", "num_tc", len(queues), "map", *queues, *[0] * (16 - len(queues)),
       "queues", *[f"1@{i}" for i in queues], "hw", 0)
    for i in queues:
        tc("qdisc", "add", "dev", "h0", "parent", f"100:{i + 1}", "tbf", "rate", mbit(tree[i + 1].rate), "burst", BURST,
           "limit", LIMIT_PKTS * FRAME)


# Between classes with children that borrow from the same parent, htb does not share by quantum: its round robin advances among
# siblings of the leaf only (htb_dequeue_tree() in net/sched/sch_htb.c), so "A" of four-levels is held by its ceil.
CASES = [
    ("tbf", set_tbf, None, [
        Class("root", None, 20, 20, burst=60000),
        Class("bursts", 0, 20, 20, burst=60000, load=[(0.2, 100), (1, 3, 30), (4.5, 150), (5, 7, 10), (7, 10, 22)])]),
    ("htb-siblings", set_htb, "1:", [
        Class("root", None, 40, 40), Class("low", 0, 5, 40, 0, 8), Class("capped", 0, 10, 15, 1, 20), Class("rest", 0, 5, 40, 1, 30)]),
    ("htb-rates", set_htb, "1:", [
        Class("root", None, 30, 30), Class("a", 0, 12, 30, 0, 25), Class("b", 0, 6, 30, 0, 15), Class("c", 0, 3, 30, 0, 10)]),
    ("htb-four-levels", set_htb, "1:", [
        Class("root", None, 40, 40), Class("A", 0, 25, 27), Class("B", 0, 10, 40), Class("A1", 1, 15, 27),
        Class("A2", 1, 5, 8, 0, 12), Class("B1", 2, 5, 40, 0, 16), Class("B2", 2, 2, 40, 0, 4),
        Class("A11", 3, 4, 27, 0, 6), Class("A12", 3, 6, 27, 0, 25)]),
    ("prio", set_prio, "10:", [
        Class("root", None, 20, 20), Class("first", 0, 0, 20, 0, 8), Class("second", 0, 0, 20, 1, [(0, 10, 6), (4, 5, 8)]),
        Class("third", 0, 0, 20, 2, 15)]),
    ("fq", set_fq, None, [
        Class("root", None, 20, 20), Class("flows", 0, 20, 20, 0, [2, 3, 7, 7, 9], flows=1024)]),
    ("fq-pacing", set_fq_pacing, None, [
        Class("root", None, 40, 40)] + [Class(f"flow {i}", 0, 4, 4, 0, load, burst=1514) for i, load in enumerate((2, 5, 6))]),
    ("mqprio", set_mqprio, "queue", [
        Class("root", None, 40, 40)] + [Class(f"queue {i}", 0, rate, rate, 0, 1.3 * rate) for i, rate in enumerate((4, 8, 12))]),
]


def times(load, seconds):
    """Return the times of arrival, in seconds."""
    out = []
    for part in load if isinstance(load, list) else [(0, seconds, load)]:
        if len(part) == 2:
            out += [part[0] * seconds / 10] * part[1]
            continue
        begin, end, rate = part[0] * seconds / 10, min(part[1] * seconds / 10, seconds), part[2] * scale * 1e6 / 8 / FRAME
        out += [begin + i / rate for i in range(int((end - begin) * rate))]
    return out


def arrivals(tree, seconds):
    """Return (time, class, flow) in order of time; a class with flows has a load for each."""
    out = []
    for i, c in enumerate(tree):
        loads = [] if c.load is None else [(0, seconds * 10 / seconds, rate) for rate in c.load] if c.flows else [c.load]
        for flow, load in enumerate(loads):
            out += [(at, i, flow) for at in times([load] if c.flows else load, seconds)]
    return sorted(out)


class Wire:
    """Both ends of the veth: send() a frame of a class and flow, receive() departures."""

    def __init__(self, tree, major):
        self.major, self.sockets, self.departed = major, {}, {}
        self.receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        self.receiver.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)  # SO_RCVBUFFORCE
        self.receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.receiver.bind(("h1", 0))
        self.receiver.setblocking(False)
        for i, c in enumerate(tree):
            if c.load is not None:
                self.sockets[i] = self.sender(i)

    def sender(self, cls):
        out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        priority = {None: 0, "1:": 1 << 16 | cls + 1, "10:": 0x10 << 16 | cls, "queue": cls - 1}[self.major]
        out.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
        out.setsockopt(socket.SOL_SOCKET, 32, 256 << 20)  # SO_SNDBUFFORCE
        out.setblocking(False)
        out.bind(("h0", 0))
        return out

    def send(self, index, cls, flow):
        port = 1000 + 100 * cls + flow
        headers = bytes(12) + b"\x08\x00" + struct.pack(">BBHHHBBH4s4s", 0x45, 0, FRAME - 14, 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2") \
            + struct.pack(">HHHH", port, port, FRAME - 34, 0) + struct.pack(">I", index)
        try:
            self.sockets[cls].send(headers.ljust(FRAME, b"\0"))
        except OSError as error:
            if error.errno != 105:  # ENOBUFS: dropped
                raise

    def receive(self):
        while True:
            try:
                frame, ancillary, _, _ = self.receiver.recvmsg(FRAME, 64)
            except BlockingIOError:
                return
            seconds, ns = struct.unpack("qq", ancillary[0][2])
            self.departed[struct.unpack_from(">I", frame, 42)[0]] = seconds * NS + ns


def kernel(tree, major, plan):
    """Send the plan. Return the times at which frames arrived and departed, in ns from the start; None: dropped."""
    wire, arrived, begin = Wire(tree, major), [], time.time_ns()
    for index, (at, cls, flow) in enumerate(plan):
        while (wait := at - (time.time_ns() - begin) / NS) > 0:
            wire.receive()
            time.sleep(min(wait, 0.001))
        arrived.append(time.time_ns() - begin)
        wire.send(index, cls, flow)
    seen = -1
    while seen != len(wire.departed):  # until nothing came for a second
        seen = len(wire.departed)
        time.sleep(1)
        wire.receive()
    return arrived, [wire.departed[i] - begin if i in wire.departed else None for i in range(len(plan))]


def simulated(tree, plan, arrived):
    lines = [f"{len(tree)} {len(plan)}"]
    lines += [f"{c.parent or 0} {round(c.rate * scale * 1e6)} {round(c.ceil * scale * 1e6)} {c.prio} {QUANTUM} {c.burst} "
              f"{LIMIT_PKTS * (len(c.load) if c.flows else 1) if c.load else 0} {c.flows}" for c in tree]
    lines += [f"{at + NS} {cls} {flow} {FRAME}" for at, (_, cls, flow) in zip(arrived, plan)]
    result = subprocess.run([TRACE], input="\n".join(lines), check=True, stdout=subprocess.PIPE, text=True)
    return [int(line) - NS if line != "0" else None for line in result.stdout.split()]


def curve(departed, members, end_ns):
    """Return the bytes sent until the end of each step."""
    steps = [0] * (end_ns // STEP_NS + 2)
    for i in members:
        if departed[i] is not None and departed[i] <= end_ns:
            steps[max(departed[i], 0) // STEP_NS + 1] += FRAME
    for i in range(1, len(steps)):
        steps[i] += steps[i - 1]
    return steps


def delay_curve(departed, arrived, members, end_ns):
    """Return the longest delay, in ms, of the frames that departed in each step, and of none the last one."""
    steps = [0] + [None] * (end_ns // STEP_NS + 1)
    for i in members:
        if departed[i] is not None and departed[i] <= end_ns:
            step = max(departed[i], 0) // STEP_NS + 1
            steps[step] = max(steps[step] or 0, (departed[i] - arrived[i]) / 1e6)
    for i in range(1, len(steps)):
        steps[i] = steps[i - 1] if steps[i] is None else steps[i]
    return steps


def delays(departed, arrived, members):
    sorted_ms = sorted((departed[i] - arrived[i]) / 1e6 for i in members if departed[i] is not None)
    return {f"p{p}": round(sorted_ms[len(sorted_ms) * p // 100], 3) for p in (50, 99)} if sorted_ms else None


def compare(name, members, arrived, theirs, ours):
    end_ns = arrived[-1]
    curves = [curve(departed, members, end_ns) for departed in (theirs, ours)]
    from_step, to_step = NS // STEP_NS, end_ns // STEP_NS
    sent = [c[to_step] - c[from_step] for c in curves]
    return {"name": name, "kernel_bytes": sent[0], "tree_bytes": sent[1], "ratio": round(sent[1] / sent[0], 4) if sent[0] else None,
            "curve_distance_bytes": max(abs(a - b) for a, b in zip(*curves)), "kernel_delay_ms": delays(theirs, arrived, members),
            "tree_delay_ms": delays(ours, arrived, members), "curves": curves,
            "delay_curves": [delay_curve(departed, arrived, members, end_ns) for departed in (theirs, ours)]}


def set_up(queues):
    subprocess.run(["ip", "link", "del", "h0"], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["ip", "link", "add", "h0", "numtxqueues", str(queues), "type", "veth", "peer", "name", "h1"], check=True)
    for name in "h0", "h1":
        subprocess.run(["ip", "link", "set", name, "mtu", "1500", "up"], check=True)


def run_case(name, set_qdisc, major, tree, seconds):
    set_up(3 if major == "queue" else 1)
    try:
        set_qdisc(tree)
    except subprocess.CalledProcessError as error:
        return {"name": name, "refused": error.stderr.strip().splitlines()[-1]}
    plan = arrivals(tree, seconds)
    arrived, theirs = kernel(tree, major, plan)
    ours = simulated(tree, plan, arrived)
    rows = {}
    for i, (_, cls, flow) in enumerate(plan):
        rows.setdefault(f"{tree[cls].name} {flow}" if tree[cls].flows else tree[cls].name, []).append(i)
    return {"name": name, "refused": None, "classes": [compare(row, members, arrived, theirs, ours) for row, members in rows.items()]}


def differs(row):
    return abs(row["tree_bytes"] - row["kernel_bytes"]) > max(LIMIT * row["kernel_bytes"], 5 * FRAME)


def main():
    global scale
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2][7:])
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--only")
    parser.add_argument("--svg")
    args = parser.parse_args()
    if os.environ.get("TL_IN_NETNS") is None:
        os.execvpe("unshare", ["unshare", "-n", sys.executable, *sys.argv], os.environ | {"TL_IN_NETNS": "1"})
    scale = args.scale
    results = [run_case(*case, args.seconds) for case in CASES if args.only in (None, case[0])]
    if args.svg:
        draw(args.svg, results, STEP_NS)
    rows = [row for result in results if not result["refused"] for row in result["classes"]]
    for row in rows:
        del row["curves"], row["delay_curves"]
    print(json.dumps({"scale": scale, "cases": results}, indent=1))
    return 1 if any(differs(row) for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
