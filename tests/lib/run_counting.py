#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run_counting.py FILE COMMAND...: run the command, and write to FILE the number of bytes its process has read by read()
and similar calls, as counted by the kernel. Exit with the command's status."""

import os
import sys

pid = os.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it has exited, but its counters still exist
with open(f"/proc/{pid}/io", encoding="ascii") as io, open(sys.argv[1], "w", encoding="ascii") as out:
    out.write(dict(line.split(": ") for line in io)["rchar"])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
