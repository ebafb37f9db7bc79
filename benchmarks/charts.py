"""Tables and charts: as Markdown, and as SVG in light and dark, without any library."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape

Point = tuple[float, float]

COLORS = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#6a737d;--grid:#d8dee4;
--c0:#0969da;--c1:#bc4c00;--c2:#1a7f37;--c3:#8250df;--c4:#bf3989}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;--grid:#30363d;
--c0:#58a6ff;--c1:#f0883e;--c2:#3fb950;--c3:#bc8cff;--c4:#f778ba}}
text{fill:var(--soft);font:11px system-ui,sans-serif}.grid{stroke:var(--grid)}
.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}
polyline{fill:none;stroke:var(--c);stroke-width:2}circle,tspan{fill:var(--c)}
.mark{stroke:var(--fg);stroke-width:2;fill:none}
"""
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 420, 280, 58, 46, 12, 12


@dataclass
class Table:
    """Text in rows and columns."""

    header: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """Return the table as it stands in the documentation."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "\n".join(
            f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
        )


@dataclass
class Chart:
    """Lines over logarithmic axes x and y, by name, with published figures as marks."""

    title: str
    x: str
    y: str
    lines: dict[str, list[Point]]
    marks: dict[str, list[Point]] = field(default_factory=dict)

    def summary(self) -> str:
        """Say in words what the chart shows."""
        ends = []
        for name, points in self.lines.items():
            (x0, y0), (x1, y1) = min(points), max(points)
            ends.append(f"{name} goes from {y0:.3g} at {x0:g} to {y1:.3g} at {x1:g}")
        return f"{self.title}, {self.y} against {self.x}: " + "; ".join(ends) + "."


def svg(chart: Chart) -> str:
    """Return a chart as SVG whose colours the page decides."""
    points = [p for part in (chart.lines, chart.marks) for ps in part.values() for p in ps]
    lo_x, hi_x = _span([x for x, _ in points])
    lo_y, hi_y = _span([y for _, y in points])

    def px(x: float) -> float:
        return LEFT + (math.log(x) - lo_x) / (hi_x - lo_x) * (WIDTH - LEFT - RIGHT)

    def py(y: float) -> float:
        return HEIGHT - BOTTOM - (math.log(y) - lo_y) / (hi_y - lo_y) * (HEIGHT - BOTTOM - TOP)

    def text(x: float, y: float, anchor: str, words: str) -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'

    def tip(name: str, x: float, y: float) -> str:
        return f"<title>{escape(name)}: {y:.4g} at {x:g}</title>"

    summary = escape(chart.summary())
    out = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{summary}">']
    for at, y in ((py(y), y) for y in _ticks(lo_y, hi_y)):
        ends = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"'
        out += [f'<line class="grid" {ends}/>', text(LEFT - 6, at + 4, "end", _short(y))]
    shown = sorted({x for x, _ in points})
    for x in shown[:: max(1, len(shown) // 6)]:
        out.append(text(px(x), HEIGHT - BOTTOM + 16, "middle", _short(x)))
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "middle", chart.x))
    for number, (name, line) in enumerate(chart.lines.items()):
        path = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in sorted(line))
        out.append(f'<polyline class="c{number}" points="{path}"/>')
        out += [f'<circle class="c{number}" cx="{px(x):.1f}" cy="{py(y):.1f}" r="3">'
                f"{tip(name, x, y)}</circle>" for x, y in line]  # fmt: skip
    for name, marks in chart.marks.items():
        for x, y in marks:
            cross = f"M{px(x) - 5:.1f} {py(y) - 5:.1f}l10 10m0 -10l-10 10"
            out.append(f'<path class="mark" d="{cross}">{tip(name, x, y)}</path>')
    return "".join([*out, "</svg>"])


def picture(charts: list[Chart], columns: int = 3) -> str:
    """Return charts side by side as one SVG file, with their titles and what the colours mean."""
    height, rows = HEIGHT + 40, -(-len(charts) // columns)
    size = f'width="{columns * WIDTH}" height="{rows * height}"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{COLORS}</style>']
    for number, chart in enumerate(charts):
        x, y = number % columns * WIDTH, number // columns * height
        names = " ".join(f'<tspan class="c{n}">{escape(name)}</tspan>'
                         for n, name in enumerate(chart.lines))  # fmt: skip
        title = f"{escape(chart.title)}: {escape(chart.y)}"
        inner = f'<svg y="36" width="{WIDTH}" height="{HEIGHT}">{svg(chart)}</svg>'
        out.append(f'<svg x="{x}" y="{y}" width="{WIDTH}" height="{height}">'
                   f'<text x="{LEFT}" y="14">{title}</text><text x="{LEFT}" y="30">{names}</text>'
                   f"{inner}</svg>")  # fmt: skip
    return "".join([*out, "</svg>\n"])


def _span(values: list[float]) -> tuple[float, float]:
    low, high = math.log(min(values)), math.log(max(values))
    if high - low < 0.5:
        low, high = low - 0.25, high + 0.25
    room = 0.05 * (high - low)
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(low / math.log(10)), math.ceil(high / math.log(10)) + 1)
    factors = (1,) if high - low > math.log(300) else (1, 2, 5)
    ticks = [f * 10.0**e for e in decades for f in factors]
    return [tick for tick in ticks if low <= math.log(tick) <= high]


def _short(value: float) -> str:
    for size, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{name}"
    return f"{value:g}"
