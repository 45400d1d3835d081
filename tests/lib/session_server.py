#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""session_server.py serve ADDRESS PORT LOG: a small HTTP server that answers on PORT, changes a byte of each answer on PORT + 1,
resets each connection at its first request on PORT + 2, and never answers on PORT + 3. When a connection to PORT has ended, LOG
gets a line with a digest of its requests and the client's address. Datagrams are answered by two, by two others on PORT + 1, not at all on the
other ports; LOG.udp gets a line for each on PORT. Prints "listening".
session_server.py ask ADDRESS PORT COUNT: as many sessions, five at a time: several requests per connection, uploads and large
answers, closed by the client or by the server.
session_server.py ask-udp ADDRESS PORT COUNT: as many sockets, each with three datagrams, each after the answers to the one before."""

import asyncio
import hashlib
import socket
import struct
import sys


def body_of(path):
    size = int(path.rsplit("/", 1)[1])
    return (path.encode() * (size // len(path) + 1))[:size]


async def read_request(reader):
    """Return (head, body)."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    return head, await reader.readexactly(length[0]) if length else b""


class Server:
    def __init__(self, habit, log):
        self.habit = habit
        self.log = log

    async def serve(self, reader, writer):
        digest = hashlib.sha256()
        try:
            while await self.answer(reader, writer, digest):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()
        if self.habit == "answer":
            self.log.write(f"{digest.hexdigest()} {writer.get_extra_info('peername')[0]}\n")
            self.log.flush()

    async def answer(self, reader, writer, digest):
        """Answer a request. False: the connection is to be closed."""
        head, upload = await read_request(reader)
        digest.update(head + upload)
        body = body_of(head.split()[1].decode())
        if self.habit == "stall":
            await reader.read()
            return False
        if self.habit == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if self.habit == "lie":
            body = b"?" + body[1:]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        return b"Connection: close" not in head


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, habit, log):
        self.habit = habit
        self.log = log
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        if self.habit == "answer":
            self.log.write(f"{data.decode()}\n")
            self.log.flush()
        if self.habit in ("answer", "lie"):
            self.transport.sendto((b"got " if self.habit == "answer" else b"God ") + data, addr)
            self.transport.sendto(b"more", addr)


async def serve(address, port, path):
    with open(path, "a", encoding="ascii") as log, open(f"{path}.udp", "a", encoding="ascii") as udp_log:
        for i, habit in enumerate(("answer", "lie", "reset", "stall")):
            await asyncio.start_server(Server(habit, log).serve, address, port + i, backlog=1024)
            await asyncio.get_running_loop().create_datagram_endpoint(lambda habit=habit: Datagrams(habit, udp_log), (address, port + i))
        print("listening", flush=True)
        await asyncio.Event().wait()


async def ask(address, port, number, gate):
    async with gate:
        reader, writer = await asyncio.open_connection(address, port)
        for i, size in enumerate((5, 1000 * (number % 20), 30000)[:1 + number % 3]):
            upload = b"u" * (997 * (number % 20) if i == 1 else 0)
            last = i == number % 3
            writer.write(b"POST /%d/%d/%d HTTP/1.1\r\nContent-Length: %d\r\n" % (number, i, size, len(upload)) +
                         (b"Connection: close\r\n" if last and number % 2 else b"") + b"\r\n" + upload)
            await read_request(reader)
        if number % 2:
            await reader.read()
        writer.close()
        await writer.wait_closed()


async def ask_all(address, port, count):
    gate = asyncio.Semaphore(5)
    await asyncio.gather(*(ask(address, port, number, gate) for number in range(1, count + 1)))


def ask_udp(address, port, count):
    clients = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]  # open together: each has its own port
    for number, client in enumerate(clients):
        client.settimeout(30)
        client.connect((address, port))
        for i in range(3):
            client.send(b"%d of %d" % (i, number))
            client.recv(100)
            client.recv(100)


def main():
    what, address, port, last = sys.argv[1:]
    if what == "serve":
        asyncio.run(serve(address, int(port), last))
    elif what == "ask-udp":
        ask_udp(address, int(port), int(last))
    else:
        asyncio.run(ask_all(address, int(port), int(last)))


main()
