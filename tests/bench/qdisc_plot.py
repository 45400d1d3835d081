# SPDX-License-Identifier: BSD-3-Clause
"""Draw the curves of qdisc.py: bytes and delays against time, per class, of the kernel and of the class tree."""

from plot import text

WIDTH, HEIGHT, LEFT, TOP = 360, 200, 56, 28
COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b"]
POINTS = 60


def polyline(steps, most, x, y, style):
    """Draw a curve with about POINTS of its steps."""
    width, height = WIDTH - LEFT - 12, HEIGHT - TOP - 30
    every = max(len(steps) // POINTS, 1)
    points = " ".join(f"{x + LEFT + i / len(steps) * width:.0f},{y + TOP + height - steps[i] / most * height:.0f}"
                      for i in range(0, len(steps), every))
    return f'<polyline points="{points}" fill="none" {style}/>'


def draw_panel(title, unit, rows, x, y, seconds):
    """Draw a pair of curves of each row; a row: name, (kernel's steps, tree's steps)."""
    most = max(max(max(curve) for curve in curves) for _, curves in rows) or 1
    bottom = y + HEIGHT - 30
    out = [text(x + LEFT, y + 16, title, "start"),
           f'<path d="M{x + LEFT} {y + TOP} V{bottom} H{x + WIDTH - 12}" fill="none" stroke="black"/>',
           text(x + LEFT - 4, y + TOP + 8, f"{most:.{0 if most >= 100 else 2}f} {unit}", "end"), text(x + WIDTH - 12, bottom + 14, f"{seconds:.0f} s", "end")]
    for i, (name, curves) in enumerate(rows):
        colour = COLOURS[i % len(COLOURS)]
        out.append(polyline(curves[0], most, x, y, f'stroke="{colour}" stroke-width="4" stroke-opacity="0.35"'))
        out.append(polyline(curves[1], most, x, y, f'stroke="{colour}" stroke-width="1"'))
        out.append(text(x + LEFT + 8, y + TOP + 12 + 13 * i, name, "start", colour))
    return out


def draw_case(result, y, step_ns):
    rows = result["classes"]
    seconds = len(rows[0]["curves"][0]) * step_ns / 1e9
    sent = [(row["name"], [[count / 1e6 for count in curve] for curve in row["curves"]]) for row in rows]
    waited = [("", row["delay_curves"]) for row in rows]
    return draw_panel(f"{result['name']}: bytes", "MB", sent, 0, y, seconds) + draw_panel("delay", "ms", waited, WIDTH, y, seconds)


def draw(file_name, results, step_ns):
    results = [result for result in results if not result["refused"]]
    height = HEIGHT * len(results) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{2 * WIDTH}" height="{height}" fill="white"/>',
           text(2 * WIDTH - 12, height - 6, "against time: broad lines the kernel, narrow lines the class tree", "end")]
    for i, result in enumerate(results):
        out += draw_case(result, i * HEIGHT, step_ns)
    with open(file_name, "w", encoding="utf-8") as file:
        file.write("\n".join([*out, "</svg>\n"]))
