# SPDX-License-Identifier: BSD-3-Clause
"""Read capture files and the UDP and TCP in them from their bytes, for judges that share no code with the program: pcap
(draft-ietf-opsawg-pcap), pcapng (draft-ietf-opsawg-pcapng), link types (tcpdump.org/linktypes.html), IP and its payload."""

import collections
import struct

Frame = collections.namedtuple("Frame", "number ns unit_ns interface linktype direction data")
Segment = collections.namedtuple("Segment", "frame protocol ports key seq syn payload cut")

PCAP = {b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\xa1\xb2\xc3\xd4": (">", 1000),
        b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\x3c\x4d": (">", 1)}
SHB, IDB, EPB = 0x0A0D0D0A, 1, 6
FLAGS, NAME, RESOLUTION = 2, 2, 9  # options: epb_flags, if_name, if_tsresol


def read_pcap(data, order, unit_ns):
    linktype, at, number = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF, 24, 0
    while at < len(data):
        seconds, part, size = struct.unpack_from(order + "III", data, at)
        number += 1
        yield Frame(number, seconds * 10**9 + part * unit_ns, unit_ns, "", linktype, 0, data[at + 16:at + 16 + size])
        at += 16 + size


def options(order, data):
    at, found = 0, {}
    while at + 4 <= len(data):
        code, size = struct.unpack_from(order + "HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4:at + 4 + size]
        at += 4 + (size + 3) // 4 * 4
    return found


def read_pcapng(data):
    order, at, number, interfaces = "<", 0, 0, []
    while at < len(data):
        if data[at:at + 4] == b"\x0a\x0d\x0d\x0a":
            order, interfaces = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">", []
        kind, size = struct.unpack_from(order + "II", data, at)
        body = data[at + 8:at + size - 4]
        if kind == IDB:
            said = options(order, body[8:])
            exponent = said.get(RESOLUTION, b"\6")[0]
            name = said[NAME].decode() if NAME in said else str(len(interfaces))
            interfaces.append((struct.unpack_from(order + "H", body)[0], 10**(9 - exponent), name))
        elif kind == EPB:
            which, high, low, cap, _ = struct.unpack_from(order + "IIIII", body)
            linktype, unit_ns, name = interfaces[which]
            said = options(order, body[20 + (cap + 3) // 4 * 4:])
            direction = struct.unpack(order + "I", said[FLAGS])[0] & 3 if FLAGS in said else 0
            number += 1
            yield Frame(number, (high << 32 | low) * unit_ns, unit_ns, name, linktype, direction, body[20:20 + cap])
        at += size


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return read_pcap(data, *PCAP[data[:4]]) if data[:4] in PCAP else read_pcapng(data)


def network(frame):
    """Return (ethertype, direction, tagged, payload) of a frame."""
    data, link = frame.data, frame.linktype
    direction = frame.direction
    if link in (0, 108):  # the IPv6 address family is 24, 28 or 30
        family = max(data[:4])
        return 0x0800 if family == 2 else 0x86DD, direction, False, data[4:]
    if link in (101, 228, 229):
        return 0x0800 if data[0] >> 4 == 4 else 0x86DD, direction, False, data
    if link == 113:
        kind, ethertype, rest = data[1], data[14:16], data[16:]
    elif link == 276:
        kind, ethertype, rest = data[10], data[:2], data[20:]
    else:
        kind, ethertype, rest = None, data[12:14], data[14:]
    if kind is not None and direction == 0:
        direction = 2 if kind == 4 else 1
    tagged = ethertype == b"\x81\x00"
    if tagged:
        ethertype, rest = rest[2:4], rest[4:]
    return struct.unpack(">H", ethertype)[0], direction, tagged, rest


def segment(frame):
    """Return (Segment or None, direction, tagged): the UDP datagram or TCP segment of a frame."""
    ethertype, direction, tagged, data = network(frame)
    if ethertype == 0x0800:
        protocol, addresses = data[9], data[12:20]
        begin, end = (data[0] & 15) * 4, struct.unpack_from(">H", data, 2)[0]
    elif ethertype == 0x86DD:
        protocol, addresses = data[6], data[8:40]
        begin, end = 40, 40 + struct.unpack_from(">H", data, 4)[0]
    else:
        return None, direction, tagged
    cut = end > len(data)  # truncated by a snaplen: its length is known
    body = data[begin:end] + bytes(max(0, end - len(data)))
    ports = struct.unpack_from(">HH", body)
    key = (addresses, ports)
    if protocol == 17:
        return Segment(frame, "udp", ports, key, 0, False, body[8:], cut), direction, tagged
    if protocol == 6:
        seq, = struct.unpack_from(">I", body, 4)
        payload = body[(body[12] >> 4) * 4:]
        return Segment(frame, "tcp", ports, key, seq, body[13] & 2 != 0, payload, cut), direction, tagged
    return None, direction, tagged


class Filter:
    """Parse `[vlan and] udp|tcp src|dst port N`, the only filters of the captures here."""

    def __init__(self, text):
        words = text.split()
        self.tagged = words[:2] == ["vlan", "and"]
        self.protocol, side, _, port = words[-4:]
        self.side, self.port = {"src": 0, "dst": 1}[side], int(port)

    def lets_through(self, found, tagged):
        return found is not None and tagged == self.tagged and found.protocol == self.protocol and found.ports[self.side] == self.port
