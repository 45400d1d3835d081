#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""judge_tunnels.py FILE last|first: a line per packet, as tshark reads it: the addresses, protocol and ports of its innermost
(last) or outermost (first) IP packet, and the source of the Ethernet frame around that."""

import subprocess
import sys

FIELDS = ["frame.protocols", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport", "udp.srcport",
          "udp.dstport"]
DECODE = ["-d", "udp.port==8472,vxlan", "-d", "mpls.label==32,pwethcw", "-o", "ip.defragment:FALSE"]


def pick(values, which):
    values = values.split(",")
    return values[-1 if which == "last" else 0]


def describe(row, which):
    protocols, *values = row.split("|")
    layers = [name for name in protocols.split(":") if name in ("ip", "ipv6", "tcp", "udp")]
    addresses = [name for name in layers if name.startswith("ip")]
    ports = [name for name in layers if not name.startswith("ip")]
    if not addresses:
        return "-"
    at = -1 if which == "last" else 0
    ends = values[0:2] if addresses[at] == "ip" else values[2:4]
    l4 = ports[at] if ports else ""
    numbers = values[4:6] if l4 == "tcp" else values[6:8]
    return " ".join([addresses[at], l4] + [pick(value, which) for value in ends + numbers])


def main(path, which):
    args = ["tshark", "-r", path, "-T", "fields", "-E", "separator=|", *DECODE]
    for field in FIELDS:
        args += ["-e", field]
    rows = subprocess.run(args, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for row in rows.splitlines():
        print(describe(row, which))


main(*sys.argv[1:])
