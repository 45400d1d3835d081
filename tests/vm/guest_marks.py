#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""guest_marks.py DIRECTORY DEVICE TAIL: repeatedly write the list of complete recordings to sector TAIL of the
device, after the file system: the log of the device then has it between the writes before and after. A mark has the
name and a checksum of each file. Ends when /out/recorded exists."""

import hashlib
import json
import mmap
import os
import sys
import time

MARK_BYTES = 4096


def complete_files(directory, sums):
    """Return name -> checksum; names are never reused, therefore each file is read once."""
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
    page, sums, number = mmap.mmap(-1, MARK_BYTES), {}, 0  # aligned for O_DIRECT
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
