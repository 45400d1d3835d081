#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Put one fault into a source file: replace OLD, which must occur exactly once in FUNCTION, by NEW.

usage: put_fault.py FILE FUNCTION OLD NEW
       put_fault.py --places

FUNCTION is a function or an initialized object; "-" is the whole file. The status is 3 when the place is not found.
With --places FILE, FUNCTION, OLD and a name come from standard input, each with a NUL behind it, for any number of
faults; no file is changed, and the names of faults without a place are printed."""

import re
import sys


def extent(text, name):
    """Return begin and end of a definition, from its name to the next brace in column 0; None if there is none."""
    if name == "-":
        return 0, len(text)
    function = r"^[^\s#/}][^;{}]*?\b%s\([^;{}]*\n\{\n.*?^\}"
    table = r"^[^\s#/}][^;{}()]*?\b%s(?:\[[^;{}]*\])* = .*?;$"
    for pattern in (function, table):
        found = re.search(pattern % re.escape(name), text, re.M | re.S)
        if found:
            return found.span()
    return None


def find(path, function, old):
    """Return the text of the file, and the position of old; None if it does not occur exactly once."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return None, None
    span = extent(text, function)
    if span is None or text.count(old, *span) != 1:
        return None, None
    return text, text.index(old, *span)


def check_places():
    fields = sys.stdin.read().split("\0")[:-1]
    status = 0
    for path, function, old, name in zip(*[iter(fields)] * 4):
        if find(path, function, old)[0] is None:
            print(f"#   stale: {name}")
            status = 3
    return status


def main():
    if sys.argv[1:] == ["--places"]:
        return check_places()
    path, function, old, new = sys.argv[1:]
    text, at = find(path, function, old)
    if text is None:
        return 3
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:at] + new + text[at + len(old) :])
    return 0


sys.exit(main())
