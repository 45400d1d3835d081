# SPDX-License-Identifier: BSD-3-Clause
"""Generate the tables of docs/faults.md: calls by place and scenario, and the number of faults."""

import collections
import re

BEGIN, END = "<!-- tables: made by tests/faults/run.py --matrix -->\n", "<!-- end of tables -->\n"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def module_of(site):
    return site.place.split("/")[0]


def modules_table(chosen, usuals, faults_of, seed):
    sites, cases = collections.defaultdict(collections.Counter), collections.Counter()
    for scenario in chosen:
        for site in usuals[scenario.name].sites:
            sites[module_of(site)][scenario.name] += 1
            cases[scenario.name] += len(list(faults_of(scenario, site, seed)))
    names = [scenario.name for scenario in chosen]
    rows = [[f"`{module}`"] + [count[name] or "" for name in names] for module, count in sorted(sites.items())]
    rows.append(["**sites**"] + [sum(count[name] for count in sites.values()) for name in names])
    rows.append(["**faults**"] + [cases[name] for name in names])
    total = len({(site.offset, site.call) for usual in usuals.values() for site in usual.sites})
    return table(["module"] + names, rows) + f"\n{total} sites, {sum(cases.values())} faults.\n"


def sites_table(chosen, usuals):
    """Make one row per function and call."""
    where = collections.defaultdict(lambda: collections.defaultdict(set))
    for scenario in chosen:
        for site in usuals[scenario.name].sites:
            file, function = re.match(r"(\S+?):\S* (\S+)", site.place).groups()
            where[(file, function, site.call)][scenario.name].add(site.offset)
    rows = []
    for (file, function, call), found in sorted(where.items()):
        n = max(len(offsets) for offsets in found.values())
        names = [scenario.name for scenario in chosen if scenario.name in found]
        rows.append([f"`{file}`", f"`{function}`", f"`{call}`" + (f" ×{n}" if n > 1 else ""),
                     "all" if len(names) == len(chosen) else ", ".join(names)])
    return table(["file", "function", "call", "scenarios"], rows)


def write(path, chosen, usuals, faults_of, seed):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    tables = f"{modules_table(chosen, usuals, faults_of, seed)}\n{sites_table(chosen, usuals)}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n" + tables + "\n" + END + after)
