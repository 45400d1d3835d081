#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""web_sessions.py ADDRESS PORT COUNT: as many connections to a web server, eight at a time, with one to four requests each: pages of
several sizes, compressed ones, parts, uploads, missing pages, two requests at once. The first request of each is for /page/5. Odd
connections are closed by the server. web_sessions.py pages DIRECTORY: create the pages."""

import asyncio
import os
import sys

SIZES = (5, 1000, 30000, 200000)
AT_A_TIME = 8


def get(path, *lines, method="GET"):
    return "".join(f"{line}\r\n" for line in (f"{method} {path} HTTP/1.1", "Host: web", *lines))


def request(number, i):
    """Return the head, without its end, and the body."""
    if i == 0:
        return get("/page/5"), b""
    upload = b"u" * (997 * (number % 20))
    heads = (
        (get(f"/page/{SIZES[number % 4]}"), b""),
        (get("/page/30000", "Accept-Encoding: gzip"), b""),
        (get("/page/1000", method="HEAD"), b""),
        (get(f"/missing/{number % 10}"), b""),
        (get("/page/30000", "Range: bytes=100-1999"), b""),
        (get("/page/1000", "If-Modified-Since: Fri, 31 Dec 2100 00:00:00 GMT"), b""),
        (get("/upload", f"Content-Length: {len(upload)}", method="POST"), upload),
    )
    return heads[(number * 3 + i) % len(heads)]


async def read_answer(reader, has_body):
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    if not has_body or head.split()[1] == "304":
        return
    if "transfer-encoding: chunked" in head:
        while (size := int(await reader.readline(), 16)) != 0:
            await reader.readexactly(size + 2)
        await reader.readexactly(2)
        return
    await reader.readexactly(int(head.split("content-length:")[1].split()[0]))


async def connect(address, port, number, gate):
    async with gate:
        reader, writer = await asyncio.open_connection(address, port)
        requests = [request(number, i) for i in range(1 + number % 4)]
        at_once = number % 5 == 0
        for i, (head, body) in enumerate(requests):
            close = "Connection: close\r\n" if number % 2 and i + 1 == len(requests) else ""
            writer.write(head.encode() + close.encode() + b"\r\n" + body)
            if not at_once:
                await read_answer(reader, not head.startswith("HEAD"))
        if at_once:
            for head, _ in requests:
                await read_answer(reader, not head.startswith("HEAD"))
        if number % 2 and await reader.read() != b"":
            raise RuntimeError("more than was asked for")
        writer.close()
        await writer.wait_closed()


async def connect_all(address, port, count):
    gate = asyncio.Semaphore(AT_A_TIME)
    await asyncio.gather(*(connect(address, port, number, gate) for number in range(1, count + 1)))


def make_pages(directory):
    os.makedirs(f"{directory}/page")
    for size in SIZES:
        with open(f"{directory}/page/{size}", "wb") as page:
            page.write((b"page of %d bytes\n" % size * (size // 10 + 1))[:size])


def main():
    if sys.argv[1] == "pages":
        make_pages(sys.argv[2])
    else:
        asyncio.run(connect_all(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))


main()
