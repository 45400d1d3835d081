# SPDX-License-Identifier: BSD-3-Clause
"""Figures of tools/bench.sh: a row each, with the run that measures it and a function that picks it from the run's
output."""

import json
import statistics
from dataclasses import dataclass
from typing import Callable

COUNT = "instructions"
COUNT_LIMIT = 0.02  # of instruction counts, which do not depend on the host
SPREAD_LEAST, SPREAD_OF_ONE_ROUND, SPREAD_UNKNOWN = 0.05, 0.25, 0.25
SPREAD_RULE = (f"spread: largest relative difference of a round from the figure, of the reference's rounds added, at least "
               f"{SPREAD_LEAST}; {SPREAD_OF_ONE_ROUND} for a single round")


class Missing(Exception):
    """A figure that is not available; the text is the reason."""


@dataclass
class Figure:
    name: str
    run: str
    title: str
    unit: str
    lower: bool  # whether lower is better
    pick: Callable  # Raw -> dict of value, spread and, where there is one, reference
    readme: bool = False
    complete: bool = False  # not demanded by tests: it takes minutes, or depends on the host's speed through timers


class Raw:
    """The output of one run, RAW/RUN*.json: an object per round."""

    def __init__(self, paths):
        self.rounds = [read_json(path) for path in sorted(paths)]
        if not self.rounds or not all(self.rounds):
            raise Missing("the run printed no result")

    def scenarios(self):
        return {scenario["name"]: scenario for scenario in self.rounds[0]["scenarios"]}


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def spread_of(value, values):
    if not value or len(values) < 2:
        return SPREAD_OF_ONE_ROUND
    return max(max(abs(one - value) / abs(value) for one in values), SPREAD_LEAST)


# ---- how a figure is picked from its run's output

def per_packet(scenario):
    def pick(raw):
        found = raw.scenarios().get(scenario)
        if found is None:
            raise Missing(f"its benchmark has no scenario {scenario}")
        return {"value": found["instructions_per_pkt"], "spread": COUNT_LIMIT}
    return pick


def listed(name):
    """Pick the figure by its name from a benchmark that lists it."""
    def pick(raw):
        for one in raw.rounds[0].get("figures", []):
            if one["name"] == name:
                return {"value": one["value"], "spread": COUNT_LIMIT}
        raise Missing(f"its benchmark has no figure {name}")
    return pick


def start_up(scenario):
    """Pick the time to start of the appliance."""
    def pick(raw):
        found = raw.scenarios()[scenario]
        rounds = found["start_ms_range"] if raw.rounds[0]["rounds"] > 1 else []
        return {"value": found["start_ms"] * 1e6, "spread": spread_of(found["start_ms"], rounds)}
    return pick


def memory(scenario):
    """Pick the memory of the appliance after its start."""
    def pick(raw):
        return {"value": raw.scenarios()[scenario]["memory_mib"] * 2**20, "spread": SPREAD_LEAST}
    return pick


def above_null(raw):
    return {"value": raw.rounds[0]["above_null"]["instructions"], "spread": COUNT_LIMIT}


def stages(raw):
    return {"value": raw.rounds[0]["stages"]["instructions"], "spread": COUNT_LIMIT}


def cold(raw):
    ns = {name: scenario["ns"] for name, scenario in raw.scenarios().items()}
    return {"value": ns["cold-warmed"], "spread": SPREAD_UNKNOWN, "reference": {"name": "without warm-up", "value": ns["cold"]}}


def rate(scenario, field="pps"):
    """Pick medians of rates of capture.sh."""
    def pick(raw):
        found = recorded(raw, scenario)
        spread = spread_of_ranges((found[who + "_pps"], found[who + "_pps_range"]) for who in ("ours", "reference"))
        return beside(found, found["ours_" + field], found["reference_" + field], spread, raw)
    return pick


def cpu_time(scenario):
    """Pick CPU time of the recorder per frame of capture.sh, without the kernel's softirq."""
    def pick(raw):
        found = recorded(raw, scenario)
        fields = ("cpu_ns_per_pkt", "reference_cpu_ns_per_pkt")
        spread = spread_of_ranges((found[field], found["ranges"][field]) for field in fields)
        return beside(found, found[fields[0]], found[fields[1]], spread, raw)
    return pick


def spread_of_ranges(values):
    return sum(spread_of(value, value_range) for value, value_range in values)


def beside(found, ours, theirs, spread, raw):
    if raw.rounds[0]["rounds"] < 2:
        spread = SPREAD_OF_ONE_ROUND
    return {"value": ours, "spread": spread, "reference": {"name": found["reference"], "value": theirs}}


def recorded(raw, scenario):
    found = raw.scenarios().get(scenario)
    if found is None or "skipped" in found:
        raise Missing(found["skipped"] if found else f"capture.sh has not measured {scenario}")
    return found


def demo(system, reference="kernel_socat"):
    """Pick medians of a system and of the kernel's relay of tools/demo.sh, each round with its own ratio."""
    def pick(raw):
        pairs = [(p50_of(one.get(system)), p50_of(one.get(reference))) for one in raw.rounds]
        ours = [our for our, _ in pairs if our]
        ratios = [our / their for our, their in pairs if our and their]
        if not ours:
            raise Missing(f"{system.replace('_', ' ')} had no result: {raw.rounds[0].get('why', {}).get(system) or 'see its log'}")
        if not ratios:
            return {"value": statistics.median(ours), "spread": spread_of(statistics.median(ours), ours)}
        return {"value": statistics.median(ours), "spread": spread_of(statistics.median(ratios), ratios),
                "reference": {"name": "socat", "value": statistics.median(their for our, their in pairs if our and their)}}
    return pick


def p50_of(client):
    return ((client or {}).get("rtt_ns") or {}).get("p50")


def ping(raw):
    rounds = [one for one in raw.rounds[0]["rounds"] if one["ours"] and one["testpmd"]]
    if not rounds:
        raise Missing("no round had answers")
    ratios = [one["ours"] / one["testpmd"] for one in rounds]
    return {"value": statistics.median(one["ours"] for one in rounds), "spread": spread_of(statistics.median(ratios), ratios),
            "reference": {"name": "dpdk-testpmd icmpecho", "value": statistics.median(one["testpmd"] for one in rounds)}}


def residence(raw):
    rows = {row["name"]: row["latency_ns"]["p50"] for row in raw.rounds[0]["residence"]["costs"]}
    if not rows.get("tapline") or not rows.get("no recording"):
        raise Missing("no message had a residence time")
    return {"value": rows["tapline"], "spread": SPREAD_UNKNOWN, "reference": {"name": "not recorded", "value": rows["no recording"]}}


def replay_late(raw):
    found = raw.rounds[0]
    return {"value": found["p99_ns"],
            "spread": spread_of(found["p99_ns"], [one["ours"]["lateness_undisturbed_ns"]["p99"] for one in found["rounds"]]),
            "reference": {"name": "thread that only waits", "value": found["spin_p99_ns"]}}


def digest(kind):
    def pick(raw):
        return {"value": raw.rounds[0][kind]["ns_per_byte"], "spread": SPREAD_UNKNOWN}
    return pick


def jit(raw):
    found = raw.rounds[0]["ns_per_frame"][-1]
    return {"value": found["match"]["median"], "spread": SPREAD_UNKNOWN,
            "reference": {"name": "bpf_filter", "value": found["bpf_filter"]["median"]}}


# ---- the figures

# Ends of scales: run, scenario before its number, figure before its number, title, numbers. The last number of some takes minutes.
SCALES = [
    ("connections", "connections", "connections", "TCP segment, connections", (1, 1000, 100000, 1000000)),
    ("connections", "groups", "groups", "multicast datagram, groups", (1, 10000)),
    ("record", "plain-flows", "record-flows", "60-byte frame recorded, flows", (1000000, 10000000)),
    ("record", "cutoff-flows", "record-cutoff-flows", "60-byte frame recorded, with cut-off, flows", (1, 1000000, 10000000)),
    ("record", "recordings", "recordings", "60-byte frame in one recording, recordings", (1, 64)),
    ("record", "files", "record-files", "60-byte frame recorded, files before", (1, 1000)),
    ("record", "ring", "ring", "60-byte frame recorded, files in the ring", (10, 100000)),
    ("path", "echoes", "echoes", "multicast to TCP, echoes", (1, 1000)),
]
COMPLETE = {"connections-1000000", "plain-flows-10000000", "cutoff-flows-10000000", "ring-100000", "echoes-1000"}
RUN_SCALES = {"connections": (1, 1000000), "groups": (1, 10000), "flows": (1, 10000000), "recordings": (1, 64), "files": (10, 100000),
              "echoes": (1, 1000)}


def scale_figures():
    for run, scenario, name, title, numbers in SCALES:
        for n in numbers:
            pick = listed(f"{name}-{n}-instructions") if run == "path" else per_packet(f"{scenario}-{n}")
            yield Figure(f"{name}-{n}-instructions", run, f"{title}: {n:,}", COUNT, True, pick, complete=f"{scenario}-{n}" in COMPLETE)
    for name, numbers in RUN_SCALES.items():
        for n in numbers:
            yield Figure(f"start-{name}-{n}", "startup", f"start of an appliance, {name}: {n:,}", "ns", True, start_up(f"run-{name}-{n}"))
            yield Figure(f"memory-{name}-{n}", "startup", f"its memory, {name}: {n:,}", "B", True, memory(f"run-{name}-{n}"))


FIGURES = [
    Figure("echo-above-null-instructions", "path", "multicast to TCP, recorded, 16 B, above a null echo", COUNT, True, above_null),
    Figure("echo-stages-instructions", "path", "stamps of the stages of an echo", COUNT, True, stages),
    Figure("echo-vlan-instructions", "path", "the same on a port with a VLAN, above an untagged one", COUNT, True,
           listed("echo-vlan-instructions")),
    Figure("echo-ipv6-instructions", "path", "multicast to TCP, both over IPv6, above IPv4", COUNT, True,
           listed("echo-ipv6-instructions")),
    Figure("tcp-echo-instructions", "connections", "TCP echo per message: data in, echo out, ACK in", COUNT, True,
           listed("tcp-echo-instructions")),
    Figure("pure-ack-instructions", "connections", "ACK without data", COUNT, True,
           listed("pure-ack-instructions")),
    Figure("tcp-echo-ipv6-instructions", "connections", "the same over IPv6", COUNT, True, listed("tcp-echo-ipv6-instructions")),
    Figure("pure-ack-ipv6-instructions", "connections", "ACK without data over IPv6", COUNT, True,
           listed("pure-ack-ipv6-instructions")),
    Figure("record-60-instructions", "record", "60-byte frame recorded", COUNT, True, per_packet("plain-flows-1")),
    Figure("record-cutoff-60-instructions", "record", "60-byte frame recorded, with cut-off, 1,000 flows", COUNT, True,
           per_packet("cutoff-flows-1000")),
    Figure("record-police-60-instructions", "record", "60-byte frame recorded, in a class with a meter", COUNT, True,
           per_packet("police-class-1000")),
    Figure("handoff-instructions", "steer", "hand-off of a frame to another lcore", COUNT, True, listed("handoff-instructions")),
    Figure("nic-frame-instructions", "rules", "frame received by ixgbe's driver, with and without flow rules", COUNT, True,
           listed("nic-frame-instructions")),
    Figure("nic-frame-scalar-instructions", "rules", "the same behind a restart with a rule of the flow director", COUNT, True,
           listed("nic-frame-scalar-instructions")),
    Figure("nic-rule-instructions", "rules", "installation of a 5-tuple rule by ixgbe's driver", COUNT, True,
           listed("nic-rule-instructions")),
    Figure("nic-drop-rule-instructions", "rules", "installation of a drop rule by ixgbe's driver", COUNT, True,
           listed("nic-drop-rule-instructions")),
    Figure("tree-borrow-10-instructions", "tree", "frame through a class tree of 4 levels, 10 classes", COUNT, True,
           per_packet("tree-borrow-10")),
    Figure("tree-borrow-10000-instructions", "tree", "frame through a class tree of 4 levels, 10,000 classes", COUNT, True,
           per_packet("tree-borrow-10000")),
    Figure("classify-16-instructions", "shape", "frame through a class, one of 16 by destination address", COUNT, True,
           per_packet("hosts-16")),
    Figure("classify-10000-instructions", "shape", "the same, one of 10,000", COUNT, True, per_packet("hosts-10000")),
    Figure("demo-default-p50", "demo", "round trip of an echo, recorded, default settings", "ns", True,
           demo("Tapline_default"), True),
    Figure("demo-poll-p50", "demo", "round trip of an echo, polling", "ns", True, demo("Tapline_polling")),
    Figure("demo-xdp-p50", "demo", "round trip of an echo, AF_XDP, polling", "ns", True, demo("Tapline_AF_XDP_polling")),
    Figure("null-60", "null-60", "60-byte frames to no file", "frames/s", False, rate("null-60")),
    Figure("disk-1514", "disk-1514", "1514-byte frames to disk", "B/s", False, rate("disk-1514", "bps"), True),
    Figure("ring-1514", "ring-1514", "1514-byte frames into the reused files of a full ring", "B/s", False, rate("ring-1514", "bps")),
    Figure("veth-tcpdump", "veth-tcpdump", "CPU time per frame on a veth pair, beside tcpdump", "ns", True,
           cpu_time("veth-tcpdump"), True),
    Figure("paced-60", "paced", "60-byte frames to disk, highest rate without loss", "frames/s", False, rate("paced-60")),
    Figure("dumpcap-60", "paced", "60-byte frames to disk, highest rate without loss", "frames/s", False,
           rate("dumpcap-60"), True),
    Figure("dummy-60", "dummy-60", "60-byte frames of net_null to no file", "frames/s", False, rate("dummy-60")),
    Figure("veth-dumpcap", "veth-dumpcap", "CPU time per frame on a veth pair, beside dumpcap", "ns", True,
           cpu_time("veth-dumpcap"), True),
    Figure("veth-netsniff-ng", "veth-netsniff-ng", "CPU time per frame on a veth pair, beside netsniff-ng", "ns", True,
           cpu_time("veth-netsniff-ng")),
    Figure("ping-testpmd", "ping", "round trip of ping, polling", "ns", True, ping),
    Figure("paced-ring-60", "paced-ring-60", "60-byte frames into a ring of files", "frames/s", False, rate("paced-ring-60")),
    Figure("echo-cold", "cold", "multicast to TCP with empty caches, warmed up", "ns", True, cold),
    Figure("digest-crc32c", "digest", "CRC-32C of a slab, per byte", "ns", True, digest("crc32c")),
    Figure("digest-sha256", "digest", "SHA-256 of a slab, per byte", "ns", True, digest("sha256")),
    Figure("filter-jit", "filter", "filter `udp port 5001` per frame", "ns", True, jit),
    Figure("residence-recorded", "residence", "median residence time of an echo that is recorded", "ns", True, residence, True),
    Figure("replay-late-p99", "replay", "lateness (p99) of replayed frames on a memory port, 100,000 per second, without interruptions",
           "ns", True, replay_late),
    *scale_figures(),
]
