#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""generate.py man OPTIONS.json PAGE.in | bash OPTIONS.json | zsh OPTIONS.json | drivers DRIVERS-CONFIG

Print a man page, or the completions of a shell, generated from the option tables (`tapline --dump-options`). @SYNOPSIS@ and
@OPTIONS@ in PAGE.in are replaced; a line "@--NAME" after @OPTIONS@ begins additional text for that option. `drivers` prints
docs/drivers.md, generated from the capability files."""

import glob
import json
import os
import re
import sys

# ---- man pages


def escape(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def bold_options(text):
    return re.sub(r"(?<![\w-])(\\-(?:\\-)?[a-z](?:[a-z\\-]*[a-z]\*?)?)(?!\w)", r"\\fB\1\\fR", text)


def sentence(text):
    """Return a help text as a sentence, with options and commands in bold."""
    parts = escape(text[0].upper() + text[1:]).split("`")
    parts = [f"\\fB{part}\\fR" if i % 2 else bold_options(part) for i, part in enumerate(parts)]
    return "".join(parts).removesuffix(".") + "."


def roff_option(option, more):
    names = ([f"\\-{option['letter']}"] if option["letter"] else []) + [f"\\-\\-{escape(option['name'])}"]
    head = ", ".join(f"\\fB{name}\\fR" for name in names)
    value = f" \\fI{escape(option['value'])}\\fR" if option["value"] else ""
    help_text = "print the options" if option["name"] == "help" else option["help"]
    return [".TP", head + value, sentence(help_text)] + more


def roff_synopsis(command):
    lines = []
    for form in command["usage"].split("\n"):
        words = [re.sub(r"[A-Z][A-Za-z]*(?:\.[a-z]+)?(?![a-z])", lambda m: f"\\fI{m[0]}\\fR", escape(word)) for word in form.split(" ")]
        words = [re.sub(r"(?<!\w)(\\-[a-z\\-]+)", r"\\fB\1\\fR", word) for word in words]
        lines += [".br"] if lines else []
        lines.append(" ".join([f"\\fBtapline {words[0]}\\fR"] + words[1:]))
    return lines


def roff_options(command, blocks):
    lines = []
    for option in command["options"]:
        if "text" in option:
            lines += [".PP", sentence(" ".join(option["text"].split()))]
        else:
            lines += roff_option(option, blocks.pop(option["name"], []))
    if blocks:
        sys.exit(f"{command['name']} has no option --{', --'.join(blocks)}")
    return lines


def man_page(commands, path):
    """Return the page of the command named in .TH TAPLINE-NAME."""
    lines = open(path, encoding="utf-8").read().splitlines()
    name = re.search(r"^\.TH TAPLINE-(\S+)", "\n".join(lines), re.M)[1].lower()
    command = next(command for command in commands if command["name"] == name)
    page, blocks, block = [], {}, None
    at = None
    for line in lines:
        if line.startswith(".SH"):
            block = None
        if line == "@SYNOPSIS@":
            page += roff_synopsis(command)
        elif line == "@OPTIONS@":
            at = len(page)
        elif line.startswith("@--"):
            block = blocks.setdefault(line[3:], [])
        else:
            (page if block is None else block).append(line)
    page[at:at] = roff_options(command, blocks)
    return "\n".join(page) + "\n"


# ---- bash

BASH_KINDS = {
    "<file>": "-f",
    "<directory>": "-d",
    "<interface>": '-W "$(ls /sys/class/net 2>/dev/null)"',
    "<pci>": "-W \"$(tapline bind --list 2>/dev/null | sed -n '2,$s/ .*//p')\"",
}


def bash_choices(choices):
    """Return a statement that completes $word; without choices it offers nothing."""
    return f"""_tapline_offer {BASH_KINDS.get(choices) or f"-W '{choices}'"}""" if choices else ":"


def names_of(option):
    return [f"--{option['name']}"] + ([f"-{option['letter']}"] if option["letter"] else [])


def bash_command(command):
    options = [option for option in command["options"] if "name" in option]
    lines = [f"\t{command['name']})", "\t\tcase $before in"]
    for option in options:
        if option["value"]:
            lines.append(f"\t\t{'|'.join(names_of(option))}) {bash_choices(option['choices'])}; return ;;")
    words = " ".join(name for option in options for name in names_of(option)[:1])
    lines += ["\t\tesac", "\t\tcase $word in", f"\t\t-*) {bash_choices(words)} ;;",
              f"\t\t*) {bash_choices(command['words'])} ;;", "\t\tesac", "\t\t;;"]
    return lines


BASH_BEGIN = """\
# bash completion of tapline, generated from its option tables.
_tapline_offer()
{
	mapfile -t COMPREPLY < <(compgen "$@" -- "${COMP_WORDS[COMP_CWORD]}")
}

_tapline()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()"""


def bash(commands):
    names = " ".join(command["name"] for command in commands)
    lines = [BASH_BEGIN, "\tif ((COMP_CWORD == 1)); then", f"\t\t{bash_choices(names + ' --help --version')}", "\t\treturn", "\tfi",
             "\tcase ${COMP_WORDS[1]} in"]
    for command in commands:
        lines += bash_command(command)
    return "\n".join(lines + ["\tesac", "}", "complete -o filenames -F _tapline tapline"]) + "\n"


# ---- zsh

ZSH_KINDS = {"<file>": "_files", "<directory>": "_files -/", "<interface>": "_net_interfaces",
             "<pci>": "($(tapline bind --list 2>/dev/null | sed -n '2,$s/ .*//p'))"}


def zsh_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_escape(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def zsh_value(name, choices):
    return f":{zsh_escape(name)}:{ZSH_KINDS.get(choices) or (f'({choices})' if choices else '')}"


def zsh_command(command):
    lines = [f"\t{command['name']})", "\t\t_arguments \\"]
    for option in command["options"]:
        if "name" not in option:
            continue
        value = zsh_value(option["value"], option["choices"]) if option["value"] else ""
        says = f"[{zsh_escape(option['help'])}]{value}"
        lines += [f"\t\t\t{zsh_quote('*' + name + says)} \\" for name in names_of(option)]
    return lines + [f"\t\t\t{zsh_quote('*' + zsh_value('word', command['words']))}", "\t\t;;"]


def zsh(commands):
    lines = ["#compdef tapline", "# zsh completion of tapline: generated from its tables of options", "local -a commands", "commands=("]
    lines += [f"\t{zsh_quote(command['name'] + ':' + command['summary'])}" for command in commands]
    lines += [")", "if ((CURRENT == 2)); then", "\t_describe command commands", "\treturn", "fi", "shift words", "((CURRENT--))",
              "case $words[1] in"]
    for command in commands:
        lines += zsh_command(command)
    return "\n".join(lines + ["esac"]) + "\n"


# ---- drivers

DRIVERS_BEGIN = """\
# Drivers

<!-- Generated from drivers-config/*/capabilities.json by `docs/generate.py drivers drivers-config`: change those. -->

Facts about DPDK's drivers and their evidence: the driver's **source** (file and release), the
[modelled card](../tests/ixgbe/README.md) or the [emulated machine](../tests/vm/README.md) with the suite that shows it, or **never** for facts from the
vendor's documents alone. None has been verified on hardware: `tapline doctor --self-test` ([doctor](doctor.md#self-test-of-a-card)) writes
a report that would do so. Queues, rings and RSS tables are the maxima over all models and releases from 22.11 to 26.07; `tapline run`
compares a port with them. It logs the facts marked \u2022 when it opens such a port.
"""

TOPICS = ["queues", "rings", "stamps", "drops", "rules", "limits", "faults"]


def cell(text):
    return text.replace("|", "\\|")


def known_text(known):
    texts = []
    for entry in known:
        kind, rest = entry.split(" ", 1)
        texts.append({"source": "source: ", "model": "model: ", "vm": "VM: "}[kind] + rest.replace("drivers/net/", ""))
    return "; ".join(texts) or "never"


def table_sizes(sizes):
    return ", ".join("none" if size == 0 else str(size) for size in sizes) or "any"


def limits_rows(driver):
    """Return the rows that `tapline run` compares a port with."""
    filters = "filter of the NIC" if driver["multicast_filter"] else "none: allmulticast"
    return [("queues", f"{driver['rx_queues_max']} receive queues at most; RSS table: {table_sizes(driver['reta_sizes'])}"),
            ("rings", f"{driver['ring_min']} to {driver['ring_max']} descriptors"),
            ("stamps", "of every received frame" if driver["rx_timestamps"] else "not of every received frame"),
            ("limits", f"multicast: {filters}")]


def driver_lines(driver):
    rows = [(about, text, driver["known"]) for about, text in limits_rows(driver)]
    rows += [(fact["about"], ("\u2022 " if fact.get("tell") else "") + fact["text"], fact["known"]) for fact in driver["facts"]]
    lines = ["", f"### {driver['pmd']}: {driver['nics']}", "", f"Bound to {driver['bind']}.", "", "| about | fact | known by |",
             "|---|---|---|"]
    for topic in TOPICS:
        lines += [f"| {about} | {cell(text)} | {cell(known_text(known))} |" for about, text, known in rows if about == topic]
    return lines


def drivers(directory):
    lines = [DRIVERS_BEGIN.rstrip("\n")]
    for path in sorted(glob.glob(os.path.join(directory, "*", "capabilities.json"))):
        family = os.path.basename(os.path.dirname(path))
        lines += ["", f"## {family}"]
        for driver in json.load(open(path, encoding="utf-8"))["drivers"]:
            lines += driver_lines(driver)
    return "\n".join(lines) + "\n"


def main(kind, source, *page):
    if kind == "drivers":
        sys.stdout.write(drivers(source))
        return
    commands = json.load(open(source, encoding="utf-8"))
    makers = {"man": man_page, "bash": bash, "zsh": zsh}
    sys.stdout.write(makers[kind](commands, *page))


main(*sys.argv[1:])
