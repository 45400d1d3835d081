#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""guest_marks.py DIRECTORY DEVICE TAIL: looks again and again which complete recordings there are, and writes it to sector TAIL
of the device, behind the file system: so it stands in the log of the device, between what was written before and after. A
mark names each file with a sum of its bytes. Ends when /out/recorded is there."""

import hashlib
import json
import mmap
import os
import sys
import time

MARK_BYTES = 4096


def complete_files(directory, sums):
    """name -> sum; a name is never given twice, so each is read once."""
    names = [name for name in os.listdir(directory) if name.endswith(".pcapng") and not name.startswith(".")]
    for name in names:
        if name not in sums:
            try:
                with open(os.path.join(directory, name), "rb") as file:
                    sums[name] = hashlib.sha1(file.read()).hexdigest()
            except FileNotFoundError:
                pass
    return {name: sums[name] for name in os.listdir(directory) if name in sums}


def main(directory, device, tail):
    out = os.open(device, os.O_WRONLY | os.O_DIRECT)
    page, sums, number = mmap.mmap(-1, MARK_BYTES), {}, 0  # aligned, as O_DIRECT wants it
    last = False
    while not last:
        last = os.path.exists("/out/recorded")
        number += 1
        text = json.dumps({"mark": number, "files": complete_files(directory, sums)}).encode()
        page.seek(0)
        page.write(text.ljust(MARK_BYTES, b"\0"))
        os.pwritev(out, [page], tail * 512)
        time.sleep(0.02)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
