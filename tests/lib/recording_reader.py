# SPDX-License-Identifier: BSD-3-Clause
"""Read recordings without any Tapline code: pcapng, classic pcap, and either of them compressed by zstd. A file is complete, or
Broken has the place of the error."""

import struct
import subprocess

SHB, IDB, ISB, EPB, PAD, HEAD, CHAIN = 0x0A0D0D0A, 1, 5, 6, 0x80000001, 0x80000002, 0x80000003
PCAP_NS = b"\x4d\x3c\xb2\xa1"
ZSTD_MAGICS = (b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18")


class Broken(Exception):
    pass


def blocks(data):
    at = 0
    while at < len(data):
        if at + 12 > len(data):
            raise Broken(f"{len(data) - at} bytes behind the last block")
        kind, length = struct.unpack_from("<II", data, at)
        if length < 12 or length % 4 or at + length > len(data):
            raise Broken(f"no block at {at}")
        if struct.unpack_from("<I", data, at + length - 4)[0] != length:
            raise Broken(f"the lengths of the block at {at} differ")
        yield at, kind, length
        at += length


def pcapng_frames(data, closed):
    frames, kinds, files = [], [], set()
    promised = 0  # records announced by the last HEAD that have not come yet
    for at, kind, length in blocks(data):
        if not kinds and kind != SHB:
            raise Broken("no section header")
        if kind == HEAD:
            if promised:
                raise Broken(f"{promised} records too few before {at}")
            _, _, _, promised, file = struct.unpack_from("<QIIIQ", data, at + 24)
            files.add(file)
        elif kind == EPB:
            captured = struct.unpack_from("<I", data, at + 20)[0]
            if captured > length - 32:
                raise Broken(f"the record at {at} is longer than its block")
            frames.append(data[at + 28:at + 28 + captured])
            promised -= 1
        elif kind not in (SHB, IDB, ISB, PAD, CHAIN):
            raise Broken(f"a block of type {kind:#x} at {at}")
        kinds.append(kind)
    if not kinds:
        raise Broken("nothing in it")
    if promised and files:
        raise Broken(f"{promised} records too few at the end")
    if len(files) > 1:
        raise Broken(f"has slabs of {len(files)} files")
    closing = [kind for kind in kinds if kind not in (PAD, HEAD, CHAIN)][-kinds.count(IDB):]
    if closed and any(kind != ISB for kind in closing):
        raise Broken("not closed by statistics")
    return frames


def pcap_frames(data):
    frames, at = [], 24
    while at < len(data):
        if at + 16 > len(data):
            raise Broken(f"cut within the record at {at}")
        captured = struct.unpack_from("<I", data, at + 8)[0]
        if at + 16 + captured > len(data):
            raise Broken(f"cut within the record at {at}")
        frames.append(data[at + 16:at + 16 + captured])
        at += 16 + captured
    return frames


def read(path, closed=True):
    """Return the frames of a complete file, closed by statistics like a recording; raise Broken otherwise."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] in ZSTD_MAGICS or path.endswith(".zst"):
        unpacked = subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=False)
        if unpacked.returncode != 0:
            raise Broken("zstd: " + unpacked.stderr.decode(errors="replace").strip()[-200:])
        data = unpacked.stdout
    return pcap_frames(data) if data[:4] == PCAP_NS else pcapng_frames(data, closed)
