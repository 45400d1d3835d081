#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""draw-modules.py [--check]: draw the folders of lib/, their modules and the dependencies of folders into
docs/modules.svg, by graphviz. Omit arrows implied by others. --check: fail if the picture is outdated."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/modules.svg"


def words(path, variable):
    text = re.sub("#.*", "", path.read_text())
    found = re.search(rf"\b{variable} = \[(.*?)\]", text, re.S)
    return re.findall(r"'([\w/]+)'", found.group(1)) if found else []


def read_tree():
    """Return the modules of each folder, and the folders that each folder uses; app is a folder without modules."""
    folders, uses, folder_of = {}, {}, {}
    for path in words(ROOT / "lib/meson.build", "modules"):
        folder, module = path.split("/")
        folders.setdefault(folder, []).append(module)
        folder_of[module] = folder
        used = {folder_of[name] for name in words(ROOT / f"lib/{path}/meson.build", "module_uses")}
        uses.setdefault(folder, set()).update(used - {folder})
    uses["app"] = {folder_of[name] for name in words(ROOT / "app/meson.build", "app_uses")}
    return folders, uses


def reduced(uses):
    """Omit the edges implied by others."""
    reach = {}
    for folder in uses:  # lowest first
        reach[folder] = set().union(*({used} | reach[used] for used in uses[folder]))
    return {folder: {a for a in used if not any(a in reach[b] for b in used)} for folder, used in uses.items()}


def graph(folders, edges):
    lines = ["digraph lib {", 'rankdir=TB; node [shape=box, style="rounded,filled", fillcolor="#eef3fa", fontname="sans-serif", fontsize=12];',
             'edge [color="#555555"];', 'app [label=<<b>app</b><br/>commands, the appliance>];']
    for folder, modules in folders.items():
        rows = "<br/>".join(", ".join(modules[i:i + 4]) for i in range(0, len(modules), 4))
        lines.append(f"{folder} [label=<<b>lib/{folder}</b><br/>{rows}>];")
    lines += [f"{a} -> {b};" for a, used in edges.items() for b in sorted(used)]
    return "\n".join(lines + ["}"])


def main():
    folders, uses = read_tree()
    source = graph(folders, reduced(uses))
    mark = f"<!-- {source.replace('--', '- -')} -->\n"
    if "--check" in sys.argv[1:]:
        if mark not in PICTURE.read_text():
            print("docs/modules.svg is older than the tree; run tools/draw-modules.py")
            sys.exit(1)
        return
    done = subprocess.run(["dot", "-Tsvg"], input=source, capture_output=True, text=True, check=True)
    PICTURE.write_text(re.sub("<!--.*?-->\n", "", done.stdout, flags=re.S) + mark)


main()
