#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Peers of the functional tests that packaged tools cannot replace. Each prints one line of JSON."""

import contextlib
import hashlib
import itertools
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time

SOL_PACKET, PACKET_VERSION, PACKET_TX_RING, PACKET_QDISC_BYPASS = 263, 10, 13, 20  # not in the socket module
TPACKET_V2, TP_STATUS_SEND_REQUEST = 1, 1

PATIENCE_S = 120  # for what must come: a busy host may take long between two steps of a test


def connect(host, port, timeout=PATIENCE_S):
    return socket.create_connection((host, int(port)), timeout=timeout)


def reset_at_close(conn):
    """Let close() send RST instead of FIN."""
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def echo_bytes(host, port, total):
    """Send `total` random bytes and read them back at the same time."""
    total = int(total)
    block = memoryview(os.urandom(1 << 20))
    sent, received = 0, 0
    out_hash, in_hash = hashlib.sha256(), hashlib.sha256()
    with connect(host, port) as s:
        s.setblocking(False)
        while received < total:
            readable, writable, _ = select.select([s], [s] if sent < total else [], [], PATIENCE_S)
            if not readable and not writable:
                break
            if writable:
                chunk = block[sent % len(block):][:total - sent]
                n = s.send(chunk)
                out_hash.update(chunk[:n])
                sent += n
                if sent == total:
                    s.shutdown(socket.SHUT_WR)
            if readable:
                data = s.recv(1 << 18)
                if not data:
                    break
                in_hash.update(data)
                received += len(data)
        s.settimeout(PATIENCE_S)
        at_end = received == total and s.recv(1) == b""
    return {"sent": sent, "received": received, "same": out_hash.digest() == in_hash.digest(), "fin": at_end}


def never_read(host, port, limit):
    """Send until the peer accepts no more for two seconds, or `limit` bytes; then hold the connection until killed."""
    limit, sent = int(limit), 0
    s = connect(host, port)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    s.settimeout(2)
    try:
        while sent < limit:
            sent += s.send(bytes(65536))
    except TimeoutError:
        pass
    print(json.dumps({"sent": sent, "blocked": sent < limit}), flush=True)
    signal.pause()


def open_close(host, port, count):
    """Open and close connections one after the other; every fourth ends by RST, every other one echoes first."""
    done, errors = 0, []
    for i in range(int(count)):
        try:
            with connect(host, port) as s:
                if i % 2 == 0:
                    s.sendall(b"%08d" % i)
                    if s.recv(8, socket.MSG_WAITALL) != b"%08d" % i:
                        errors.append(f"{i}: wrong echo")
                if i % 4 == 3:
                    reset_at_close(s)
            done += 1
        except OSError as e:
            errors.append(f"{i}: {e}")
    return {"done": done, "errors": errors[:5]}


def open_together(host, port, count):
    """Open concurrent connections, echo on each, close all."""
    socks = [connect(host, port) for _ in range(int(count))]
    for i, s in enumerate(socks):
        s.sendall(b"%08d" % i)
    same = sum(s.recv(8, socket.MSG_WAITALL) == b"%08d" % i for i, s in enumerate(socks))
    for s in socks:
        s.close()
    return {"same": same}


def udp_sizes(host, port, *sizes):
    """Send one datagram of each size; the echo must have the same contents and size, and come from the same address."""
    wrong = []
    with socket.socket(family_of(host), socket.SOCK_DGRAM) as s:
        s.settimeout(PATIENCE_S)
        for size in map(int, sizes):
            payload = os.urandom(size)
            s.sendto(payload, (host, int(port)))
            try:
                data, source = s.recvfrom(65536)
                if data != payload or source[:2] != (host, int(port)):
                    wrong.append(size)
            except TimeoutError:
                wrong.append(size)
    return {"sizes": len(sizes), "wrong": wrong}


def multicast(source, group, port, count, size):
    """Send numbered datagrams to a group, one per millisecond."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(source))
        for i in range(int(count)):
            s.sendto(b"%08d" % i + bytes(int(size) - 8), (group, int(port)))
            time.sleep(0.001)
    return {"sent": int(count)}


def multicast6(interface, source, group, port, count, size):
    """Do the same over IPv6."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.bind((source, 0))
        for i in range(int(count)):
            s.sendto(b"%08d" % i + bytes(int(size) - 8), (group, int(port), 0, socket.if_nametoindex(interface)))
            time.sleep(0.001)
    return {"sent": int(count)}


def multicast_rounds(address, group, port, tcp_port, rounds, size):
    """Accept the connection of an echo, then send it rounds of eight datagrams, the next when all have come back."""
    size, same = int(size), 0
    with socket.create_server((address, int(tcp_port))) as server, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
        server.settimeout(PATIENCE_S)
        conn, _ = server.accept()
        with conn:
            conn.settimeout(PATIENCE_S)
            for _ in range(int(rounds)):
                sent = [os.urandom(size) for _ in range(8)]
                for payload in sent:
                    udp.sendto(payload, (group, int(port)))
                back = b""
                while len(back) < 8 * size and (data := conn.recv(8 * size - len(back))):
                    back += data
                same += sorted(sent) == sorted(back[i:i + size] for i in range(0, len(back), size))
    return {"rounds": int(rounds), "same": same}


def blast(interface, count, dst_mac, size=60):
    """Send raw frames at full speed, of an EtherType without answers (RFC 5342: local experimental)."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((interface, 0))
        source = s.getsockname()[4]
        head = bytes.fromhex(dst_mac.replace(":", "")) + source + b"\x88\xb5"
        tail = bytes(int(size) - len(head) - 8)
        for i in range(int(count)):
            s.send(head + i.to_bytes(8, "big") + tail)
    return {"sent": int(count)}


def flood(interface, count, rate):
    """Send frames of 60 bytes like blast(), `rate` per second or at full speed, many per system call."""
    count, rate, batch, room = int(count), int(rate), 256, 128
    frame = b"\xff" * 6 + b"\x02\0\0\0\0\x01" + b"\x88\xb5" + bytes(46)
    request = struct.pack("=II24x", TP_STATUS_SEND_REQUEST, len(frame)) + frame  # struct tpacket2_hdr first
    sent, begin = 0, time.monotonic()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        s.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
        s.setsockopt(SOL_PACKET, PACKET_TX_RING, struct.pack("=IIII", batch * room, 1, room, batch))
        s.bind((interface, 0))
        with mmap.mmap(s.fileno(), batch * room) as ring:
            while sent < count:
                if time.monotonic() - begin < sent / rate:
                    continue
                n = min(batch, count - sent)
                ring[:n * room] = request.ljust(room, b"\0") * n
                s.send(b"")
                sent += n
    return {"sent": sent, "seconds": round(time.monotonic() - begin, 3)}


def tagged(interface, count):
    """Send raw frames with VLAN tags: 802.1Q, 802.1ad, and nested, with priorities."""
    tags = ["8100a005", "88a86007", "88a8e0078100a005"]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((interface, 0))
        for i in range(int(count)):
            tag = bytes.fromhex(tags[i % len(tags)])
            s.send(b"\xff" * 6 + b"\x02\0\0\0\0\x01" + tag + b"\x88\xb5" + i.to_bytes(8, "big") + os.urandom(40 + i))
    return {"sent": int(count)}


def datagrams(host, port, *sizes):
    """Send a datagram of each size, without expecting an answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for size in map(int, sizes):
            s.sendto(os.urandom(size), (host, int(port)))
    return {"sent": len(sizes)}


def read_all(address, port):
    """Accept one connection and read it to its end."""
    with socket.create_server((address, int(port)), family=family_of(address)) as server:
        server.settimeout(PATIENCE_S)
        conn, _ = server.accept()
        with conn:
            conn.settimeout(PATIENCE_S)
            received = 0
            while data := conn.recv(65536):
                received += len(data)
    return {"received": received}


def accept_many(address, port, count):
    """Accept connections one after the other, and reset each at once: after a FIN an echo waits for seconds before it reconnects."""
    with socket.create_server((address, int(port))) as server:
        server.settimeout(PATIENCE_S)
        ports = []
        for _ in range(int(count)):
            conn, source = server.accept()
            ports.append(source[1])
            reset_at_close(conn)
            conn.close()
    return {"accepted": len(ports), "ports": ports}


def checksum(data):
    total = sum(int.from_bytes(data[i:i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return (~total & 0xffff).to_bytes(2, "big")


def igmp_query(address, version):
    """Send a general membership query, maximum response time 0.5 s, as a querier of IGMP version 2 or 3."""
    tail = bytes(4) + (b"\x02\x7d\x00\x00" if version == "3" else b"")
    message = b"\x11\x05" + checksum(b"\x11\x05\x00\x00" + tail) + tail
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_IGMP) as s:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
        s.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, b"\x94\x04\x00\x00")
        s.sendto(message, ("224.0.0.1", 0))
    return {"version": int(version)}


def mld_query(interface, version):
    """Send a general query, maximum response time 0.5 s, as a querier of MLD version 1 or 2."""
    tail = bytes(16) + (b"\x02\x7d\x00\x00" if version == "2" else b"")
    alert = b"\x00\x00\x05\x02\x00\x00\x01\x00"  # hop-by-hop: Router Alert for MLD, PadN
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as s:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 1)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_HOPOPTS, alert)
        s.sendto(b"\x82\x00\x00\x00\x01\xf4\x00\x00" + tail, ("ff02::1", 0, 0, socket.if_nametoindex(interface)))
    return {"version": int(version)}


def echo_datagrams(address, port, one_of=1):
    """Send every datagram, or every n-th one, back, until killed."""
    with socket.socket(family_of(address), socket.SOCK_DGRAM) as s:
        s.bind((address, int(port)))
        for i in itertools.count():
            data, sender = s.recvfrom(65536)
            if i % int(one_of) == 0:
                s.sendto(data, sender)


def udp_flows(host, port, count):
    """Exchange a datagram from each of `count` different ports; one that is not answered within a second is sent again."""
    with contextlib.ExitStack() as open_sockets:  # a closed one's port may be given to the next
        for number in range(int(count)):
            s = open_sockets.enter_context(socket.socket(family_of(host), socket.SOCK_DGRAM))
            s.settimeout(1)
            s.connect((host, int(port)))
            for _ in range(60):
                try:
                    s.send(b"flow %d" % number)
                    if s.recv(64) == b"flow %d" % number:
                        break
                except OSError:  # no reply, or no listener yet
                    continue
            else:
                sys.exit(f"flow {number} is not answered")
    return {"flows": int(count)}


def round_trips(host, port, count, gap_ms):
    """Send a datagram per gap and measure when each comes back, in ms; earlier ones, which resolve the address, are not counted."""
    with socket.socket(family_of(host), socket.SOCK_DGRAM) as s:
        s.connect((host, int(port)))
        for _ in range(60):
            s.send(b"resolve")
            if select.select([s], [], [], 1)[0]:
                break
        begin, sent, back = time.monotonic(), [], {}
        while len(back) < int(count):
            due = begin + len(sent) * float(gap_ms) / 1000 - time.monotonic() if len(sent) < int(count) else 30
            if due <= 0:
                sent.append(time.monotonic())
                s.send(struct.pack(">I", len(sent) - 1))
            elif select.select([s], [], [], due)[0]:
                if len(data := s.recv(64)) == 4:
                    number = struct.unpack(">I", data)[0]
                    back[number] = (time.monotonic() - sent[number]) * 1000
            elif len(sent) == int(count):
                sys.exit(f"{int(count) - len(back)} datagrams did not come back")
    return {"round_trips_ms": sorted(back.values())}


def echo_streams(address, port):
    """Accept connections one after the other and echo all data, until killed."""
    with socket.create_server((address, int(port)), family=family_of(address)) as server:
        while True:
            conn, _ = server.accept()
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with conn:
                while data := conn.recv(65536):
                    conn.sendall(data)


PEERS = [igmp_query, mld_query, echo_bytes, never_read, open_close, open_together, udp_sizes, multicast, multicast6,
         multicast_rounds, blast, flood, tagged, udp_flows,
         datagrams, read_all, accept_many, echo_datagrams, echo_streams, round_trips]

if __name__ == "__main__":
    peer = {f.__name__: f for f in PEERS}[sys.argv[1]]
    print(json.dumps(peer(*sys.argv[2:])))
