#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""latency_oracle.py TAPLINE DIR [DIR...]: check `tapline latency` against the definitions in docs/latency.md and
docs/latency-reports.md, on the cases in DIR: directories with captures and `call`, the arguments, one per line. Whole files are
processed in memory, byte by byte: each pair with every column of the CSV, each count, quantile and verdict of the JSON. Headings
of docs/latency.md are in brackets. Print the differences; the last line is a summary. Exit status 1: differences."""

import csv
import fractions
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
import capture_bytes  # noqa: E402

FAR_BYTES = 256 << 20  # [How a reply is found]
RESYNC_REPLIES = 8  # [Several triggers of the same bytes]
AMBIGUOUS_ONE_IN, MAX_LOSS = 1000, fractions.Fraction(1, 1000)
RANKS = {"p50": 500, "p90": 900, "p99": 990, "p999": 999}


class Stream:
    """One direction of a TCP connection, with the first segment of each byte. [How a reply is found]"""

    def __init__(self, first):
        self.isn = first.seq
        self.begin = 1 if first.syn else 0  # the SYN takes a sequence number
        self.end = self.begin  # behind the last byte seen
        self.seen = {}  # place: (value, first segment with it)
        self.cut = set()  # numbers of segments truncated in the capture
        self.again = set()  # numbers of retransmitted or out-of-order segments

    def add(self, found):
        """Return the places first seen in this segment, and whether it is a keepalive probe."""
        if not found.payload:
            return [], False
        if found.cut:
            self.cut.add(found.frame.number)
        at = self.place(found.seq) + found.syn
        places = range(at, at + len(found.payload))
        fresh = [place for place in places if place not in self.seen]
        if len(fresh) < len(places) or places.stop < self.end:
            self.again.add(found.frame.number)
        probe = not fresh and len(places) == 1 and places.stop == self.end
        for place in fresh:
            self.seen[place] = (found.payload[place - at], found.frame)
        self.end = max(self.end, places.stop)
        return fresh, probe

    def count_duplicate(self, found):
        """Return 1 for a segment without new bytes. [What is reported]"""
        fresh, probe = self.add(found)
        return int(bool(found.payload) and not fresh and not probe)

    def place(self, seq):
        return self.end + (seq - self.isn - self.end + (1 << 31)) % (1 << 32) - (1 << 31)

    def texts(self):
        """Yield stretches of bytes without a gap. Bytes are not joined across the place where a capture begins within a
        connection. [Limits]"""
        text, last = [], None
        for place in sorted(self.seen):
            if text and (place != last + 1 or place == self.begin):
                yield text
                text = []
            text.append((place, *self.seen[place]))
            last = place
        if text:
            yield text

    def pieces(self):
        """Yield adjacent bytes first seen in one segment."""
        for text in self.texts():
            for _, piece in itertools.groupby(text, key=lambda byte: byte[2].number):
                yield list(piece)

    def missing(self):
        """Return the number of missing bytes before the last one seen."""
        return self.end - self.begin - sum(place >= self.begin for place in self.seen)


class Streams:
    def __init__(self):
        self.open, self.all = {}, []

    def of(self, found):
        """Return the stream of a segment. A SYN with another ISN begins another stream, and so does a distant sequence number."""
        stream = self.open.get(found.key)
        if stream is None or (found.syn and found.seq != stream.isn) or abs(stream.place(found.seq) - stream.end) > FAR_BYTES:
            stream = self.open[found.key] = Stream(found)
            self.all.append(stream)
        return stream


class Trigger:
    def __init__(self, found, payload, again):
        self.frame, self.ns, self.payload, self.cut, self.again = found.frame, found.frame.ns, payload, found.cut, again
        self.answered = self.given_up = False


class Group:
    """Triggers of the same bytes. [Several triggers of the same bytes]"""

    def __init__(self):
        self.triggers = []
        self.usual_ns, self.youngest, self.row = 0, None, 0

    def choose(self, ns, window_ns):
        """Return the trigger answered by a reply of this time, and whether it is ambiguous; or None. For a second reply the
        trigger is None."""
        near = [trigger for trigger in self.triggers if abs(ns - trigger.ns) <= window_ns]
        waiting = [trigger for trigger in near if not trigger.answered and not trigger.given_up]
        asked = [trigger for trigger in waiting if trigger.ns <= ns]
        if len(asked) > 1:
            return self.choose_of_several(asked, ns), True
        self.row = 0
        if asked:
            self.usual_ns = max(ns - asked[0].ns, self.usual_ns - self.usual_ns // 16)
            return asked[0], False
        answered = sum(trigger.answered for trigger in near)
        if answered:
            return None, answered > 1
        return (waiting[0], False) if len(waiting) == 1 else None

    def choose_of_several(self, asked, ns):
        youngest = asked[-1]
        in_step = youngest is not self.youngest and ns - youngest.ns <= self.usual_ns
        self.youngest, self.row = youngest, self.row + 1 if in_step else 0
        if self.row < RESYNC_REPLIES:
            return asked[0]
        for trigger in asked[:-1]:
            trigger.given_up = True
        return youngest


class Case:
    """A call, and its expected result."""

    def __init__(self, call):
        self.files = [word for word in call if word.endswith("cap")]
        value = {name: call[call.index(name) + 1] for name in call if name.startswith("--") and name not in ("--unique", "--json")}
        self.unique = "--unique" in call
        self.window_ns = int(value["--window"].removesuffix("ns"))
        self.max_loss = fractions.Fraction(value["--max-loss"].removesuffix("%")) / 100 if "--max-loss" in value else MAX_LOSS
        how = value.get("--match", "payload").split(":")
        self.how, offsets = how[0], (how[1].split(",") if len(how) > 1 else [])
        self.offsets = [int(offset) for offset in offsets] * (3 - len(offsets)) if offsets else None
        self.number_bytes = int(how[2]) if len(how) > 2 else 0
        self.reply_bytes = int(value.get("--reply-bytes", 0))
        self.filters = [capture_bytes.Filter(value["--trigger"]), capture_bytes.Filter(value["--reply"])]
        self.triggers, self.groups, self.lengths, self.different = [], {}, {}, 0
        self.pairs, self.directions, self.interfaces = [], [[], []], [[], []]
        self.count = dict.fromkeys(("ambiguous", "duplicates", "unmatched_replies", "reply_first", "unstamped", "frames_of_triggers",
                                    "frames_of_replies", "trigger_copies", "triggers_repeated", "triggers_empty",
                                    "unmatched_reply_bytes", "lost_reply_bytes", "frames_ignored", "frames_cut", "other_streams"), 0)

    def solve(self, directory):
        sides = [self.frames(directory / self.files[0], 0), self.frames(directory / self.files[-1], 1)]
        self.find_triggers(sides[0])
        (self.by_position if self.how == "position" else self.by_bytes)(sides[1])
        self.count["ambiguous"] += sum(pair["ambiguous"] for pair in self.pairs)
        self.count["reply_first"] = sum(pair["latency_ns"] < 0 for pair in self.pairs)

    def frames(self, path, side):
        found = []
        for frame in capture_bytes.read(path):
            one, direction, tagged = capture_bytes.segment(frame)
            if self.filters[side].lets_through(one, tagged):
                found.append(one)
                self.directions[side].append(direction)
                self.interfaces[side].append(frame.interface)
        self.count[("frames_of_triggers", "frames_of_replies")[side]] = len(found)
        return found

    # ---- triggers

    def find_triggers(self, found):
        streams = Streams()
        for one in found:
            if one.protocol == "udp":
                self.add_trigger(one, one.payload, False)
                continue
            stream = streams.of(one)
            fresh, _ = stream.add(one)
            if fresh:
                payload = bytes(stream.seen[place][0] for place in fresh)
                self.add_trigger(one, payload, one.frame.number in stream.again)
            else:
                self.count["triggers_repeated" if one.payload else "triggers_empty"] += 1
        self.triggers.sort(key=lambda trigger: trigger.ns)

    def number(self, payload, side):
        if self.how != "sequence":
            return payload
        return payload[self.offsets[side]:self.offsets[side] + self.number_bytes]

    def add_trigger(self, found, payload, again):
        if not payload:
            self.count["triggers_empty"] += 1
            return
        number = self.number(payload, 0)
        group = self.groups.setdefault(number, Group())
        if self.unique and any(abs(found.frame.ns - other.ns) <= self.window_ns for other in group.triggers):
            self.count["trigger_copies"] += 1
            return
        trigger = Trigger(found, payload, again)
        self.triggers.append(trigger)
        group.triggers.append(trigger)
        self.lengths[len(payload)] = None

    # ---- replies

    def by_bytes(self, found):
        streams = Streams()
        for one in found:
            if one.protocol == "udp":
                if one.payload:
                    self.scan([(i, byte, one.frame) for i, byte in enumerate(one.payload)], None)
                continue
            self.count["duplicates"] += streams.of(one).count_duplicate(one)
        for stream in streams.all:
            for text in stream.texts():
                self.scan(text, stream)
            self.count["lost_reply_bytes"] += stream.missing()

    def scan(self, text, stream):
        """Scan from left to right; skipped bytes count as stretches, each of one segment, or of one reply of a given length.
        For a datagram the stream is None. [What is reported]"""
        at, passing, values = 0, None, bytes(byte for _, byte, _ in text)
        fixed = self.reply_bytes if stream else 0
        while at < len(text):
            slot, inside = divmod(text[at][0] - stream.begin, fixed) if fixed else (text[at][2].number, 0)
            size = 0 if inside else self.take_at(text, at, values, stream)
            if size:
                at, passing = at + size, None
                continue
            self.count["unmatched_replies"] += slot != passing
            self.count["unmatched_reply_bytes"] += 1
            at, passing = at + 1, slot

    def take_at(self, text, at, values, stream):
        for size, number in self.candidates(values, at, stream):
            group = self.groups.get(number)
            if group is None or at + size > len(text):
                continue
            part = text[at:at + size]
            chosen = group.choose(max(frame.ns for _, _, frame in part), self.window_ns)
            if chosen is None:
                continue
            if chosen[0] is None:
                self.count["duplicates"] += 1
                self.count["ambiguous"] += chosen[1]
            else:
                self.pair(chosen[0], part, stream, chosen[1])
            return size
        return 0

    def candidates(self, values, at, stream):
        """Return possible lengths of a reply that begins here, and its triggers; the longest first."""
        if self.how == "payload":
            return [(size, values[at:at + size]) for size in sorted(self.lengths, reverse=True)]
        if stream is None:  # a datagram is one reply
            return [(len(values), self.number(values, 1))] if at == 0 else []
        number = self.number(values[at:], 1)
        group = self.groups.get(number)
        return [(self.reply_bytes or len(group.triggers[0].payload), number)] if group else []

    def by_position(self, found):
        streams = Streams()
        for one in found:
            self.count["duplicates"] += streams.of(one).count_duplicate(one)
        stream = streams.all[0] if streams.all else None
        self.count["other_streams"] = max(0, len(streams.all) - 1)
        end, late = stream.begin if stream else 0, set()
        for trigger in self.triggers:
            places = range(end, end + len(trigger.payload))
            end = places.stop
            part = [(place, *stream.seen[place]) for place in places if place in stream.seen] if stream else []
            if not part or part[-1][0] != places.stop - 1:
                continue  # the last byte is missing
            if abs(max(frame.ns for _, _, frame in part) - trigger.ns) <= self.window_ns:
                self.pair(trigger, part, stream, False)
                self.different += self.is_different(trigger, part, stream)
            else:
                late.add(part[-1][0])
        for piece in stream.pieces() if stream else ():
            known = sum(len(trigger.payload) for trigger in self.triggers if trigger.ns <= piece[0][2].ns + self.window_ns)
            if any(place in late for place, _, _ in piece) or piece[-1][0] >= stream.begin + known:
                self.count["unmatched_replies"] += 1
                self.count["unmatched_reply_bytes"] += len(piece)
        self.count["lost_reply_bytes"] = stream.missing() if stream else 0
        self.position_bytes = (sum(len(trigger.payload) for trigger in self.triggers), stream.end - stream.begin if stream else 0)

    @staticmethod
    def is_different(trigger, part, stream):
        """Check whether the capture has all bytes of a pair, and they differ. [By position]"""
        cut = trigger.cut or any(frame.number in stream.cut for _, _, frame in part)
        return not cut and len(part) == len(trigger.payload) and bytes(value for _, value, _ in part) != trigger.payload

    def pair(self, trigger, part, stream, ambiguous):
        """A reply is complete when the last of its bytes has arrived. [How a reply is found, Raw pairs]"""
        trigger.answered = True
        last = max((frame for _, _, frame in part), key=lambda frame: (frame.ns, frame.number))
        again = stream is not None and any(frame.number in stream.again for _, _, frame in part)
        row = {"time_ns": trigger.ns, "latency_ns": last.ns - trigger.ns, "ambiguous": int(ambiguous), "reply_ns": last.ns,
               "trigger_packet": trigger.frame.number, "reply_packet": last.number,
               "trigger_interface": trigger.frame.interface, "reply_interface": last.interface,
               "trigger_source": "file", "reply_source": "file",
               "trigger_unit_ns": trigger.frame.unit_ns, "reply_unit_ns": last.unit_ns,
               "trigger_start_bound_ns": "", "reply_start_bound_ns": "",
               "segments": len({frame.number for _, _, frame in part}), "retransmitted": int(again or trigger.again), "version": 1}
        self.pairs.append(row)

    # ---- the verdict

    def reasons(self):
        """Return words of each reason that makes a result invalid. [What is reported]"""
        matched, lost = len(self.pairs), len(self.triggers) - len(self.pairs)
        if matched == 0:
            yield "no reply was matched"
        if self.count["reply_first"]:
            yield "stamped before their triggers"
        if self.count["ambiguous"] * AMBIGUOUS_ONE_IN > matched:
            yield "could answer several triggers"
        if self.count["other_streams"]:
            yield "streams of replies beside the first"
        if self.different:
            yield f"{self.different} replies are not the bytes of the triggers at their position"
        if self.how == "position" and self.position_bytes[0] != self.position_bytes[1]:
            yield "by position all replies after the gap"
        if lost > self.max_loss * len(self.triggers):
            yield "triggers have no reply"

    def method(self):
        """Unknown for a file without directions, and for two files with less than 512 pairs. [Clocks]"""
        marks = {mark for side in self.directions for mark in side}
        if 2 in marks:
            return "rx-tx"
        one_clock = len(self.files) == 1 and len({name for side in self.interfaces for name in side}) == 1
        return "two-port" if one_clock and marks == {1} and all(self.directions) else "unknown"

    def report(self):
        """Return the keys of the JSON that are defined."""
        lost, samples = len(self.triggers) - len(self.pairs), sorted(pair["latency_ns"] for pair in self.pairs if pair["latency_ns"] >= 0)
        facts = {key: str(value) for key, value in self.count.items() if key not in ("ambiguous", "duplicates", "unmatched_replies",
                                                                                      "reply_first", "unstamped")}
        found = {key: self.count[key] for key in ("ambiguous", "duplicates", "unmatched_replies", "reply_first", "unstamped")}
        found.update(matched=len(self.pairs), answered=len(self.pairs), unmatched_triggers=lost, unanswered=lost,
                     triggers=len(self.triggers), window_ns=self.window_ns, max_loss=float(self.max_loss), method=self.method(),
                     source="file", facts=facts, doubtful=["min", "max", "mean"] if self.count["ambiguous"] else [])
        found["latency_ns"] = {"count": len(samples), "min": min(samples, default=None), "max": max(samples, default=None)}
        found["quantiles"] = {name: quantile(samples, lost, rank) for name, rank in RANKS.items()}
        found["latency_ns"].update((name, found["quantiles"][name]["ns"]) for name in RANKS)
        return found


def quantile(samples, lost, per_thousand):
    """Return quantiles by nearest rank; triggers without a reply rank behind all samples. [Triggers without a reply]"""
    def rank(n):
        return math.ceil(n * per_thousand / 1000)

    if not samples:
        return {"ns": None}
    above = rank(len(samples) + lost) > len(samples)
    beyond = len(samples) - rank(len(samples))
    return {"ns": samples[rank(len(samples)) - 1], "with_loss_ns": None if above else samples[rank(len(samples) + lost) - 1],
            "above_window": above, "beyond": beyond, "few": beyond < 10}


# ---- the comparison


def differing(path, want, have):
    """Return the keys of want with a different value in have."""
    for key, value in want.items():
        if isinstance(value, dict):
            yield from differing(f"{path}{key}.", value, have.get(key, {}))
        elif have.get(key) != value:
            yield f"{path}{key}: {have.get(key)}, not {value}"


def differing_pairs(want, rows):
    want = {pair["trigger_packet"]: pair for pair in want}
    have = {int(row["trigger_packet"]): row for row in rows}
    for packet in sorted(want.keys() | have.keys()):
        if packet not in have or packet not in want:
            yield f"trigger {packet}: {'no pair' if packet in want else 'a pair'}, not {'a pair' if packet in want else 'none'}"
            continue
        yield from (f"trigger {packet}: {key} {have[packet][key]}, not {value}" for key, value in want[packet].items()
                    if have[packet][key] != str(value))


def differing_reasons(want, have):
    unknown = [reason for reason in have if not any(words in reason for words in want)]
    yield from (f"invalid: {reason}" for reason in unknown)
    yield from (f"not said to be invalid: {words}" for words in want if not any(words in reason for reason in have))


def judge(tapline, directory):
    call = (directory / "call").read_text(encoding="ascii").splitlines()
    case = Case(call)
    case.solve(directory)
    pairs = directory / "pairs.csv"
    done = subprocess.run([os.path.abspath(tapline), "latency", *call, "--json", "--csv", pairs.name], cwd=directory,
                          capture_output=True, timeout=120, check=False)
    if done.returncode != (0 if case.pairs else 1):
        return case, [f"status {done.returncode}: {done.stderr.decode()}"]
    report, reasons = json.loads(done.stdout), list(case.reasons())
    with open(pairs, encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    wrong = [*differing_pairs(case.pairs, rows), *differing("", case.report(), report), *differing_reasons(reasons, report["invalid"])]
    if report["valid"] != (not reasons):
        wrong.append(f"valid: {report['valid']}, not {not reasons}")
    if [int(row["packet_id"]) for row in rows] != list(range(1, len(rows) + 1)):
        wrong.append("packet ids are not 1 and on")
    return case, wrong


def main(tapline, *directories):
    cases = pairs = failed = 0
    for directory in sorted(pathlib.Path(name) for name in directories):
        for call in sorted(directory.glob("*/call")):
            case, wrong = judge(tapline, call.parent)
            cases, pairs, failed = cases + 1, pairs + len(case.pairs), failed + bool(wrong)
            for line in wrong[:20]:
                print(f"{call.parent.name}: {line}")
    print(f"{cases} cases, {pairs} pairs, {failed} differ")
    sys.exit(failed != 0 or cases == 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
