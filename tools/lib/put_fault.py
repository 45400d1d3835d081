#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Put one fault into a source file: replace OLD, which must occur exactly once in FUNCTION, by NEW.

usage: put_fault.py FILE FUNCTION OLD NEW

FUNCTION is a function or an initialized object; "-" is the whole file. The status is 3 when the place is not found."""

import re
import sys


def extent(text, name):
    """Return begin and end of a definition: from its name to the next brace in column 0."""
    if name == "-":
        return 0, len(text)
    function = r"^[^\s#/}][^;{}]*?\b%s\([^;{}]*\n\{\n.*?^\}"
    table = r"^[^\s#/}][^;{}()]*?\b%s(?:\[[^;{}]*\])* = .*?;$"
    for pattern in (function, table):
        found = re.search(pattern % re.escape(name), text, re.M | re.S)
        if found:
            return found.span()
    sys.exit(3)


def main():
    path, name, old, new = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = extent(text, name)
    if text.count(old, begin, end) != 1:
        sys.exit(3)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:begin] + text[begin:end].replace(old, new) + text[end:])


main()
