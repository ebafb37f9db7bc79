"""Charts: as SVG for a page in light and dark, and as files for the documentation."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

Point = tuple[float, float]

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 420, 280, 58, 46, 12, 12


@dataclass
class Chart:
    """Lines over logarithmic axes, with published figures as marks.

    Attributes
    ----------
    title, x, y : str
        What is shown, and the names of the axes.
    lines : dict of str to list of points
        One line a name.
    marks : dict of str to list of points
        Published figures.
    """

    title: str
    x: str
    y: str
    lines: dict[str, list[Point]]
    marks: dict[str, list[Point]] = field(default_factory=dict)

    def points(self) -> list[Point]:
        """Return all points."""
        return [p for part in (self.lines, self.marks) for ps in part.values() for p in ps]

    def summary(self) -> str:
        """Say in words what the chart shows."""
        ends = []
        for name, points in self.lines.items():
            (x0, y0), (x1, y1) = min(points), max(points)
            ends.append(f"{name} goes from {y0:.3g} at {x0:g} to {y1:.3g} at {x1:g}")
        return f"{self.title}, {self.y} against {self.x}: " + "; ".join(ends) + "."

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the data as header and rows."""
        names = [*self.lines, *self.marks]
        both = {**self.lines, **self.marks}
        xs = sorted({x for points in both.values() for x, _ in points})
        rows = []
        for x in xs:
            values = [dict(both[name]).get(x) for name in names]
            rows.append([f"{x:g}", *("" if v is None else f"{v:.4g}" for v in values)])
        return [self.x, *names], rows


def svg(chart: Chart) -> str:
    """Return a chart as SVG whose colours the page decides."""
    points = [p for p in chart.points() if p[0] > 0 and p[1] > 0]
    lo_x, hi_x = _span([x for x, _ in points])
    lo_y, hi_y = _span([y for _, y in points])

    def px(x: float) -> float:
        return LEFT + (math.log(x) - lo_x) / (hi_x - lo_x) * (WIDTH - LEFT - RIGHT)

    def py(y: float) -> float:
        return HEIGHT - BOTTOM - (math.log(y) - lo_y) / (hi_y - lo_y) * (HEIGHT - BOTTOM - TOP)

    out = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(chart.summary())}">'
    ]
    for y in _ticks(lo_y, hi_y):
        at = py(y)
        out.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        )
        out.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{_short(y)}</text>')
    shown = sorted({x for x, _ in points})
    step = max(1, len(shown) // 6)
    for x in shown[::step]:
        out.append(
            f'<text x="{px(x):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
            f"{_short(x)}</text>"
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(chart.x)}</text>')
    for number, (name, line) in enumerate(chart.lines.items()):
        path = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in sorted(line) if y > 0)
        out.append(
            f'<polyline class="c{number}" points="{path}"><title>{escape(name)}</title></polyline>'
        )
        for x, y in line:
            if y > 0:
                tip = f"{escape(name)}: {y:.4g} at {x:g}"
                out.append(
                    f'<circle class="c{number}" cx="{px(x):.1f}" cy="{py(y):.1f}" r="3">'
                    f"<title>{tip}</title></circle>"
                )
    for name, marks in chart.marks.items():
        for x, y in marks:
            a, b = px(x), py(y)
            out.append(
                f'<path class="mark" d="M{a - 5:.1f} {b - 5:.1f}l10 10m0 -10l-10 10">'
                f"<title>{escape(name)}: {y:.4g} at {x:g}</title></path>"
            )
    out.append("</svg>")
    return "".join(out)


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


def save(charts: list[Chart], path: Path) -> None:
    """Draw charts side by side to an SVG and a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "kseeds"
    columns = min(3, len(charts))
    rows = -(-len(charts) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(4.2 * columns, 3.2 * rows), squeeze=False, layout="constrained"
    )
    for axis, chart in zip(axes.flat, charts, strict=False):
        for name, line in chart.lines.items():
            axis.loglog(*zip(*sorted(line), strict=True), marker="o", markersize=3, label=name)
        for name, marks in chart.marks.items():
            axis.loglog(*zip(*marks, strict=True), "kx", label=name)
        title = textwrap.fill(chart.title, 36)  # labels of data are long; a chart is not
        axis.set(title=title, xlabel=chart.x, ylabel=chart.y)
        legend = axis.legend(fontsize=7)
        for text in (axis.title, axis.xaxis.label, axis.yaxis.label, *legend.get_texts()):
            text.set_parse_math(False)  # names come from data; a dollar in one is a dollar
        axis.grid(alpha=0.3)
    for axis in axes.flat[len(charts) :]:
        axis.axis("off")
    for kind in ("svg", "png"):
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(path.with_suffix(f".{kind}"), metadata=metadata, dpi=110)
    plt.close(figure)
