#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""press_keys.py COMMAND...: run a replay in a pseudo-terminal twice, and press keys: once all of them, once Ctrl-\\, which kills it. Check what
it shows for each, and that the terminal is as before. The report of the first run goes to terminal.json."""

import os
import pty
import select
import signal
import sys
import termios
import time

LIMIT_S = 60


class Terminal:
    """A process in a terminal of its own."""

    def __init__(self, command):
        self.shown = ""
        ready, go = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(ready, 1)
            os.dup2(os.open("terminal.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 1)
            os.execvp(command[0], command)
        self.before = termios.tcgetattr(self.fd)
        os.write(go, b"x")

    def read(self):
        """Take what is shown. False: the process has ended."""
        if select.select([self.fd], [], [], 1)[0]:
            try:
                self.shown += os.read(self.fd, 4096).decode(errors="replace")
            except OSError:
                return False
        return True

    def press(self, keys, text):
        """Press keys, and wait for a text behind what was shown before."""
        at, end = len(self.shown), time.monotonic() + LIMIT_S
        os.write(self.fd, keys)
        while text not in self.shown[at:]:
            if not self.read() or time.monotonic() > end:
                sys.exit(f"after {keys} there is no {text!r} in {self.shown}")

    def end(self):
        """Wait for the end. Return the status."""
        end = time.monotonic() + LIMIT_S
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                break
            self.read()
            if time.monotonic() > end:
                sys.exit(f"it does not end: {self.shown}")
        if termios.tcgetattr(self.fd) != self.before:
            sys.exit("the terminal is not restored")
        return status


def main(command):
    terminal = Terminal(command)
    terminal.press(b"", "keys: space pauses")
    if termios.tcgetattr(terminal.fd)[3] & (termios.ICANON | termios.ECHO):
        sys.exit("the terminal waits for whole lines, or echoes")
    for keys, text in ((b" ", "pause: paused"), (b"+", "speed: paused"), (b"+", "speed 0.04"), (b"-", "speed 0.02"),
                       (b"\033[C", "seek: seeking"), (b"[", "seek: seeking"),
                       (b"]]]", "seek: seeking at 30."), (b"h", "keys: space"), (b" ", "resume: ")):
        terminal.press(keys, text)
    os.write(terminal.fd, b"q")
    if terminal.end() != 0:
        sys.exit(f"q does not end it with status 0: {terminal.shown}")
    os.rename("terminal.json", "report.json")
    terminal = Terminal(command)
    terminal.press(b"", "keys: space pauses")
    os.write(terminal.fd, b"\x1c")
    status = terminal.end()
    os.rename("report.json", "terminal.json")
    if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGQUIT:
        sys.exit(f"Ctrl-\\ does not kill it: {status}")


main(sys.argv[1:])
