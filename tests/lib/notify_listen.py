#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""notify_listen.py SOCKET: act as the service manager of sd_notify(3): print each received line, until killed.
A SOCKET that begins with @ is in the abstract namespace."""

import socket
import sys

name = sys.argv[1]
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind("\0" + name[1:] if name.startswith("@") else name)
print("listening", flush=True)
while True:
    print(manager.recv(4096).decode(), flush=True)
