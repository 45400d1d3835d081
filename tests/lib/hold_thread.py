#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hold_thread.py PID NAME [NUMBER OF]: stop the only thread of that name, like a stalled disk, and no other thread of the
process; with NUMBER the one of this number, in the order of their starts, out of OF such threads. Print "held"; resume it at the
end of standard input, or at exit."""

import ctypes
import os
import sys
from pathlib import Path

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000  # waitpid(): threads too

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, thread):
    if libc.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace: {os.strerror(ctypes.get_errno())}")


def main(pid, name, number="1", of="1"):
    threads = sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()
                     if (task / "comm").read_text().strip() == name)
    if len(threads) != int(of):
        sys.exit(f"process {pid} has {len(threads)} threads called {name}, not {of}")
    thread = threads[int(number) - 1]
    ptrace(PTRACE_SEIZE, thread)
    ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WALL)
    print("held", flush=True)
    sys.stdin.read()
    ptrace(PTRACE_DETACH, thread)


main(*sys.argv[1:])
