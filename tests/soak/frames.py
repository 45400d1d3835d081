#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""frames.py syn_flood|malformed INTERFACE HOST MAC SEED COUNT: send hostile frames for tests/soak.sh, the same for
the same seed. syn_flood sends SYNs from spoofed sources; malformed sends valid packets of every protocol that the
appliance parses, each with bytes changed, truncated or repeated. Requires Debian's python3-scapy, therefore Debian's
Python."""

import logging
import random
import sys

from scapy.all import (ARP, IP, TCP, UDP, Dot1Q, Ether, ICMP, ICMPv6ND_NS, IPOption_Router_Alert, IPv6, Raw, conf, fragment)
from scapy.contrib.igmpv3 import IGMPv3, IGMPv3mq

GROUP, GROUP_MAC = "239.1.1.1", "01:00:5e:01:01:01"
ECHO_PORT, MULTICAST_PORT = 7, 5001


def spoofed(rng):
    return f"10.99.0.{rng.randint(10, 250)}"


def syn(rng, host, mac):
    options = [("MSS", rng.choice([536, 1460])), ("SAckOK", b""), ("Timestamp", (rng.getrandbits(32), 0)), ("WScale", rng.randint(0, 14))]
    return Ether(dst=mac, src="02:" + rng.randbytes(5).hex(":")) / IP(src=spoofed(rng), dst=host) / TCP(
        sport=rng.randint(1024, 65535), dport=ECHO_PORT, flags="S", seq=rng.getrandbits(32), options=options)


def valid(rng, host, mac):
    """Return one valid frame, or the fragments of one packet."""
    data = Raw(rng.randbytes(rng.choice([0, 1, 16, 300, 1400])))
    unicast = Ether(dst=mac) / IP(src=spoofed(rng), dst=host)
    multicast = Ether(dst=GROUP_MAC) / IP(src=spoofed(rng), dst=GROUP, ttl=1)
    sport = rng.randint(1024, 65535)
    frame = rng.choice([
        lambda: unicast / UDP(sport=sport, dport=ECHO_PORT) / data,
        lambda: multicast / UDP(sport=sport, dport=MULTICAST_PORT) / data,
        lambda: unicast / TCP(sport=sport, dport=ECHO_PORT, flags=rng.randint(0, 255), seq=rng.getrandbits(32)) / data,
        lambda: unicast / ICMP(type=rng.choice([0, 3, 4, 5, 8, 11]), code=rng.randint(0, 5)) / data,
        lambda: Ether(dst="01:00:5e:00:00:01") / IP(src=spoofed(rng), dst="224.0.0.1", ttl=1, options=IPOption_Router_Alert()) / IGMPv3() / IGMPv3mq(),
        lambda: Ether(dst="ff:ff:ff:ff:ff:ff") / ARP(op=rng.choice([1, 2]), psrc=spoofed(rng), pdst=host),
        lambda: Ether(dst=mac) / Dot1Q(vlan=rng.randint(0, 4095)) / IP(src=spoofed(rng), dst=host) / UDP(dport=ECHO_PORT) / data,
        lambda: Ether(dst="33:33:00:00:00:01") / IPv6(src="fe80::1", dst="ff02::1") / ICMPv6ND_NS(tgt="fe80::2"),
    ])()
    if IP in frame and rng.random() < 0.2:
        return [frame.__class__(bytes(part)) for part in fragment(frame, fragsize=rng.choice([8, 64, 512]))]
    return [frame]


def spoil(rng, frame):
    data = bytearray(frame)
    for _ in range(rng.choice([0, 1, 1, 2, 8])):
        data[rng.randrange(12, len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.getrandbits(8)])
    if rng.random() < 0.2:
        del data[rng.randrange(14, len(data) + 1):]
    return bytes(data[:1514])


def main(kind, interface, host, mac, seed, count):
    rng = random.Random(int(seed))
    sender = conf.L2socket(iface=interface)
    logging.getLogger("scapy").setLevel(logging.ERROR)  # it warns of missing routes, which frames with a destination MAC do not need
    sent = 0
    while sent < int(count):
        frames = [syn(rng, host, mac)] if kind == "syn_flood" else [spoil(rng, bytes(frame)) for frame in valid(rng, host, mac)]
        for frame in frames:
            sender.send(Raw(bytes(frame)) if isinstance(frame, bytes) else frame)
            sent += 1
    sender.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
