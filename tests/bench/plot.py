#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draw scenarios named KIND-NUMBER, from standard input, as SVG: for each kind of several numbers cost against number,
logarithmic, and time to start and memory if they grow with it.

usage: plot.py FILE <RESULT"""
import json
import math
import sys

WIDTH, HEIGHT, MARGIN = 640, 240, 60
COLOURS = ("#1f77b4", "#d62728")
CHARTS = [{"instructions_per_pkt": "instructions per frame", "ns_per_pkt": "ns per frame"},
          {"instructions": "instructions per message", "ns": "ns per message"},
          {"start_ms": "ms to start", "memory_mib": "MiB of memory"}]
GROWTH = 1.05  # more than noise


def read_kinds(scenarios):
    kinds = {}
    for scenario in scenarios:
        kind, _, number = scenario["name"].rpartition("-")
        if number.isdigit():
            kinds.setdefault(kind, []).append((int(number), scenario))
    return {kind: points for kind, points in kinds.items() if len(points) > 1}


def x_of(number, points):
    last = max(math.log10(points[-1][0]), 1)
    return MARGIN + math.log10(number) / last * (WIDTH - 2 * MARGIN)


def y_of(cost, most, top):
    return top + HEIGHT - MARGIN - cost / most * (HEIGHT - 1.5 * MARGIN)


def text(x, y, words, anchor="middle", colour="black"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def charts_of(points):
    """Return the charts with costs that all points have; memory that does not grow is not drawn."""
    for chart in CHARTS:
        found = {field: name for field, name in chart.items() if all(field in scenario for _, scenario in points)}
        memory = [scenario.get("memory_mib", 0) for _, scenario in points]
        if found and ("memory_mib" not in found or max(memory) > GROWTH * min(memory)):
            yield found


def draw_chart(kind, points, costs, top):
    base = top + HEIGHT - MARGIN
    out = [f'<path d="M{MARGIN} {top + MARGIN / 2} V{base} H{WIDTH - MARGIN}" fill="none" stroke="black"/>',
           text(WIDTH / 2, base + 36, kind)]
    out += [text(x_of(number, points), base + 16, number) for number, _ in points]
    most = max(scenario[field] for _, scenario in points for field in costs)
    for place, ((field, name), colour) in enumerate(zip(costs.items(), COLOURS)):
        spots = [(x_of(n, points), y_of(s[field], most, top)) for n, s in points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in spots]
        out += [text(x, y - 6, f"{s[field]:.0f}", colour=colour) for (x, y), (_, s) in zip(spots, points)]
        out.append(text(WIDTH - MARGIN, top + 16 + 14 * place, name, "end", colour))
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    kinds = read_kinds(json.load(sys.stdin)["scenarios"])
    if not kinds:
        sys.exit("plot.py: no scenario is measured for several numbers")
    kinds = {kind: sorted(points, key=lambda point: point[0]) for kind, points in kinds.items()}
    charts = [(kind, points, costs) for kind, points in kinds.items() for costs in charts_of(points)]
    height = HEIGHT * len(charts)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    for place, chart in enumerate(charts):
        out += draw_chart(*chart, HEIGHT * place)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>", ""]))


if __name__ == "__main__":
    main()
