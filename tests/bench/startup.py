#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure start-up and memory of `tapline run`, by size of its configuration.

usage: startup.py [ROUNDS [SCALE...]]

A configuration of one port without frames, and per scale one section: an echo with room for N connections, or with N groups; a
recording with a flow table that N flows fill to a third; N recordings; a full ring of N files; N echoes. Prints one JSON object.
start_ms: from the start of the process until it reports to its service manager that it is ready; median over ROUNDS (3).
cpu_ms: CPU time of its threads until then, which a busy host does not change much. memory_mib: its resident memory then. Ordinary pages are resident once they were used: the memory of a flow table, and of recording
buffers, comes with the traffic. Requires build/app/tapline (TL_BUILD: another build).
"""

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
TAPLINE = os.path.join(os.environ.get("TL_BUILD", os.path.join(ROOT, "build")), "app", "tapline")
TIMEOUT_S = 60
LINKS_MAX = 50000  # names of one file: ext4 allows 65,000
TABLES = {1: "1K", 10**6: "4M", 10**7: "32M"}


def echo_to_tcp(group, groups):
    return {"port": "p", "receive": {"group": group, "groups": groups, "udp_port": 5001}, "send": {"tcp_connect": "192.0.2.2:5002"}}


def recording(name, **keys):
    return {"port": "p", "path": name, "buffer_bytes": "4M", "index": False, **keys}


SCALES = {
    "connections": ((1, 1000, 10**6), lambda n: {"echo": [{"port": "p", "tcp_listen": 7, "max_connections": n}]}),
    "groups": ((1, 100, 10**4), lambda n: {"echo": [echo_to_tcp("239.1.0.0", n)]}),
    "flows": (tuple(TABLES), lambda n: {"capture": [recording("null:", cutoff_bytes="1M", cutoff_flows=TABLES[n])]}),
    "recordings": ((1, 8, 64), lambda n: {"capture": [recording("null:") for _ in range(n)]}),
    "files": ((10, 1000, 10**5), lambda n: {"capture": [recording("ring.pcapng", rotate_packets=64, keep_files=n)]}),
    "echoes": ((1, 100, 1000), lambda n: {"echo": [echo_to_tcp(f"239.1.{i // 250}.{1 + i % 250}", 1) for i in range(n)]}),
}


def write_config(sections):
    port = {"name": "p", "device": "vdev:net_null0,no-rx=1", "idle": "adaptive"}
    if "echo" in sections:
        port["ip"] = "192.0.2.1/24"
    with open("config.json", "w", encoding="utf-8") as file:
        json.dump({"eal": {"huge": False, "memory_mb": 4096}, "ports": [port], **sections}, file)


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024


def cpu_ms(pid):
    total_ns = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total_ns += int(file.read().split()[0])
    return total_ns / 1e6


def wait_until_ready(manager, process):
    manager.settimeout(TIMEOUT_S)
    while b"READY=1" not in manager.recv(4096):
        if process.poll() is not None:
            break


def run_once():
    """Return the time to start and its CPU time, in ms, and the memory, in MiB."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, open("run.log", "w+b") as log:
        manager.bind("manager")
        begin = time.monotonic()
        process = subprocess.Popen([TAPLINE, "run", "config.json"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   env={**os.environ, "NOTIFY_SOCKET": os.path.abspath("manager")})
        try:
            wait_until_ready(manager, process)
            result = (time.monotonic() - begin) * 1e3, cpu_ms(process.pid), resident_mib(process.pid)
        except (OSError, StopIteration):
            log.seek(0)
            sys.exit(f"startup.py: tapline run is not ready: {log.read().decode()}")
        finally:
            os.unlink("manager")
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.wait(TIMEOUT_S)
    return result


def leave_files(count):
    """Leave files of earlier runs: names of a few."""
    run_once()
    for i in range(1, count):
        if i % LINKS_MAX == 1:
            source = f"ring_{i:05}.pcapng"
            shutil.copy2("ring.pcapng", source)
        else:
            os.link(source, f"ring_{i:05}.pcapng")


def measure(name, number, sections, rounds):
    with tempfile.TemporaryDirectory(prefix="tapline-startup-") as directory:
        os.chdir(directory)
        write_config(sections)
        if name == "files":
            leave_files(number)
        runs = [run_once() for _ in range(rounds)]
        os.chdir("/")
    times, cpu, memory = zip(*runs)
    return {"name": f"run-{name}-{number}", "start_ms": round(statistics.median(times), 1),
            "start_ms_range": [round(min(times), 1), round(max(times), 1)], "cpu_ms": round(statistics.median(cpu), 1),
            "memory_mib": round(statistics.median(memory), 1)}


def main():
    rounds, scales = sys.argv[1] if len(sys.argv) > 1 else "3", sys.argv[2:] or list(SCALES)
    if not rounds.isdigit() or int(rounds) == 0 or not set(scales) <= set(SCALES):
        sys.exit(__doc__)
    print(json.dumps({"rounds": int(rounds), "scenarios": [
        measure(name, number, SCALES[name][1](number), int(rounds)) for name in scales for number in SCALES[name][0]]}, indent=1))


if __name__ == "__main__":
    main()
