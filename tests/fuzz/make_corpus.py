#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_corpus.py: write the seeds of tests/fuzz/corpus: for each harness a few inputs that reach far into the
parser. Add a fault found by a fuzzer under a name that describes it; add inputs that only extend the coverage as
found-HASH, minimised: fuzz_NAME -merge=1 -use_counters=0 CORPUS FOUND."""

import hashlib
import json
import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).parent.parent / "lib"))
import make_tunnels

CORPUS = pathlib.Path(__file__).parent / "corpus"
US, PEER, GATEWAY_GROUP = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 9]), bytes([239, 1, 2, 3])
OUR_MAC, PEER_MAC = bytes.fromhex("020000000001"), bytes.fromhex("020000000009")
GROUP_MAC = bytes.fromhex("01005e010203")


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", total ^ 0xFFFF)


def ether(payload, dst=OUR_MAC, kind=0x0800):
    return dst + PEER_MAC + struct.pack(">H", kind) + payload


def ipv4(proto, payload, dst=US, ttl=64, flags=0, options=b""):
    head = struct.pack(">BBHHHBBH", 0x45 + len(options) // 4, 0, 20 + len(options) + len(payload), 1, flags, ttl, proto, 0)
    head += PEER + dst + options
    return head[:10] + checksum(head) + head[12:] + payload


def l4(proto, body, at, dst=US):
    """Put the checksum over pseudo header and body at this offset."""
    pseudo = PEER + dst + struct.pack(">BBH", 0, proto, len(body))
    return body[:at] + checksum(pseudo + body) + body[at + 2:]


def udp(port, payload, dst=US):
    return l4(17, struct.pack(">HHHH", 4000, port, 8 + len(payload), 0) + payload, 6, dst)


def tcp(flags, seq=1, ack=0, payload=b"", options=b""):
    head = struct.pack(">HHIIBBHHH", 4000, 80, seq, ack, 0x50 + (len(options) << 2), flags, 8192, 0, 0)
    return l4(6, head + options + payload, 16)


def icmp(kind, payload):
    body = struct.pack(">BBHHH", kind, 0, 0, 1, 1) + payload
    return body[:2] + checksum(body) + body[4:]


def igmp_query(max_resp, version3):
    body = struct.pack(">BBH4s", 0x11, max_resp, 0, bytes(4)) + (bytes([2, 125, 0, 0]) if version3 else b"")
    return body[:2] + checksum(body) + body[4:]


def arp(operation, target=US):
    return struct.pack(">HHBBH", 1, 0x0800, 6, 4, operation) + PEER_MAC + PEER + bytes(6) + target


US6, PEER6 = bytes.fromhex("20010db8" + "00" * 11 + "01"), bytes.fromhex("20010db8" + "00" * 11 + "09")
PEER_LOCAL = bytes.fromhex("fe80" + "00" * 13 + "09")
ALL_NODES, GROUP6 = bytes.fromhex("ff02" + "00" * 13 + "01"), bytes.fromhex("ff05" + "00" * 12 + "1234")
ALERT = bytes.fromhex("3a00050200000100")


def ipv6(proto, payload, dst=US6, src=PEER6, hops=64):
    mac = b"\x33\x33" + dst[12:] if dst[0] == 0xFF else OUR_MAC
    return ether(struct.pack(">IHBB", 6 << 28, len(payload), proto, hops) + src + dst + payload, mac, 0x86DD)


def l4v6(proto, body, at, dst=US6, src=PEER6):
    return body[:at] + checksum(src + dst + struct.pack(">II", len(body), proto) + body) + body[at + 2:]


def tcp6(flags, seq=1, ack=0, payload=b"", options=b""):
    head = struct.pack(">HHIIBBHHH", 4000, 80, seq, ack, 0x50 + (len(options) << 2), flags, 8192, 0, 0)
    return l4v6(6, head + options + payload, 16)


def udp6(dst=US6):
    return l4v6(17, struct.pack(">HHHH", 4000, 5000, 15, 0) + b"payload", 6, dst)


def icmp6(kind, rest, dst=US6, src=PEER6):
    return l4v6(58, struct.pack(">BBH", kind, 0, 0) + rest, 2, dst, src)


def mld_query(version2):
    rest = struct.pack(">HH", 1000, 0) + bytes(16) + (bytes([2, 125, 0, 0]) if version2 else b"")
    return ipv6(0, ALERT + icmp6(130, rest, ALL_NODES, PEER_LOCAL), ALL_NODES, PEER_LOCAL, 1)


SYN_OPTIONS = bytes.fromhex("020405b40402080a00000001000000000103030700000000")[:24]
STAMP = bytes.fromhex("0101080a0000000100000000")
ALL_SYSTEMS = bytes([224, 0, 0, 1])
DATAGRAM = udp(5000, bytes(range(100)))
FRAMES = {
    "arp_request": ether(arp(1), b"\xff" * 6, 0x0806),
    "arp_reply": ether(arp(2), OUR_MAC, 0x0806),
    "icmp_echo": ether(ipv4(1, icmp(8, b"abcdefgh"))),
    "icmp_unreachable": ether(ipv4(1, icmp(3, ipv4(6, tcp(2))[:28]))),
    "igmp_query_v2": ether(ipv4(2, igmp_query(100, False), ALL_SYSTEMS, 1, 0, b"\x94\x04\0\0"), bytes.fromhex("01005e000001")),
    "igmp_query_v3": ether(ipv4(2, igmp_query(100, True), ALL_SYSTEMS, 1, 0, b"\x94\x04\0\0"), bytes.fromhex("01005e000001")),
    "udp": ether(ipv4(17, udp(5000, b"payload"))),
    "udp_multicast": ether(ipv4(17, udp(5000, b"payload", GATEWAY_GROUP), GATEWAY_GROUP), GROUP_MAC),
    "udp_vlan": ether(struct.pack(">HH", 7, 0x0800) + ipv4(17, udp(5000, b"payload")), OUR_MAC, 0x8100),
    "udp_no_port": ether(ipv4(17, udp(9, b""))),
    "fragment_first": ether(ipv4(17, udp(5000, b"payload"), flags=0x2000)),
    "fragment_last": ether(ipv4(17, b"payload", flags=0x0010)),
    "part_first": ether(ipv4(17, DATAGRAM[:48], flags=0x2000)),
    "part_middle": ether(ipv4(17, DATAGRAM[48:96], flags=0x2006)),
    "part_last": ether(ipv4(17, DATAGRAM[96:], flags=0x000c)),
    "part_overlaps": ether(ipv4(17, DATAGRAM[:64], flags=0x2004)),
    "tcp_syn": ether(ipv4(6, tcp(0x02, options=SYN_OPTIONS))),
    "tcp_syn_bare": ether(ipv4(6, tcp(0x02, options=SYN_OPTIONS[:4]))),
    "stamped_ack": ether(ipv4(6, tcp(0x10, 2, 1, options=STAMP))),
    "stamped_data": ether(ipv4(6, tcp(0x18, 2, 1, b"hello", STAMP))),
    "stamped_early": ether(ipv4(6, tcp(0x18, 20, 1, b"world", STAMP))),
    "stamped_sack": ether(ipv4(6, tcp(0x10, 7, 1, options=STAMP + bytes.fromhex("0101050a0000000300000005")))),
    "tcp_ack": ether(ipv4(6, tcp(0x10, 2, 1))),
    "tcp_data": ether(ipv4(6, tcp(0x18, 2, 1, b"hello"))),
    "tcp_fin": ether(ipv4(6, tcp(0x11, 7, 1))),
    "tcp_rst": ether(ipv4(6, tcp(0x04, 2, 0))),
    "ip_options": ether(ipv4(17, udp(5000, b"x"), options=b"\x01\x01\x01\x00")),
    "nd_solicitation": ipv6(58, icmp6(135, bytes(4) + US6 + b"\1\1" + PEER_MAC), hops=255),
    "nd_advertisement": ipv6(58, icmp6(136, b"\x60\0\0\0" + PEER6 + b"\2\1" + PEER_MAC), hops=255),
    "icmp6_echo": ipv6(58, icmp6(128, b"\0\1\0\1abcdefgh")),
    "icmp6_too_big": ipv6(58, icmp6(2, struct.pack(">I", 1300) + struct.pack(">IHBB", 6 << 28, 1440, 6, 64) + US6 + PEER6 +
                                    struct.pack(">HHI", 80, 4000, 1))),
    "mld_query_v1": mld_query(False),
    "mld_query_v2": mld_query(True),
    "udp6": ipv6(17, udp6()),
    "udp6_multicast": ipv6(17, udp6(GROUP6), GROUP6),
    "udp6_options": ipv6(60, b"\x11\0\1\4\0\0\0\0" + udp6()),
    "udp6_routed": ipv6(43, b"\x11\0\4\0\0\0\0\0" + udp6()),
    "fragment6": ipv6(44, b"\x11\0\0\1\0\0\0\1" + udp6()),
    "tcp6_syn": ipv6(6, tcp6(0x02, options=SYN_OPTIONS[:4])),
    "tcp6_ack": ipv6(6, tcp6(0x10, 2, 1)),
    "tcp6_data": ipv6(6, tcp6(0x18, 2, 1, b"hello")),
    "tcp6_fin": ipv6(6, tcp6(0x11, 7, 1)),
    "ipv6": ether(bytes.fromhex("6000000000003b40") + bytes(32), OUR_MAC, 0x86DD),
}


def linked():
    """Return UDP behind the headers of other link types; the last byte chooses the link type."""
    four, six = ipv4(17, udp(5001, b"message!")), udp6()[14:]
    address = bytes([0, 1, 0, 6]) + PEER_MAC + bytes(2)
    yield "null", struct.pack("<I", 2) + four + bytes([1])
    yield "null_big", struct.pack(">I", 30) + six + bytes([1])
    yield "loop", struct.pack(">I", 24) + six + bytes([2])
    yield "raw", four + bytes([3])
    yield "raw6", six + bytes([3])
    yield "ipv6", six + bytes([5])
    yield "sll", bytes([0, 4]) + address + b"\x08\x00" + four + bytes([6])
    yield "sll2", b"\x86\xdd" + bytes([0, 0, 0, 0, 0, 3, 0, 1, 4, 6]) + PEER_MAC + bytes(2) + six + bytes([7])
    yield "sll2_vlan", b"\x81\x00" + bytes([0, 0, 0, 0, 0, 3, 0, 1, 4, 6]) + PEER_MAC + bytes(2) + b"\0\7\x08\0" + four + bytes([7])


def row(*names, wait=1, fix=True):
    """Return a conversation for the net harness."""
    out = b""
    for name in names:
        out += struct.pack(">HB", len(FRAMES[name]), wait | (0x80 if fix else 0)) + FRAMES[name]
    return out


def pcap(magic, order):
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 1)
    for name in ("arp_request", "udp", "tcp_syn"):
        frame = FRAMES[name]
        out += struct.pack(order + "IIII", 1700000000, 123456, len(frame), len(frame) + 4) + frame
    return out


def block(kind, body, order):
    body += bytes(-len(body) % 4)
    total = len(body) + 12
    return struct.pack(order + "II", kind, total) + body + struct.pack(order + "I", total)


def option(code, value, order):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def pcapng(order, tsresol):
    frame = FRAMES["udp"]
    end = struct.pack(order + "HH", 0, 0)
    section = struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + option(4, b"a recorder", order) + end
    interface = struct.pack(order + "HHI", 1, 0, 0) + option(9, bytes([tsresol]), order) + option(2, b"eth0", order) + end
    packet = struct.pack(order + "IIIII", 0, 1, 2, len(frame), len(frame)) + frame + bytes(-len(frame) % 4)
    packet += option(2, struct.pack(order + "I", 1), order) + option(4, struct.pack(order + "Q", 3), order) + end
    statistics = struct.pack(order + "III", 0, 1, 2) + option(4, struct.pack(order + "Q", 1), order) + end
    return (block(0x0A0D0D0A, section, order) + block(1, interface, order) + block(0x80000001, bytes(8), order) +
            block(6, packet, order) + block(3, struct.pack(order + "I", len(frame)) + frame, order) +
            block(5, statistics, order))


def clock():
    record = struct.pack("<QQQqQQQII", 5, 1795235116123456789, 10**9, 3000000, 25, 57, 2596096017576383, 0, 1)
    head = b"TAPCLOK1" + struct.pack("<QQQII", 1795235110000000000, 3000000, (1 << 64) - 1, 1, 2)
    return block(0x80000004, head + record + record, "<")


def pad(used, align):
    gap = -used % align
    return block(0x80000001, bytes(gap + (align if gap < 12 else 0) - 12), "<")


def slab(sequence, names):
    records = b"".join(
        block(6, struct.pack("<IIIII", 0, 1, number, len(FRAMES[name]), len(FRAMES[name])) + FRAMES[name], "<")
        for number, name in enumerate(names))
    head = block(0x80000002, b"TAPSLAB1" + struct.pack("<QQIII16x", 7, sequence, 0, 64 + len(records), len(names)), "<")
    return head + records + pad(len(head + records), 4096)


def recording(*slabs):
    end = struct.pack("<HH", 0, 0)
    head = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + option(4, b"tapline", "<") + end, "<")
    head += block(1, struct.pack("<HHI", 1, 0, 0) + option(9, b"\x09", "<") + end, "<")
    return head + pad(len(head), 4096) + b"".join(slab(i, names) for i, names in enumerate(slabs))


def summed(data):
    """Append the checksum of index sidecars: FNV-1a over words of 8 bytes."""
    total = 0xCBF29CE484222325
    for word in struct.unpack(f"<{len(data) // 8}Q", data):
        total = ((total ^ word) * 0x100000001B3) % (1 << 64)
    return data + struct.pack("<Q", total)


def sidecar(rows, file_bytes=1 << 20):
    out = b""
    for i in range(rows):
        bloom = bytes(range(64)) * (i % 3)
        bloom = bloom if i % 3 != 2 else bloom[:128]
        out += summed(struct.pack("<IIQIIQQQII", 64 + len(bloom), len(bloom), 4096 + i * 8192, 8192, i, i, i + 9, i, 0, 0) +
                      bloom)
    checksum = summed(out)[len(out):]
    return summed(b"TAPINDX2" + struct.pack("<QQI12xQ", file_bytes, 7, rows, len(out)) + checksum) + out


def zstd(content):
    """Return a frame of one raw block, without a checksum."""
    return (struct.pack("<IBI", 0xFD2FB528, 0xA0, len(content)) + (len(content) << 3 | 1).to_bytes(3, "little") + content)


def skippable(magic, content):
    return struct.pack("<II", magic, len(content)) + content


def zpad(unit):
    return unit + skippable(0x184D2A50, bytes(-(len(unit) + 8) % 4096))


def zslab(frame_bytes=None):
    records = pcapng("<", 9)
    head = struct.pack("<II8sQQIII16xI", 0x80000002, 64, b"TAPSLAB1", 7, 0, 0, 64 + len(records), 1, 64)
    frame = zstd(head + records)
    own = head + struct.pack("<IIQ", frame_bytes or len(frame), -(-(88 + len(frame) + 8) // 4096) * 4096, 0)
    return zpad(skippable(0x184D2A54, own) + frame)


def padded(data, align=4096):
    gap = -len(data) % align
    gap += align if 0 < gap < 12 else 0
    return data + (block(0x80000001, bytes(gap - 12), "<") if gap else b"")


def own_head(file, used):
    return block(0x80000002, b"TAPSLAB1" + struct.pack("<QQIIIQQ", 0, 0, 0, used, 0, file, 0), "<") if file else b""


def recording_parts(file=0):
    """Return a recording of two queues, two slabs each: prologue, slabs, statistics. file 0: the format of older
    versions."""
    end = struct.pack("<HH", 0, 0)
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + option(4, b"tapline 0.1.0", "<") + end
    interface = struct.pack("<HHI", 1, 0, 0) + option(9, b"\x09", "<") + end
    prologue = padded(block(0x0A0D0D0A, section, "<") + 2 * block(1, interface, "<") + own_head(file, 64))
    frame = FRAMES["udp"]
    slabs = []
    for i in range(4):
        packet = struct.pack("<IIIII", i % 2, 1, i, len(frame), len(frame)) + frame + bytes(-len(frame) % 4)
        records = 2 * block(6, packet, "<")
        head = b"TAPSLAB1" + struct.pack("<QQIIIQQ", 7, i // 2, i % 2, 64 + len(records), 2, file, 0)
        slabs.append(padded(block(0x80000002, head, "<") + records))
    counters = b"".join(block(5, struct.pack("<III", i, 1, 2) + end, "<") for i in range(2))
    return prologue, slabs, padded(own_head(file, 64 + len(counters)) + counters)


CRC_TABLE = []
for crc in range(256):
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    CRC_TABLE.append(crc)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return struct.pack("<I28x", crc ^ 0xFFFFFFFF)


def digested(sha, units):
    """Return a recording with digests of its units, the last of which is the closing one."""
    magic, digest_of = (b"TAPSLABS", lambda data: hashlib.sha256(data).digest()) if sha else (b"TAPSLABC", crc32c)
    out, chain = b"", bytes(32)
    for i, unit in enumerate(units):
        at = unit.index(b"TAPSLAB1") - 8
        used = at + 64 if i == 0 else struct.unpack_from("<I", unit, 36)[0]
        unit = bytearray(unit[:used])
        if i == len(units) - 1:
            unit += block(0x80000003, struct.pack("<IIQQ", 1 + sha, 0, i, len(out)) + chain, "<")
            unit[36:40] = struct.pack("<I", len(unit))
        unit[at + 8 : at + 16] = magic
        digest = digest_of(struct.pack("<Q", len(out)) + unit[: at + 52] + unit[at + 60 :])
        unit[at + 52 : at + 60] = digest[:8]
        chain = digest_of(chain + digest)
        out += padded(bytes(unit))
    return out


def matched(how, *frames, offsets=0):
    """Return frames for the matcher: each with property bits, and microseconds since the previous one."""
    return bytes([how, offsets]) + b"".join(
        struct.pack("<HH", len(frame) | bits << 8, later) + frame for bits, later, frame in frames)


def session(memory, content, *ops):
    """Return operations for the sessions of a recording: (bits, flags, position, length, acknowledged), positions
    from 64 on."""
    return bytes([memory, content]) + b"".join(
        struct.pack("<BBHBBB", bits, flags, 64 + position, length, ack & 255, ack >> 8) for bits, flags, position, length, ack in ops)


def exchange(segment):
    """Return three datagrams and a stream of replies: split, merged, repeated, overlapping, out of order, across a
    wrap."""
    trigger, reply, cut, back = 16, 0, 8, 32
    ask = [(trigger, 10, ether(ipv4(17, udp(5001, text)))) for text in (b"aaaa", b"bbbbbb", b"aaaa", b"a")]
    start = (1 << 32) - 7
    parts = [(0, b"aaaab"), (9, b"bbaaaa"), (4, b"bbbbb"), (4, b"bbbbbb"), (30, b"a"), (22, b"aaaa")]
    said = [(reply, 5, segment(0x10, start + at & 0xFFFFFFFF, 0, text)) for at, text in parts]
    late = (reply, 60000, segment(0x10, 600, 0, b"bbbbbb"))
    return [(reply, 1, segment(2, start - 1)), *ask, *said, (reply | back, 10, said[0][2]), (trigger | cut, 1, ask[0][2]),
            (trigger, 9, segment(0x10, 5, 0, b"bbbb")), late, ask[1], (reply, 9, ask[1][2]), (trigger | 64, 1, ask[0][2])]


def config():
    return {
        "eal": {"huge": False, "memory_mb": 256, "main_lcore": 0},
        "ports": [{"name": "lan", "device": "eth0", "rx_queues": 2, "lcores": [1, 2], "ip": "192.0.2.1/24",
                   "gateway": "192.0.2.254", "mtu": 1500, "ip_fragments": "count", "promisc": True, "idle": "adaptive"},
                  {"name": "tap", "device": "0000:3b:00.0"}],
        "capture": [{"port": "tap", "path": "x.pcapng", "filter": "udp", "snaplen": 96, "direction": "rx",
                     "rotate_bytes": "64M", "buffer_bytes": 67108864, "io": "pwrite"}],
        "echo": [{"name": "e", "port": "lan", "receive": {"group": "239.1.1.1", "udp_port": 5001, "source": "192.0.2.7"},
                  "send": {"tcp_connect": "192.0.2.2:5002"}, "send_buffer_bytes": "64K", "on_full": "reset"},
                 {"port": "lan", "tcp_listen": 7, "max_connections": 10}, {"port": "lan", "udp_listen": 7}],
        "control": {"socket": "/run/tapline.sock"},
    }


def latency():
    summary = {"min": 500, "p50": 500, "p90": 700, "p99": 700, "p999": 700, "max": 700, "mean": 600.5, "count": 3, "sum": 1900,
               "overflow": 0}
    interval = {"diff": 1.5, "low": -1.0, "high": 3.0}
    return {
        "name": "</script>", "method": "rx-tx", "trigger_source": "nic-rx", "trigger_bound_ns": 8, "reply_source": "nic-tx",
        "reply_bound_ns": 9, "matched": 4, "unmatched_triggers": 1, "reply_first": 1, "latency_ns": summary, "cold_ns": [5000],
        "trigger_unit_ns": 7, "trigger_bound_clock": "NIC", "reply_unit_ns": None, "reply_bound_clock": None,
        "clocks": [{"file": "a.pcapng", "clock": "REALTIME", "comparisons": 3, "steps": 1, "bound_max_ns": 3000000,
                    "offset_max_ns": 3000000, "start_ns": 1795235116123456789,
                    "points": [[0, -3, 57, 25, 2.5e9, False], [1000000000, 3000000, 57, 25, 2.5e9, True]]}],
        "invalid": ["the sender was late"], "facts": {"kernel": "6.1"}, "clocks_shown": "one", "triggers": 5, "window_ns": 1000000,
        "max_loss": 0.25, "quantiles": {"p50": {"late": False}, "p999": {"late": True}},
        "stages": [{"name": "parsed", "latency_ns": summary, "histogram": [[500, 1], [700, 2]]}],
        "sweep": [{"payload_bytes": 16, "latency_ns": summary}, {"payload_bytes": 32, "latency_ns": summary},
                  {"rate_pps": 1000, "latency_ns": summary}],
        "costs": [{"name": "ours", "latency_ns": summary, "p50_ns": interval, "p99_ns": interval, "p999_ns": interval}],
        "outliers": [{"time_ns": 1795235116123456789, "latency_ns": 700, "packet_id": 2, "poll_gap_ns": 500, "interrupts": 1,
                      "steal_ns": None, "note": "late"}],
        "histogram": [[500, 1], [700, 2]],
    }


def seeds():
    yield from (("wire/" + name, frame) for name, frame in FRAMES.items())
    yield from (("edit/" + name, b"\x0f" + frame) for name, frame in FRAMES.items())
    yield from (("wire/link_" + name, frame) for name, frame in linked())
    yield from (("encap/" + name, frame) for name, frame in make_tunnels.frames() if not name.endswith(("4_over_4", "6_over_6")) and
                ("_in_" not in name or name.startswith("gtp_extension")))
    yield "net/resolve", row("arp_request", "arp_reply", "icmp_echo", "icmp_unreachable")
    yield "net/groups", row("igmp_query_v3", "igmp_query_v2", "udp_multicast", wait=100)
    yield "net/datagrams", row("arp_reply", "udp", "udp_multicast", "udp_no_port", "udp_vlan", "fragment_first",
                               "fragment_last")
    yield "net/fragments", row("arp_reply", "part_last", "part_first", "part_first", "part_middle", "part_first",
                               "part_overlaps", "part_middle", wait=100)
    yield "net/connection", row("arp_reply", "tcp_syn_bare", "tcp_ack", "tcp_data", "tcp_fin", "tcp_rst")
    yield "net/stamped", row("arp_reply", "tcp_syn", "stamped_ack", "stamped_data", "stamped_data", "stamped_early",
                             "stamped_sack", "tcp_rst")
    yield "net/many_syns", row("arp_reply", *["tcp_syn"] * 12, wait=127)
    yield "net/ipv6_resolve", row("nd_solicitation", "nd_advertisement", "icmp6_echo", "icmp6_too_big")
    yield "net/ipv6_groups", row("mld_query_v2", "mld_query_v1", "udp6_multicast", wait=100)
    yield "net/ipv6_datagrams", row("nd_solicitation", "udp6", "udp6_options", "udp6_routed", "fragment6")
    yield "net/ipv6_connection", row("nd_solicitation", "tcp6_syn", "tcp6_ack", "tcp6_data", "icmp6_too_big", "tcp6_fin")
    yield "net/wrong_checksums", row("udp", "tcp_syn", "icmp_echo", fix=False)
    over4, over6 = (exchange(lambda *what: ether(ipv4(6, tcp(*what)))), exchange(tcp6))
    yield "match/payload", matched(0, *over4)
    yield "match/payload_unique6", matched(0, *over6, offsets=128)
    yield "match/sequence", matched(1, *over4, offsets=5)
    yield "match/sequence_lengths", matched(130, *over4, offsets=1)
    yield "match/position", matched(2, *over4)
    opening = [(32, 2, 0, 0, 0), (33, 18, 0, 0, 1), (32, 16, 1, 0, 1)]
    closing = [(32, 17, 41, 0, 31), (33, 17, 31, 0, 42), (32, 16, 42, 0, 32)]
    said = [(32, 24, 1, 20, 1), (32, 24, 31, 10, 1), (32, 24, 15, 20, 1), (33, 24, 11, 20, 41), (33, 24, 1, 15, 41)]
    yield "session/complete", session(255, 0, *opening, *said, *closing)
    yield "session/twice", session(255, 0, *opening, *said, *closing, *[(bits | 18, *rest) for bits, *rest in opening], (50, 4, 1, 0, 0))
    yield "session/small", session(0, 2, *opening, *said, *closing)
    yield "session/cut_and_hole", session(9, 0, *opening, (40, 24, 1, 20, 1), *[(bits | 4, *rest) for bits, *rest in [*opening, said[1]]])
    frame = ether(ipv4(6, tcp(2, 7)))
    yield "session/raw", session(9, 0, *opening, (0, 255, len(frame) - 64, 0, 0)) + frame
    yield "pcapfile/ns_little", pcap(0xA1B23C4D, "<")
    yield "pcapfile/us_big", pcap(0xA1B2C3D4, ">")
    yield "pcapfile/ng_little_ns", pcapng("<", 9)
    yield "pcapfile/ng_big_us", pcapng(">", 6)
    yield "pcapfile/ng_binary_resolution", pcapng("<", 0x80 | 20)
    yield "pcapfile/ng_clock", pcapng("<", 9) + clock()
    yield "pcapfile/ng_two_sections", pcapng("<", 9) + pcapng(">", 9)
    names = list(FRAMES)
    yield "index/rows", sidecar(5)
    yield "index/rows_past_the_file", sidecar(5, 20000)
    yield "index/slab", slab(3, names)
    yield "index/ipv6_extensions", ether(bytes.fromhex("6000000000180040") + bytes(range(32)) +
                                         bytes.fromhex("3c000000000000000600000000000000") + bytes(8), OUR_MAC, 0x86DD)
    yield "extract/recording", recording(names[:9], names[9:], names[:3])
    yield "extract/hole", recording(names)[:6000] + bytes(8192) + slab(1, names)
    yield "extract/ng_big_us", pcapng(">", 6)
    yield "extract/ng_two_orders", pcapng("<", 9) + pcapng(">", 0x80 | 20)
    yield "extract/classic", pcap(0xA1B23C4D, "<")
    yield "extract/rows", sidecar(5)
    yield "extract/zstd", zpad(zstd(pcapng("<", 9))) + zslab() + zslab()
    yield "zslab/blocks", zpad(zstd(pcapng("<", 9)))
    yield "zslab/recording", zpad(zstd(pcapng("<", 9))) + zslab() + zslab() + zpad(zstd(b""))
    yield "zslab/other_length", zslab(17)
    yield "zslab/no_padding", zslab()[:-8]
    prologue, slabs, statistics = recording_parts()
    whole, page = prologue + b"".join(slabs) + statistics, bytes(4096)
    yield "recover/whole", whole
    yield "recover/no_statistics", whole[:-4096]
    yield "recover/hole", prologue + slabs[0] + page + slabs[2] + slabs[3] + statistics
    yield "recover/torn", prologue + slabs[0] + slabs[1][:100] + page[100:] + slabs[3] + page
    yield "recover/swapped", prologue + slabs[1] + page + slabs[0] + slabs[3][:-512]
    yield "recover/no_prologue", page + b"".join(slabs)
    yield "recover/torn_prologue", prologue[:70] + page[70:] + slabs[0] + slabs[1]
    again, others, end = recording_parts(0x1234)
    yield "recover/numbered", again + b"".join(others) + end
    yield "recover/numbered_hole", again + others[0] + page + others[2] + end
    yield "recover/numbered_torn", again[:300] + page[300:] + others[0] + others[1][:-512]
    yield "recover/written_over", again + others[0] + slabs[1] + others[2] + slabs[3] + statistics
    yield "recover/not_begun_again", again + b"".join(slabs) + statistics
    yield "recover/numbers_differ", prologue + slabs[0] + others[1] + slabs[2] + end
    for sha, name in ((False, "crc32c"), (True, "sha256")):
        whole = digested(sha, [again, *others, end, end])
        yield "head/" + name, whole
        yield "recover/" + name, whole[:-4096]
    yield "head/damaged", whole[:5000] + b"?" + whole[5001:]
    yield "head/moved", whole[:4096] + whole[8192:12288] + whole[4096:8192] + whole[12288:]
    yield "head/recovered", whole[:8192] + padded(own_head(0x1234, 64)) + whole[12288:]
    yield "head/without", again + b"".join(others) + end
    yield "head/prologue_lost", page + whole[4096:]
    yield "head/chain", whole[whole.index(struct.pack("<II", 0x80000003, 68)) :][:68]
    yield "ctl/status", b"status\n"
    yield "ctl/verb_of_a_recording", b"trigger /data/a b.pcapng\nstatus\n"
    yield "ctl/no_end", b"rotate"
    yield "ctl/zero_in_the_line", b"pau\0se\n"
    yield "ctl/fills_the_first_buffer", b"pause " + b"x" * 65528 + b"\n"
    yield "ctl/beyond_the_first_buffer", b"pause " + b"x" * 65529 + b"\n"
    add, load, indirect, bits, equal, jump, end = range(7)  # numbers of fuzz_mend.c
    yield "mend/every_form", bytes([load, 0, indirect, 0, bits, 3, equal, 1, add, 0, end, 0, jump, 1, indirect, 0, end, 0])
    yield "mend/jumps_to_the_end", bytes([0x81, 0, indirect, 0, 0x83, 0] * 40)
    yield "mend/distance_129", bytes([bits, 40] + [indirect, 0, bits, 5] * 30 + [end, 0])
    yield "mend/longest_that_a_jump_spans", bytes([indirect, 0] * 10922)
    yield "mend/too_long_for_a_jump", bytes([indirect, 0] * 10923)
    text = json.dumps(config())
    yield "config/all_keys", text.encode()
    yield "config/unknown_key", text.replace('"mtu"', '"mtv"').encode()
    yield "config/duplicate_key", text.replace('"mtu": 1500', '"mtu": 1500, "mtu": 1500').encode()
    yield "config/wrong_types", text.replace("1500", '"1500"').replace("true", "1").encode()
    yield "config/escapes", text.replace("eth0", "e\\u0074h\\n0\\ud83d\\ude00").encode()
    below = [{"name": "c", "match": "udp", "ceil": "1.5Mbit", "fair": "flow", "flows": 64, "limit_ms": 5},
             {"name": "d", "default": True, "limit": 10, "limit_bytes": "64K"}]
    shape = {"name": "wan", "port": "lan", "queue": 1, "rate": "2Mbit", "burst": "100k", "overhead": 24, "classes": [
        {"name": "a", "echo": "e", "rate": "128kbit", "prio": 1, "quantum": 3000}, {"name": "b", "rate": 1500000, "classes": below}]}
    yield "config/shape", json.dumps(config() | {"shape": [shape]}).encode()
    policed = config()
    policed["capture"][0] |= {"inner": True, "classes": [
        {"name": "a", "match": "udp", "vlan": 5, "dscp": 46, "prefix": "192.0.2.0/24", "cir": "1Mbit", "cbs": 2000, "ebs": "3k", "snaplen": 64},
        {"name": "b", "prefix": "2001:db8::1", "unit": "packets", "cir": 5, "cbs": 1, "pir": 6, "pbs": 2, "per": "flow", "meters": 64},
        {"name": "c", "default": True, "cir": 8, "cbs": 1518, "eir": 9, "ebs": 1518, "per": "source"}]}
    yield "config/classes", json.dumps(policed).encode()
    yield "config/deep", b"[" * 3000
    yield "config/not_utf8", text.encode().replace(b"eth0", b"\xff\xfe\x00")
    yield "config/empty", b""
    text = json.dumps(latency())
    yield "latency/all_keys", text.encode()
    yield "latency/counts_differ", text.replace('"count": 3', '"count": 4').encode()
    yield "latency/huge_counts", text.replace("[500, 1]", "[500, 4611686018427387904]").replace(
        '"count": 3', '"count": 4611686018427387906').encode()
    yield "latency/wrong_types", text.replace("500", '"500"').replace("null", "[]").encode()
    yield "latency/negative", text.replace("500", "-500").encode()
    blocks = {"start_ns": 1795235116123456789, "span_ns": 3000, "in_blocks": 48, "blocks": [[2, 1200, i % 2, 2, 2, 2] for i in range(24)]}
    text = json.dumps(latency() | {"series": blocks, "invalid": [], "histogram": [[500, 12], [700, 36]]}).replace('"count": 3', '"count": 48')
    yield "latency/blocks", text.encode()
    yield "latency/blocks_of_nothing", text.replace("[2, 1200", "[0, 1200").encode()
    yield "latency/no_samples", b'{"latency_ns": {"count": 0, "min": null}, "histogram": []}'


for name, data in seeds():
    path = CORPUS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
