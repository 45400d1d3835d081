#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Print the system calls that Tapline's filter permits and a unit rejects, by systemd's groups of calls.

usage: unit_calls.py SECCOMP_C [--also CALL] UNIT [DROP_IN...], with `systemd-analyze syscall-filter` on stdin
"""
import argparse
import re
import sys


def groups_of(text):
    """Return the members of each group; a line without indentation begins a group."""
    groups = {}
    for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines():
        word = line.split("#")[0].strip()
        if word and not line[0].isspace():
            members = groups[word] = set()
        elif word:
            members.add(word)
    return groups


def expand(word, groups):
    if word not in groups:
        return {word}
    return set().union(*(expand(member, groups) for member in groups[word]))


def permitted(unit, groups):
    """Apply systemd.exec(5): the first assignment allows, one with ~ removes, later ones add."""
    calls = set()
    for words in re.findall(r"^SystemCallFilter=(.*)$", unit, re.M):
        named = set().union(*(expand(word, groups) for word in words.lstrip("~").split()))
        calls = calls - named if words.startswith("~") else calls | named
    return calls


def wanted(source):
    """Return the calls permitted by all lists of Tapline's filter."""
    lists = re.findall(r"\*const (\w+) =\s*CALLS\((.*?)\);", source, re.S)
    return {call for name, calls in lists if name in ("everywhere", "sockets_open", "files", "set_up")
            for call in re.findall(r"S\((\w+)\)", calls)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("--also", action="append", default=[])
    parser.add_argument("units", nargs="+")
    args = parser.parse_args()
    calls = wanted(open(args.source, encoding="utf-8").read())
    unit = "".join(open(name, encoding="utf-8").read() for name in args.units)
    refused = (calls | set(args.also)) - permitted(unit, groups_of(sys.stdin.read()))
    print(*sorted(refused) if len(calls) > 100 else ["the lists of calls are not found"])


main()
