# SPDX-License-Identifier: BSD-3-Clause
"""The log of a disk written by QEMU's blklogwrites (dm-log-writes' format), and the disk as a loss of power may
leave it."""

import json
import os
import struct
from dataclasses import dataclass

MAGIC, SECTOR = 0x6A736677736872, 512
FLUSH, FUA, DISCARD = 1, 2, 4
# A torn write breaks between sectors. File systems rely on atomic blocks of 4096 bytes, as disks promise today;
# recordings do not, and the large writes are theirs.
BLOCK, LARGE = 4096, 256 << 10


@dataclass
class Entry:
    """A write, a flush, or both; the data is in the log at an offset."""
    sector: int
    bytes: int
    flags: int
    at: int


class Log:
    def __init__(self, path, tail):
        """tail: the sector of the marks, after the file system."""
        self.file = open(path, "rb")
        magic, version, count, self.unit = struct.unpack("<QQQI", self.file.read(28))
        if magic != MAGIC or version != 1:
            raise SystemExit(f"{path}: no log of writes")
        self.entries, self.marks = [], []  # a mark: index of the entry before which it was written, and its files
        at, size = self.unit, os.path.getsize(path)
        for _ in range(count):
            self.file.seek(at)
            sector, sectors, flags, _ = struct.unpack("<QQQQ", self.file.read(32))
            data = 0 if flags & DISCARD else sectors * self.unit
            entry = Entry(sector * self.unit, sectors * self.unit, flags, at + self.unit)
            at += self.unit + data
            if at > size:
                raise SystemExit(f"{path}: ends within entry {len(self.entries)}")
            if data and entry.sector >= tail * SECTOR:
                self.marks.append((len(self.entries), json.loads(self.data(entry).rstrip(b"\0"))["files"]))
            else:
                self.entries.append(entry)

    def data(self, entry):
        self.file.seek(entry.at)
        return self.file.read(entry.bytes)

    def last_flush(self, end):
        """Return how many of the first entries certainly survive a loss of power before entry end."""
        return max((i + 1 for i in range(end) if self.entries[i].flags & FLUSH), default=0)

    def files_written_again(self):
        """Return how many recordings were written into reused files: their HEADs have a checksum."""
        files = set()
        for entry in self.entries:
            head = self.data(entry)[:64] if entry.bytes and not entry.flags & DISCARD else b""
            if head[8:16] == b"TAPSLAB1" and head[52:60] != bytes(8):
                files.add(head[44:52])
        return len(files)


class Disk:
    """The disk with all confirmed data, which only grows."""

    def __init__(self, log, path):
        self.log, self.path, self.applied = log, path, 0

    def _write(self, file, entry):
        if entry.bytes and not entry.flags & DISCARD:
            file.seek(entry.sector)
            file.write(self.log.data(entry))

    def _write_torn(self, file, entry, rng):
        data, step = self.log.data(entry), SECTOR if entry.bytes >= LARGE else BLOCK
        for at in range(0, entry.bytes, step):
            if rng.random() < 0.5:
                file.seek(entry.sector + at)
                file.write(data[at:at + step])

    def advance(self, end):
        with open(self.path, "r+b") as file:
            for entry in self.log.entries[self.applied:end]:
                self._write(file, entry)
        self.applied = max(self.applied, end)

    def crash(self, end, rng, out):
        """Build the disk after a loss of power before entry end: of the unflushed writes some are applied, in any
        order, one of them partly. Return a description."""
        self.advance(self.log.last_flush(end))
        pending = [entry for entry in self.log.entries[self.applied:end] if entry.bytes and not entry.flags & DISCARD]
        share = rng.choice([0.0, 0.3, 0.7, 1.0])
        kept = [entry for entry in pending if entry.flags & FUA or rng.random() < share]
        rng.shuffle(kept)
        torn = kept.pop() if kept and rng.random() < 0.5 and not kept[-1].flags & FUA else None
        copy_sparse(self.path, out)
        with open(out, "r+b") as file:
            for entry in kept:
                self._write(file, entry)
            if torn:
                self._write_torn(file, torn, rng)
        return f"before entry {end}: {len(pending)} not flushed, {len(kept)} kept, {'one torn' if torn else 'none torn'}"


def copy_sparse(source, target):
    """Copy a file and keep its holes."""
    size = os.path.getsize(source)
    with open(source, "rb") as read, open(target, "wb") as write:
        write.truncate(size)
        at = 0
        while True:
            try:
                begin = os.lseek(read.fileno(), at, os.SEEK_DATA)
            except OSError:
                return
            at = os.lseek(read.fileno(), begin, os.SEEK_HOLE)
            os.lseek(read.fileno(), begin, os.SEEK_SET)
            os.lseek(write.fileno(), begin, os.SEEK_SET)
            left = at - begin
            while left > 0:
                left -= os.copy_file_range(read.fileno(), write.fileno(), left)
