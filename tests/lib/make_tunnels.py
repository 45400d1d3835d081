#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_tunnels.py FILE [cut | wrap IN]: write a pcap file with nanoseconds of encapsulated frames: each encapsulation over IPv4 and IPv6, of
IPv4 and of IPv6, and each in each other. The destination port of a frame's innermost packet is 20000 and the frame's number, from 0;
outer addresses are 192.0.2.1 and 2, inner ones 10.0.0.1 and 2, or those in 2001:db8::/32 and fd00::/8. cut: a few frames, cut at
each byte, with their whole length on the wire. wrap IN: the frames of IN, a pcap file with nanoseconds, each in VXLAN, by turns over IPv4
and IPv6, from another port each, as switches choose it."""

import itertools
import struct
import sys

A, B = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
OUTER4, INNER4 = [bytes([192, 0, 2, i]) for i in (1, 2)], [bytes([10, 0, 0, i]) for i in (1, 2)]
OUTER6, INNER6 = [[bytes.fromhex(start).ljust(15, b"\0") + bytes([i]) for i in (1, 2)] for start in ("20010db8", "fd00")]
TYPES = {4: 0x0800, 6: 0x86DD, "ethernet": 0x6558, "mpls": 0x8847}


def words(*values):
    return struct.pack(f">{len(values)}H", *values)


def ip(version, ends, proto, payload):
    if version == 6:
        return struct.pack(">IHBB", 6 << 28, len(payload), proto, 64) + b"".join(ends) + payload
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, proto, 0) + b"".join(ends)
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    return head[:10] + words(~(total + (total >> 16)) & 0xFFFF) + head[12:] + payload


def ether(kind, payload, tags=()):
    return B + A + b"".join(words(tag, 0x2007) for tag in tags) + words(kind) + payload


def udp(port, payload):
    return words(50000, port, 8 + len(payload), 0) + payload


def gre(flags, kind, fields, payload):
    return words(flags, kind) + fields + payload


class Tunnel:
    """An encapsulation: its payload (4 or 6: the packet, "ethernet": a frame around it), and its bytes for that."""

    def __init__(self, name, carries, proto, wrap):
        self.name, self.carries, self.proto, self.wrap = name, carries, proto, wrap

    def over(self, version, inner, inner_version):
        """Return the packet of this version that carries an inner packet."""
        if self.carries == "ethernet":
            kind, inner = "ethernet", ether(TYPES[inner_version], inner)
        else:
            kind = inner_version
        ends = OUTER4 if version == 4 else OUTER6
        proto = self.proto or {4: 4, 6: 41}[inner_version]
        return ip(version, ends, proto, self.wrap(TYPES[kind], inner))


VNI = bytes.fromhex("12345600")
TUNNELS = [
    Tunnel("ipip", "packet", None, lambda kind, inner: inner),
    Tunnel("gre", "packet", 47, lambda kind, inner: gre(0, kind, b"", inner)),
    Tunnel("gre_all_fields", "packet", 47, lambda kind, inner: gre(0xB000, kind, bytes(4) + b"\1\2\3\4" + bytes(4), inner)),
    Tunnel("gre_mpls", "packet", 47, lambda kind, inner: gre(0, 0x8847, bytes.fromhex("0001004000020140"), inner)),
    Tunnel("gre_ethernet", "ethernet", 47, lambda kind, inner: gre(0, kind, b"", inner)),
    Tunnel("nvgre", "ethernet", 47, lambda kind, inner: gre(0x2000, kind, VNI, inner)),
    Tunnel("erspan1", "ethernet", 47, lambda kind, inner: gre(0, 0x88BE, b"", inner)),
    Tunnel("erspan2", "ethernet", 47, lambda kind, inner: gre(0x1000, 0x88BE, bytes(4) + bytes.fromhex("1007000100000002"), inner)),
    Tunnel("erspan3", "ethernet", 47,
           lambda kind, inner: gre(0x1000, 0x22EB, bytes(4) + bytes.fromhex("200700010000000200008000"), inner)),
    Tunnel("erspan3_platform", "ethernet", 47, lambda kind, inner: gre(
        0x1000, 0x22EB, bytes(4) + bytes.fromhex("200700010000000200008001") + bytes.fromhex("0c00000000000000"), inner)),
    Tunnel("vxlan", "ethernet", 17, lambda kind, inner: udp(4789, b"\x08\0\0\0" + VNI + inner)),
    Tunnel("vxlan_linux", "ethernet", 17, lambda kind, inner: udp(8472, b"\x08\0\0\0" + VNI + inner)),
    Tunnel("geneve", "packet", 17, lambda kind, inner: udp(6081, b"\0\0" + words(kind) + VNI + inner)),
    Tunnel("geneve_options", "ethernet", 17,
           lambda kind, inner: udp(6081, b"\2\0" + words(kind) + VNI + bytes.fromhex("0001000100000000") + inner)),
    Tunnel("gtp", "packet", 17, lambda kind, inner: udp(2152, b"\x30\xff" + words(len(inner)) + bytes(3) + b"\1" + inner)),
    Tunnel("gtp_sequence", "packet", 17,
           lambda kind, inner: udp(2152, b"\x32\xff" + words(len(inner) + 4) + bytes(3) + b"\1" + bytes(4) + inner)),
    Tunnel("gtp_extension", "packet", 17, lambda kind, inner: udp(
        2152, b"\x34\xff" + words(len(inner) + 8) + bytes(3) + b"\1" + bytes(3) + bytes.fromhex("8501000900") + inner)),
]


def innermost(version, number):
    ends = INNER4 if version == 4 else INNER6
    if number % 2:
        return ip(version, ends, 17, words(40000, 20000 + number, 20, 0) + b"tunnel frame")
    return ip(version, ends, 6, words(40000, 20000 + number) + struct.pack(">IIHHHH", 1, 1, 0x5018, 8192, 0, 0) + b"tunnel frame")


def frames():
    """Yield (name, frame), in the order of the innermost ports."""
    number = itertools.count()
    for version in (4, 6):
        kind = TYPES[version]
        yield f"plain_{version}", ether(kind, innermost(version, next(number)))
        yield f"vlan_{version}", ether(kind, innermost(version, next(number)), [0x8100])
        yield f"qinq_{version}", ether(kind, innermost(version, next(number)), [0x88A8, 0x8100])
        yield f"mpls_{version}", ether(0x8847, bytes.fromhex("00010140") + innermost(version, next(number)))
        yield f"mpls_stack_{version}", ether(0x8847, bytes.fromhex("0001004000020140") + innermost(version, next(number)), [0x8100])
        yield f"mpls_ethernet_{version}", ether(
            0x8847, bytes.fromhex("0002014000000000") + ether(kind, innermost(version, next(number))))
    for tunnel, outer, inner in itertools.product(TUNNELS, (4, 6), (4, 6)):
        packet = tunnel.over(outer, innermost(inner, next(number)), inner)
        yield f"{tunnel.name}_{inner}_over_{outer}", ether(TYPES[outer], packet)
    for around, tunnel in itertools.product(TUNNELS, repeat=2):
        n = next(number)
        outer, middle, inner = [(4, 4, 6), (4, 6, 4), (6, 4, 4), (6, 6, 6)][n % 4]
        packet = around.over(outer, tunnel.over(middle, innermost(inner, n), inner), middle)
        yield f"{tunnel.name}_in_{around.name}", ether(TYPES[outer], packet)


def cuts():
    for name, frame in frames():
        if name.endswith("4_over_6") or name in ("qinq_4", "mpls_stack_6", "erspan2_in_gtp_sequence"):
            yield from ((frame[:size], len(frame)) for size in range(14, len(frame)))


def wrapped(path):
    """Yield (time, frame)."""
    with open(path, "rb") as file:
        text = file.read()
    at = 24
    for n in itertools.count():
        if at == len(text):
            return
        size = struct.unpack_from("<I", text, at + 8)[0]
        payload = words(49152 + n % 16384, 4789, 16 + size, 0) + b"\x08\0\0\0" + VNI + text[at + 16:at + 16 + size]
        version = 4 if n % 2 else 6
        yield text[at:at + 8], ether(TYPES[version], ip(version, OUTER4 if version == 4 else OUTER6, 17, payload))
        at += 16 + size


def main(path, how="whole", source=None):
    if how == "wrap":
        rows = ((time, frame, len(frame)) for time, frame in wrapped(source))
    else:
        plain = cuts() if how == "cut" else ((frame, len(frame)) for _, frame in frames())
        rows = ((struct.pack("<II", 1700000000, i), data, size) for i, (data, size) in enumerate(plain))
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for time, data, size in rows:
            out.write(time + struct.pack("<II", len(data), size) + data)


if __name__ == "__main__":
    main(*sys.argv[1:])
