#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""force_syscall.py PID THREAD execve|openat|append [PATH]: make a thread of a process, by its name, call the kernel, as an
intruder in it would: stop it, write the instruction into its code, execute it, and restore the code. Print the return value of
the call, or "killed". append: openat of a file to append to. PATH: an absolute path; default: an invalid address."""

import ctypes
import os
import pathlib
import sys

ATTACH, DETACH, GETREGS, SETREGS, PEEK, POKE, STEP = 16, 17, 12, 13, 1, 4, 9
CALLS = {"openat": (257, 0), "append": (257, os.O_RDWR | os.O_CREAT | os.O_APPEND), "execve": (59, 0)}  # and their third argument
WALL = 0x40000000
SYSCALL = 0x050F
REGS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs "
        "gs").split()
libc = ctypes.CDLL(None, use_errno=True)


class Regs(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in REGS]


libc.ptrace.restype = ctypes.c_long


def ptrace(request, tid, address=0, data=None):
    ctypes.set_errno(0)
    value = libc.ptrace(request, tid, ctypes.c_void_p(address), data)
    if value == -1 and ctypes.get_errno() != 0:
        sys.exit(f"ptrace {request}: errno {ctypes.get_errno()}")
    return value


def tid_of(pid, name):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            return int(task.name)
    sys.exit(f"there is no thread {name}")


def is_stopped(tid):
    """Wait for a stop. False: the process has ended."""
    try:
        return os.WIFSTOPPED(os.waitpid(tid, WALL)[1])
    except ChildProcessError:
        return False


def push(tid, stack, text):
    """Write a string below the stack, and return its address."""
    data = text.encode() + b"\0"
    at = (stack - 4096 - len(data)) & ~7
    for i in range(0, len(data), 8):
        ptrace(POKE, tid, at + i, ctypes.c_void_p(int.from_bytes(data[i:i + 8], "little")))
    return at


def call(tid, before, number, flags, path):
    """Return the return value of the call, or None."""
    regs = Regs.from_buffer_copy(before)
    text = regs.rip & ~0xFFF | 0x800  # in the same page, which is executable
    code = ptrace(PEEK, tid, text)
    ptrace(POKE, tid, text, ctypes.c_void_p(code & ~0xFFFF | SYSCALL))
    regs.rip, regs.rax, regs.orig_rax = text, number, 2**64 - 1  # prevents a restart of the interrupted call
    regs.rdi, regs.rsi, regs.rdx, regs.r10 = 0, push(tid, regs.rsp, path) if path else 0, flags, 0
    ptrace(SETREGS, tid, 0, ctypes.byref(regs))
    ptrace(STEP, tid)
    if not is_stopped(tid):
        return None
    ptrace(GETREGS, tid, 0, ctypes.byref(regs))
    ptrace(POKE, tid, text, ctypes.c_void_p(code))
    return ctypes.c_longlong(regs.rax).value


def main():
    tid, before = tid_of(int(sys.argv[1]), sys.argv[2]), Regs()
    ptrace(ATTACH, tid)
    is_stopped(tid)
    ptrace(GETREGS, tid, 0, ctypes.byref(before))
    value = call(tid, before, *CALLS[sys.argv[3]], sys.argv[4] if len(sys.argv) > 4 else None)
    if value is not None:
        ptrace(SETREGS, tid, 0, ctypes.byref(before))
        ptrace(DETACH, tid)
    print("killed" if value is None else value)


main()
