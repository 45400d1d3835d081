#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""judge_edits.py SENT.pcap GOT.pcap EDIT...: compare the dissection of each frame of two files by tshark. EDIT is as
given to `tapline replay`: map:FROM=TO, port:FIRST-LAST=TO, ttl:N, dscp:N, src-mac:MAC, dst-mac:MAC. Every address,
also in ARP, in neighbour discovery and in quoted packets, and every port has to be the edited one; valid checksums
have to stay valid and wrong ones wrong. Print the number of frames and of valid and wrong checksums, or the first
difference."""

import collections
import ipaddress
import subprocess
import sys

ADDRESSES = ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "arp.src.proto_ipv4", "arp.dst.proto_ipv4",
             "icmpv6.nd.ns.target_address", "icmpv6.nd.na.target_address"]
PORTS = ["tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport"]
SUMS = ["ip.checksum.status", "tcp.checksum.status", "udp.checksum.status", "icmp.checksum.status", "icmpv6.checksum.status"]
OTHERS = ["eth.src", "eth.dst", "ip.ttl", "ipv6.hlim", "ip.dsfield.dscp", "ipv6.tclass.dscp", "ip.dsfield.ecn",
          "frame.len", "vlan.id"]
OUTER = {"ttl": ["ip.ttl", "ipv6.hlim"], "dscp": ["ip.dsfield.dscp", "ipv6.tclass.dscp"], "src-mac": ["eth.src"],
         "dst-mac": ["eth.dst"]}
FIELDS = ADDRESSES + PORTS + SUMS + OTHERS


def rows(path):
    args = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=|", "-o", "ip.check_checksum:TRUE", "-o",
            "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "ip.defragment:TRUE", "-o", "tcp.desegment_tcp_streams:FALSE"]
    for field in FIELDS:
        args += ["-e", field]
    text = subprocess.run(args, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [dict(zip(FIELDS, line.split("|"))) for line in text.splitlines()]


class Edits:
    def __init__(self, texts):
        self.maps, self.ports, self.outer = [], [], {}
        for text in texts:
            kind, value = text.split(":", 1)
            left, _, right = value.partition("=")
            if kind == "map":
                self.maps.append((ipaddress.ip_network(left), ipaddress.ip_network(right)))
            elif kind == "port":
                self.ports.append((*map(int, left.split("-")), int(right)))
            else:
                self.outer |= {field: value for field in OUTER[kind]}

    def address(self, text):
        address = ipaddress.ip_address(text)
        for old, new in self.maps:
            if address.version == old.version and address in old:
                return str(new.network_address + (int(address) & int(new.hostmask)))
        return text

    def port(self, text):
        for first, last, new in self.ports:
            if first <= int(text) <= last:
                return str(new + int(text) - first)
        return text

    def wanted(self, field, text):
        values = text.split(",") if text else []
        if field in ADDRESSES:
            values = [self.address(value) for value in values]
        elif field in PORTS:
            values = [self.port(value) for value in values]
        elif field in self.outer and values:
            values[0] = self.outer[field]
        return ",".join(values)


def main(sent, got, *texts):
    edits, seen = Edits(texts), collections.Counter()
    before, after = rows(sent), rows(got)
    if len(before) != len(after):
        sys.exit(f"{len(after)} frames, not {len(before)}")
    for number, (old, new) in enumerate(zip(before, after), 1):
        for field in FIELDS:
            wanted = edits.wanted(field, old[field])
            if new[field] != wanted:
                sys.exit(f"frame {number}: {field} was {old[field]}, is {new[field]}, not {wanted}")
        seen.update(value for field in SUMS for value in new[field].split(",") if value)
    print(len(before), "frames,", seen["1"], "right and", seen["0"], "wrong sums")
    sys.exit(0 if seen["1"] > len(before) and seen["0"] > len(before) // 32 else "too few checksums were seen")


main(*sys.argv[1:])
