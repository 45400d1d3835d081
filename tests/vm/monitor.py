#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""monitor.py SOCKET COMMAND: send a command to QEMU's monitor, and print its output."""

import socket
import sys

PROMPT = b"(qemu) "


def until_prompt(s):
    said = b""
    while not said.endswith(PROMPT) and (data := s.recv(4096)):
        said += data
    return said.decode(errors="replace")


def main(path, command):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(path)
        until_prompt(s)
        s.sendall(command.encode() + b"\n")
        print(*until_prompt(s).splitlines()[1:-1], sep="\n")  # between the echo and the prompt


main(*sys.argv[1:])
