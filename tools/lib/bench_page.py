# SPDX-License-Identifier: BSD-3-Clause
"""Tables and the page of a result of tools/bench.sh (bench.py): text, Markdown, and HTML with plots as inline SVG, which loads
nothing from elsewhere."""

import glob
import html
import math
import os
import re
import subprocess
import tempfile

PLOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tests", "bench", "plot.py")
SCALES = {"frames/s": [(1e6, "Mpps"), (1e3, "kpps"), (1, "pps")], "B/s": [(1e9, "GB/s"), (1e6, "MB/s"), (1, "B/s")],
          "ns": [(1e6, "ms"), (1e3, "µs"), (1, "ns")], "B": [(2**30, "GiB"), (2**20, "MiB"), (1, "B")]}
WIDTH, LEFT, ROW = 900, 260, 22
STYLE = """body{font:14px sans-serif;max-width:70em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}
td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:left}td.n{text-align:right}.noisy{color:#a60}
svg{width:100%;max-width:60em}text{font-size:12px}.axis{stroke:#ccc}.bar{fill:#06c}.bar.noisy{fill:#da6}
.latency rect{fill:#06c}.latency line{stroke:#ccc}"""


def shown(value, unit):
    """Return a value in words, with three significant digits."""
    if value is None:
        return "–"
    for factor, name in SCALES.get(unit, [(1, unit)]):
        if abs(value) >= factor:
            break
    number = value / factor
    digits = 0 if unit == "instructions" or abs(number) >= 100 else 1 if abs(number) >= 10 else 2
    return f"{number:,.{digits}f} {name}"


def reference(row):
    return f"{shown(row['reference']['value'], row['unit'])}, {row['reference']['name']}" if row["reference"] else "–"


def note(row):
    return row.get("why") or ("noisy: " + "; ".join(row["noise"]) if row["noisy"] else "")


def measured_on(result):
    host = result["host"]
    kind = "quick run, " if result["quick"] else ""
    return (f"{kind}{result['date'][:10]}, {host.get('cpu')}, {host.get('cpus')} CPUs, kernel {host.get('kernel')}, "
            f"DPDK {host.get('dpdk')}, {host.get('compiler')}, {host.get('tapline')}")


def text_table(rows):
    lines = [f"{'figure':42}{'value':>20}{'ratio':>8}  reference"]
    for row in rows:
        ratio = "–" if row["ratio"] is None else f"{row['ratio']:.2f}"
        lines.append(f"{row['name']:42}{shown(row['value'], row['unit']):>20}{ratio:>8}  {reference(row)}"
                     + (f"  ({note(row)})" if note(row) else ""))
    return "\n".join(lines) + "\n"


def markdown(result, rows):
    lines = ["| | Tapline | reference | ratio |", "|---|---|---|---|"]
    for row in rows:
        value = shown(row["value"], row["unit"]) + (f" ({note(row)})" if note(row) else "")
        lines.append(f"| {row['title']} | {value} | {reference(row)} | {'–' if row['ratio'] is None else row['ratio']} |")
    return "\n".join(lines) + f"\n\nMeasured by `tools/bench.sh`: {measured_on(result)}.\n"


# ---- plots

def svg(height, parts, width=WIDTH):
    return f'<svg viewBox="0 0 {width} {height}" role="img">' + "\n".join(parts) + "</svg>"


def label(x, y, text, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(str(text))}</text>'


def advantages(rows):
    """Bars of how many times better than its reference each figure is."""
    found = [(row, row["ratio"] if row["better"] == "higher" else 1 / row["ratio"]) for row in rows if row["ratio"]]
    if not found:
        return ""
    most = max([2.0] + [max(times, 1 / times) for _, times in found])
    middle, scale = (LEFT + WIDTH) / 2, (WIDTH - LEFT - 120) / 2 / math.log(most)
    bottom = ROW * len(found) + 10
    parts = [f'<line class="axis" x1="{middle}" y1="0" x2="{middle}" y2="{bottom}"/>', label(middle, bottom + 14, "equal", "middle")]
    for place, (row, times) in enumerate(found):
        x, y = middle + scale * math.log(times), ROW * place + 4
        parts.append(f'<rect class="bar{" noisy" * row["noisy"]}" x="{min(x, middle):.1f}" y="{y}" width="{abs(x - middle):.1f}" '
                     f'height="{ROW - 6}"><title>{html.escape(note(row) or row["title"])}</title></rect>')
        parts.append(label(LEFT - 8, y + 12, row["name"], "end"))
        parts.append(label(x + (4 if times >= 1 else -4), y + 12, f"{times:.2f}×", "start" if times >= 1 else "end"))
    return "<h2>Times better than the reference</h2>" + svg(bottom + 20, parts)


def trials(raw):
    """Return the trials of capture.sh's searches: recorder, rate, share that was lost."""
    found = []
    for path in glob.glob(os.path.join(raw, "paced*.log")):
        with open(path, encoding="utf-8", errors="replace") as file:
            found += re.findall(r"^# (our|dumpcap)_trial (\d+) pps: (\d+) recorded per second, (\d+) lost", file.read(), re.M)
    return [(who, int(rate), lost and lost / (got + lost)) for who, rate, got, lost in
            ((who, rate, int(got), int(lost)) for who, rate, got, lost in found)]


def rate_against_loss(raw):
    found = trials(raw)
    if not found:
        return ""
    low, high = (math.log10(edge) for edge in (min(rate for _, rate, _ in found) / 1.2, max(rate for _, rate, _ in found) * 1.2))
    bottom = 240
    parts = [f'<path class="axis" d="M60 10V{bottom}H{WIDTH - 20}" fill="none"/>', label(56, 18, "most lost", "end"),
             label(56, bottom, "none", "end"),
             label(WIDTH / 2, bottom + 34, "frames per second offered; blue: Tapline, red: dpdk-dumpcap", "middle")]
    most = max([share for *_, share in found] + [1e-9])
    for tick in (step * 10 ** power for power in range(math.floor(low), math.ceil(high)) for step in (1, 2, 5)):
        if low <= math.log10(tick) <= high:
            x = 60 + (math.log10(tick) - low) / (high - low) * (WIDTH - 80)
            parts.append(label(x, bottom + 16, shown(tick, "frames/s"), "middle"))
    for who, rate, share in found:
        x, y = 60 + (math.log10(rate) - low) / (high - low) * (WIDTH - 80), bottom - share / most * (bottom - 20)
        name = "Tapline" if who == "our" else "dpdk-dumpcap"
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{"#06c" if who == "our" else "#c30"}" fill-opacity=".6">'
                     f"<title>{name}, {shown(rate, 'frames/s')}: {share:.2%} lost</title></circle>")
    text = f"60-byte frames to disk; each trial of the search, at most {most:.2%} lost."
    return f"<h2>Rate against loss</h2><p>{text}</p>" + svg(bottom + 40, parts)


def latencies(raw):
    for path in sorted(glob.glob(os.path.join(raw, "demo*", "latency.html"))):
        with open(path, encoding="utf-8") as file:
            drawn = re.search(r"<svg.*</svg>", file.read(), re.S)
        if drawn:
            text = ("How often; logarithmic axis, each row scaled to its fullest bin; by the kernel's stamps of the client's "
                    "interface.")
            return f'<h2>Round trips</h2><p>{text}</p><div class="latency">{drawn[0]}</div>'
    return ""


def plot_of(source):
    """Return the plot of a benchmark's scenarios by number; nothing if it has none."""
    with tempfile.NamedTemporaryFile(suffix=".svg") as drawn:
        try:
            with open(source, encoding="utf-8") as file:
                subprocess.run(["python3", PLOT, drawn.name], stdin=file, check=True, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            return ""
        return drawn.read().decode()


def cost_against_scale(raw):
    drawn = [plot_of(os.path.join(raw, run + ".json")) for run in ("connections", "record", "path", "startup")]
    return "<h2>Cost against scale</h2>" + "".join(drawn) if any(drawn) else ""


# ---- the page

def figure_rows(rows):
    for row in rows:
        ratio = "–" if row["ratio"] is None else row["ratio"]
        yield (f'<tr><td>{row["name"]}</td><td>{html.escape(row["title"])}</td><td class="n">{shown(row["value"], row["unit"])}</td>'
               f'<td>{html.escape(reference(row))}</td><td class="n">{ratio}</td><td class="noisy">{html.escape(note(row))}</td></tr>')


def page(result, raw):
    rows = result["figures"]
    return "\n".join([
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Tapline: figures</title><style>{STYLE}</style>',
        f"<h1>Tapline: figures</h1><p>{html.escape(measured_on(result))}</p>",
        "<table><tr><th>figure<th>what<th>Tapline<th>reference<th>ratio<th></tr>", *figure_rows(rows), "</table>",
        advantages(rows), latencies(raw), rate_against_loss(raw), cost_against_scale(raw), "<h2>Rules</h2>",
        *(f"<p>{html.escape(rule)}</p>" for rule in result["rules"]), "</html>", ""])
