#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Operations of tests on the model of the 82599 (tests/ixgbe/README.md).

  card.py card DIR ADDRESS DEVICE WIRE    make a card in the simulated sysfs DIR: DEVICE 10f7, 10fb, 1528 or 1563,
                                           WIRE "none", "loop", "peer ADDRESS" or "tap INTERFACE"
  card.py ask VERB CARD [WORD]...         send a request to the running model (tests/ixgbe/model/control.c); print the reply
  card.py inject CARD FILE [TIMES]        input each frame of a classic pcap file
  card.py flood CARD FILE N               input the first frame of the file N times in a row
  card.py take CARD FILE                  write sent frames to a classic pcap file; print their number

IXGBE_MODEL names the model's socket.
"""

import os
import socket
import struct
import sys


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text + "\n")


def make_card(folder, address, device, wire):
    card = os.path.join(folder, "sys/bus/pci/devices", address)
    number = len(os.listdir(os.path.dirname(card))) if os.path.isdir(os.path.dirname(card)) else 0
    driver = os.path.join(folder, "sys/bus/pci/drivers/igb_uio")
    os.makedirs(os.path.join(card, f"uio/uio{900 + number}"))
    os.makedirs(driver, exist_ok=True)
    os.symlink(os.path.relpath(driver, card), os.path.join(card, "driver"))
    base = 0xE0000000 + number * 0x100000
    bars = [f"0x{base:016x} 0x{base + 0x1FFFF:016x} 0x0000000000040200"] + ["0x0 0x0 0x0"] * 12
    for name, text in {"vendor": "0x8086", "device": "0x" + device, "subsystem_vendor": "0x8086",
                       "subsystem_device": "0x0001", "class": "0x020000", "numa_node": "-1", "max_vfs": "0",
                       "resource": "\n".join(bars), "wire": wire}.items():
        put(os.path.join(card, name), text)


def connect():
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.settimeout(30)
    control.connect(os.environ["IXGBE_MODEL"])
    return control


def ask(control, line, frame=b""):
    control.send(line.encode() + (b"\n" + frame if frame else b""))
    answer = control.recv(65536)
    text, _, rest = answer.partition(b"\n")
    if not text.startswith(b"ok"):
        sys.exit(f"{line}: {text.decode()}")
    return text.decode()[3:], rest


def read_frames(path):
    with open(path, "rb") as file:
        data = file.read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at = 24
    while at < len(data):
        length = struct.unpack_from(order + "I", data, at + 8)[0]
        yield data[at + 16:at + 16 + length]
        at += 16 + length


def inject(card, path, times):
    control = connect()
    for _ in range(times):
        for frame in read_frames(path):
            ask(control, f"inject {card} 1", frame.ljust(60, b"\0"))


def take(card, path):
    control = connect()
    n = 0
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        while (frame := ask(control, f"take {card}")[1]) != b"":
            file.write(struct.pack("<IIII", 0, n, len(frame), len(frame)) + frame)
            n += 1
    print(n)


def main(command, *words):
    if command == "card":
        make_card(*words)
    elif command == "ask":
        print(ask(connect(), " ".join(words))[0])
    elif command == "inject":
        inject(words[0], words[1], int(words[2]) if len(words) > 2 else 1)
    elif command == "flood":
        ask(connect(), f"inject {words[0]} {words[2]}", next(read_frames(words[1])))
    elif command == "take":
        take(*words)
    else:
        sys.exit(__doc__)


main(*sys.argv[1:])
