#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Peer of many echoes: one message to each, and its reply. Prints the number of right replies of each kind as JSON.

usage: many_echoes.py HOST OWN_IP UDP_ECHOES TCP_ECHOES MULTICAST_ECHOES
Ports from 20000 on for UDP and from 30000 on for TCP; groups from 239.3.0.1 on at port 5001, sent on to OWN_IP:5002."""
import ipaddress
import json
import select
import socket
import sys

TIMEOUT_S = 60


def udp_replies(host, n):
    right = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(TIMEOUT_S)
        for i in range(n):
            s.sendto(b"udp %d" % i, (host, 20000 + i))
            right += s.recvfrom(100) == (b"udp %d" % i, (host, 20000 + i))
    return right


def tcp_replies(host, n):
    right = 0
    for i in range(n):
        with socket.create_connection((host, 30000 + i), timeout=TIMEOUT_S) as s:
            s.sendall(b"tcp %6d" % i)
            right += s.recv(100) == b"tcp %6d" % i
    return right


def multicast_replies(listener, own_ip, n):
    """Each connection belongs to one group: the messages are all different."""
    connections = [listener.accept()[0] for _ in range(n)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own_ip))
        for i in range(n):
            s.sendto(b"group %6d" % i, (str(ipaddress.ip_address("239.3.0.1") + i), 5001))
    seen, waiting = set(), connections
    while waiting and (ready := select.select(waiting, [], [], TIMEOUT_S)[0]):
        seen |= {c.recv(100) for c in ready}
        waiting = [c for c in waiting if c not in ready]
    for c in connections:
        c.close()
    return len(seen & {b"group %6d" % i for i in range(n)})


def main():
    host, own_ip, udp, tcp, multicast = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
    with socket.create_server((own_ip, 5002), backlog=multicast) as listener:
        listener.settimeout(TIMEOUT_S)
        groups = multicast_replies(listener, own_ip, multicast)
        print(json.dumps({"udp": udp_replies(host, udp), "tcp": tcp_replies(host, tcp), "multicast": groups}))


if __name__ == "__main__":
    main()
