#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""send_pcap.py INTERFACE FILE RATE [qdisc]: send the frames of a pcap file in order, RATE per second, and print their number.
qdisc: through the queueing discipline of the interface and its filters."""

import errno
import socket
import struct
import sys
import time

SOL_PACKET, PACKET_QDISC_BYPASS = 263, 20  # not in the socket module

def frames(path):
    with open(path, "rb") as file:
        file.read(24)
        while head := file.read(16):
            yield file.read(struct.unpack("<IIII", head)[2])


def send(s, frame):
    """Send a frame. Without the qdisc, which would reorder flows, a full ring is an error."""
    while True:
        try:
            return s.send(frame)
        except OSError as e:
            if e.errno != errno.ENOBUFS:
                raise
        time.sleep(0.001)


def main(interface, path, rate, way="bypass"):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, way != "qdisc")
    s.bind((interface, 0))
    begin, sent = time.monotonic(), 0
    for frame in frames(path):
        ahead = begin + sent / float(rate) - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
        send(s, frame)
        sent += 1
    print(sent)


main(*sys.argv[1:])
