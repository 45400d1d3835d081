#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""exchange.py TAPLINE DIR FIRST COUNT: make COUNT random exchanges of triggers and replies, from seed FIRST on, write each to
capture files with all kinds of faults, and match them by TAPLINE and by a slow, simple matcher here: whole streams, byte by
byte. Files of a seed with different results stay in DIR."""

import csv
import json
import math
import pathlib
import random
import struct
import subprocess
import sys

START_NS = 1_700_000_000 * 10**9
WINDOW_NS = 3_000_000  # longer than the wait of any segment for another
TRIGGER_PORT, REPLY_PORT = 5001, 5002
NUMBER_BYTES = 7  # of a message: too many to occur elsewhere by chance

# ---- frames and files


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def packet(proto, body, six, vlan):
    tag = b"\x81\x00\x00\x07" if vlan else b""
    if six:
        address = bytes.fromhex("20010db8") + bytes(11)
        head = struct.pack(">IHBB", 6 << 28, len(body), proto, 64) + address + b"\x01" + address + b"\x02"
    else:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, proto, 0) + b"\xc0\0\2\1\xc0\0\2\2"
        head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    return bytes(range(12)) + tag + (b"\x86\xdd" if six else b"\x08\x00") + head + body


def udp(port, payload, **how):
    return packet(17, struct.pack(">HHHH", 4000, port, 8 + len(payload), 0) + payload, **how)


def tcp(client, seq, payload, flags=0x10, **how):
    return packet(6, struct.pack(">HHIIBBHHH", REPLY_PORT, client, seq, 0, 0x50, flags, 8192, 0, 0) + payload, **how)


def write_pcap(path, frames, unit_ns, order):
    with open(path, "wb") as out:
        out.write(struct.pack(order + "IHHiIII", 0xA1B23C4D if unit_ns == 1 else 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for ns, data in frames:
            out.write(struct.pack(order + "IIII", ns // 10**9, ns % 10**9 // unit_ns, len(data), len(data)) + data)


def write_pcapng(path, frames, unit_ns, order, direction=0):
    """Write frames; with a direction, 1 inbound or 2 outbound, each frame has epb_flags."""
    options = struct.pack(order + "HHIHH", 2, 4, direction, 0, 0) if direction else b""

    def block(kind, body):
        total = 12 + len(body)
        return struct.pack(order + "II", kind, total) + body + struct.pack(order + "I", total)

    with open(path, "wb") as out:
        out.write(block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)))
        resolution = struct.pack(order + "HHBxxxHH", 9, 1, 9 if unit_ns == 1 else 6, 0, 0)
        out.write(block(1, struct.pack(order + "HHI", 1, 0, 0) + resolution))
        for ns, data in frames:
            ticks = ns // unit_ns
            head = struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
            out.write(block(6, head + data + bytes(-len(data) % 4) + options))


# ---- the exchange


class Exchange:
    """Triggers and replies of a seed: triggers are (ns, payload), seen are the captured replies."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.how = {"six": rng.random() < 0.3, "vlan": rng.random() < 0.2}
        self.method = rng.choice(["payload", "payload", "payload", "sequence", "position"])
        self.tidy = self.method == "position"
        self.by_tcp = self.tidy or rng.random() < 0.8
        self.unit_ns = rng.choice([1, 1, 1000])
        self.skew_ns = rng.choice([0, 0, 0, 3000])
        self.streams = 1 if self.tidy else rng.randint(1, 3)
        self.triggers, self.trigger_frames, self.reply_frames = [], [], []
        self.replies = []  # UDP: (ns, payload); TCP: (ns, stream, offset, payload)
        self.answers = {stream: [] for stream in range(self.streams)}
        self.ask()
        for stream in range(self.streams):
            (self.answer_tcp if self.by_tcp else self.answer_udp)(stream)
        self.trigger_frames.sort()
        self.reply_frames.sort(key=lambda frame: frame[0])
        self.replies.sort(key=lambda reply: reply[0])

    def clip(self, ns):
        return START_NS + ns // self.unit_ns * self.unit_ns

    def payload(self, stream, number):
        rng = self.rng
        size = rng.choice([16, 16, 16, 5, 33, 200])
        body = rng.randbytes(size) if rng.random() < 0.8 else bytes([stream]) * size
        return struct.pack(">4sBH", b"msg:", stream, number) + body if self.method == "sequence" else bytes([stream + 1]) + body[1:]

    def ask(self):
        ns = 5000
        for number in range(self.rng.randint(1, 40)):
            ns += self.rng.randint(2000, 60000)
            stream = self.rng.randrange(self.streams)
            payload = self.payload(stream, number)
            if self.tidy or self.rng.random() > 0.07:  # else not captured
                self.triggers.append((self.clip(ns), payload))
                self.trigger_frames.append((self.clip(ns), udp(TRIGGER_PORT, payload, **self.how)))
            if self.tidy or self.rng.random() > 0.07:  # else not answered
                self.answers[stream].append((ns + self.rng.randint(500, 20000), payload))

    def see(self, ns, reply, frame):
        ns = self.clip(ns - self.skew_ns)
        self.replies.append((ns, *reply))
        self.reply_frames.append((ns, frame))

    def answer_udp(self, stream):
        for ns, payload in self.answers[stream]:
            if self.rng.random() < 0.05:  # too late, or just in time
                ns += self.rng.choice([WINDOW_NS - 20000, WINDOW_NS, 2 * WINDOW_NS])
            for _ in range(1 + (self.rng.random() < 0.1)):
                if self.rng.random() > 0.05:
                    self.see(ns, (payload,), udp(REPLY_PORT, payload, **self.how))
                ns += self.rng.randint(1, 3000)

    def answer_tcp(self, stream):
        """Split messages into segments that end at a message boundary, or anywhere."""
        text, due = b"", []  # earliest send time of each byte
        for ns, payload in self.answers[stream]:
            text += payload
            due += [max(ns, due[-1] if due else 0)] * len(payload)
        isn = self.rng.choice([self.rng.getrandbits(32), (1 << 32) - 1 - self.rng.randrange(300)])
        self.see(4000, (stream, 0, b""), tcp(40000 + stream, isn, b"", 2, **self.how))
        at, before_ns = 0, 0
        while at < len(text):
            size = self.rng.choice([1, 7, 16, 16, 17, 19, 60, 400])
            end = min(at + size, len(text))
            ns = max(due[end - 1], before_ns) + self.rng.randint(1, 500)
            before_ns = ns
            if self.rng.random() < 0.1:  # overtaken by another
                ns += self.rng.randint(1000, 30000)
            for _ in range(1 + (self.rng.random() < 0.1)):
                begin = max(0, at - self.rng.choice([0, 0, 0, 5]))  # plus some bytes sent before
                if self.rng.random() > 0.03:
                    data = text[begin:end]
                    seq = (isn + 1 + begin) & 0xFFFFFFFF
                    self.see(ns, (stream, begin, data), tcp(40000 + stream, seq, data, **self.how))
                ns += self.rng.randint(1, 30000)
            at = end


# ---- the expected result


class Oracle:
    def __init__(self, exchange):
        self.exchange = exchange
        self.open = [True] * len(exchange.triggers)
        self.pairs, self.unmatched_replies, self.ambiguous = [], 0, 0
        self.given_up, self.steps = set(), {}
        if exchange.method == "position":
            self.by_position()
        elif exchange.by_tcp:
            for stream in range(exchange.streams):
                for text in self.texts(stream):
                    self.scan(text)
        else:
            for ns, payload in exchange.replies:
                self.scan([(byte, ns, 0) for byte in payload])
        self.unmatched_triggers = sum(self.open)

    def texts(self, stream):
        """Yield the texts of a stream: bytes, each with the time and the segment in which it was first seen; a gap begins
        another text."""
        seen = {}
        for segment, (ns, of, offset, data) in enumerate(self.exchange.replies):
            if of == stream:
                for i, byte in enumerate(data):
                    seen.setdefault(offset + i, (byte, ns, segment))
        text, last = [], -1
        for offset in sorted(seen):
            if offset != last + 1 and text:
                yield text
                text = []
            text.append(seen[offset])
            last = offset
        yield text

    def choose(self, mine, ns):
        """Choose among triggers of the same bytes. Return one of them, and whether it is answered again; or None."""
        triggers = self.exchange.triggers
        sight = [i for i in mine if abs(ns - triggers[i][0]) <= WINDOW_NS]
        waiting = [i for i in sight if self.open[i] and i not in self.given_up]
        before = [i for i in waiting if triggers[i][0] <= ns]
        step = self.steps.setdefault(mine[0], {"usual": 0, "youngest": None, "row": 0})
        if len(before) > 1:
            self.ambiguous += 1
            return self.choose_of_several(before, ns, step), False
        step["row"] = 0
        if before:
            step["usual"] = max(ns - triggers[before[0]][0], step["usual"] - step["usual"] // 16)
            return before[0], False
        answered = [i for i in sight if not self.open[i]]
        if answered:
            self.ambiguous += len(answered) > 1
            return answered[0], True
        return (waiting[0], False) if len(waiting) == 1 else None

    def choose_of_several(self, before, ns, step):
        """Return the oldest; after eight replies in step with one more trigger each, the youngest; expire the
        others."""
        youngest = before[-1]
        in_step = youngest != step["youngest"] and ns - self.exchange.triggers[youngest][0] <= step["usual"]
        step["youngest"], step["row"] = youngest, step["row"] + 1 if in_step else 0
        if step["row"] < 8:
            return before[0]
        self.given_up.update(before[:-1])
        return youngest

    def take(self, trigger, ns):
        self.open[trigger] = False
        self.pairs.append((self.exchange.triggers[trigger][0], ns))

    def match_at(self, text, at):
        """Match the message at this place. Return its length, 0: none."""
        sequence = self.exchange.method == "sequence"
        triggers = self.exchange.triggers
        lengths = sorted({len(payload) for _, payload in triggers}, reverse=True)
        for length in lengths:
            if at + length > len(text):
                continue
            here = bytes(byte for byte, _, _ in text[at:at + length])
            if sequence:
                mine = [i for i, (_, payload) in enumerate(triggers) if payload[:NUMBER_BYTES] == here[:NUMBER_BYTES] and len(payload) == length]
            else:
                mine = [i for i, (_, payload) in enumerate(triggers) if payload == here]
            complete_ns = max(ns for _, ns, _ in text[at:at + length])
            found = self.choose(mine, complete_ns) if mine else None
            if found:
                if not found[1]:
                    self.take(found[0], complete_ns)
                return length
        return 0

    def scan(self, text):
        at, skipping = 0, None
        while at < len(text):
            length = self.match_at(text, at)
            if length:
                at, skipping = at + length, None
                continue
            self.unmatched_replies += text[at][2] != skipping
            skipping = text[at][2]
            at += 1

    def by_position(self):
        ends, end = {}, 0
        for i, (_, payload) in enumerate(self.exchange.triggers):
            end += len(payload)
            ends[end - 1] = i
        seen = {}
        for ns, _, offset, data in self.exchange.replies:
            for i in range(len(data)):
                seen.setdefault(offset + i, ns)
        for offset in sorted(seen):
            if offset in ends:
                ns, payload = self.exchange.triggers[ends[offset]]
                complete_ns = max(seen[at] for at in range(offset + 1 - len(payload), offset + 1) if at in seen)
                if abs(complete_ns - ns) <= WINDOW_NS:
                    self.take(ends[offset], complete_ns)


# ---- the comparison


def nearest_rank(values, of_thousand):
    return sorted(values)[math.ceil(len(values) * of_thousand / 1000) - 1]


def expected(oracle):
    latencies = [reply - trigger for trigger, reply in oracle.pairs if reply >= trigger]
    result = {
        "matched": len(oracle.pairs),
        "unmatched_triggers": oracle.unmatched_triggers,
        "reply_first": len(oracle.pairs) - len(latencies),
        "ambiguous": oracle.ambiguous,
        "pairs": sorted((trigger, reply - trigger) for trigger, reply in oracle.pairs),
    }
    if oracle.exchange.method == "payload":  # otherwise the rest of a message has no length of its own
        result["unmatched_replies"] = oracle.unmatched_replies
    if latencies:
        for name, rank in (("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)):
            result[name] = nearest_rank(latencies, rank)
        ordered = sorted(latencies) + [None] * oracle.unmatched_triggers
        for name, rank in (("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)):
            result["with_loss_" + name] = ordered[math.ceil(len(ordered) * rank / 1000) - 1]
        result["min"], result["max"] = min(latencies), max(latencies)
    return result


def found(run, pairs, keys):
    report = json.loads(run)
    with open(pairs, encoding="ascii") as file:
        rows = sorted((int(row["time_ns"]), int(row["latency_ns"])) for row in csv.DictReader(file))
    with_loss = {"with_loss_" + name: quantile["with_loss_ns"] for name, quantile in report["quantiles"].items()}
    values = {**report, **report["latency_ns"], **with_loss, "pairs": rows}
    return {key: values[key] for key in keys}


def write(exchange, directory, name):
    rng = exchange.rng
    way, order = rng.choice([write_pcap, write_pcapng]), rng.choice("<>")
    two = rng.random() < 0.5
    paths = [directory / f"{name}-triggers.cap", directory / f"{name}-replies.cap"] if two else [directory / f"{name}.cap"]
    if two:
        way(paths[0], exchange.trigger_frames, exchange.unit_ns, order)
        way(paths[1], exchange.reply_frames, exchange.unit_ns, order)
    else:
        frames = sorted(exchange.trigger_frames + exchange.reply_frames, key=lambda frame: frame[0])
        way(paths[0], frames, exchange.unit_ns, order)
    return paths


def run(tapline, directory, seed):
    exchange = Exchange(seed)
    paths = write(exchange, directory, f"seed{seed}")
    tag = "vlan and " if exchange.how["vlan"] else ""
    pairs = directory / f"seed{seed}.csv"
    method = f"sequence:0:{NUMBER_BYTES}" if exchange.method == "sequence" else exchange.method
    command = [tapline, "latency", *paths, "--trigger", f"{tag}udp dst port {TRIGGER_PORT}", "--reply",
               f"{tag}{'tcp' if exchange.by_tcp else 'udp dst'} port {REPLY_PORT}", "--match", method, "--window", "3ms", "--json",
               "--csv", pairs]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    want = expected(Oracle(exchange))
    status = 0 if want["matched"] else 1
    if done.returncode != status:
        return f"status {done.returncode}, not {status}: {done.stderr.decode()}"
    have = found(done.stdout, pairs, want)
    if have != want:
        return "\n".join(f"{key}: {have[key]}, not {want[key]}" for key in want if have[key] != want[key])
    for path in (*paths, pairs):
        path.unlink()
    return None


def main(tapline, directory, first, count):
    failed = 0
    for seed in range(int(first), int(first) + int(count)):
        what = run(tapline, pathlib.Path(directory), seed)
        if what:
            failed += 1
            print(f"seed {seed}: {what}")
    print(f"{count} exchanges, {failed} differ")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
