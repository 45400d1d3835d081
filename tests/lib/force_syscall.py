#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""force_syscall.py PID THREAD execve|openat: makes a thread of a process, by its name, call the kernel, as an intruder in
it would: stops it, puts the instruction where it is, and lets it go on."""

import ctypes
import pathlib
import sys

ATTACH, DETACH, GETREGS, SETREGS, POKE = 16, 17, 12, 13, 5
CALLS = {"openat": 257, "execve": 59}
REGS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs "
        "gs").split()
libc = ctypes.CDLL(None, use_errno=True)


class Regs(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in REGS]


def ptrace(request, tid, address, data):
    if libc.ptrace(request, tid, ctypes.c_void_p(address), data) < 0:
        sys.exit(f"ptrace {request}: errno {ctypes.get_errno()}")


def tid_of(pid, name):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            return int(task.name)
    sys.exit(f"there is no thread {name}")


def main():
    pid, name, call = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    tid, regs = tid_of(pid, name), Regs()
    ptrace(ATTACH, tid, 0, None)
    libc.waitpid(tid, None, 0x40000000)  # __WALL
    ptrace(GETREGS, tid, 0, ctypes.byref(regs))
    text = regs.rip & ~0xFFF | 0x800  # in the same page: it is code
    ptrace(POKE, tid, text, ctypes.c_void_p(0x050F))  # syscall
    regs.rip, regs.rax, regs.orig_rax = text, CALLS[call], 2**64 - 1  # no call is to be restarted
    regs.rdi, regs.rsi, regs.rdx, regs.r10 = 0, 0, 0, 0
    ptrace(SETREGS, tid, 0, ctypes.byref(regs))
    ptrace(DETACH, tid, 0, None)


main()
