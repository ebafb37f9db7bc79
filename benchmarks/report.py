"""One page of everything that was measured: no network, light and dark, readable on a phone."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from benchmarks.charts import COLORS, Chart, Table, picture, svg
from benchmarks.data import caution
from benchmarks.records import Records
from benchmarks.suites import SUITES
from benchmarks.suites.paper import ratios

STYLE = """
body{background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;max-width:72rem;
margin:0 auto;padding:1rem}
h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.5rem}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1.5rem}
figure{margin:0}figcaption,.soft{color:var(--soft);font-size:.85rem}
svg{width:100%;height:auto}
.key{display:inline-block;width:.8em;height:.8em;border-radius:50%;margin:0 .3em 0 .8em}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem}
td,th{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--grid)}
td:first-child,th:first-child{text-align:left}
"""


def write_report(out: Path, chart: Path | None = None) -> Path:
    """Write ``out/report.html`` from ``out/results.jsonl``; return its path.

    ``chart`` is where to draw the times of k-means++ in the paper's comparison, as SVG.
    """
    records = Records(out)
    if not records.lines:
        raise SystemExit(f"{out} has no results; run a suite with --out {out} first.")
    named = [line["cell"] for line in records.lines if "data" in line["cell"]]
    machines = dict.fromkeys(_machine(line["about"]) for line in records.lines)
    body = [
        "<h1>kseeds, measured</h1>",
        *(f'<p class="soft">{escape(text)}</p>' for text in machines),
        "<p>Every ratio is against the naive algorithm in vectors on all cores, not a scalar loop. "
        f"Crosses are what the paper published. {escape(caution(named))}</p>",
    ]
    for name, suite in SUITES.items():
        for section in suite.sections(records.of(name)):
            if section:
                body.append(f"<h2>{escape(section.title)}</h2><p>{escape(section.text)}</p>")
                body += [_table(table) for table in section.tables]
                charts = "".join(map(_figure, section.charts))
                body.append(f'<div class="charts">{charts}</div>' if charts else "")
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<link rel="icon" href="data:,"><title>kseeds, measured</title>'
        f"<style>{COLORS}{STYLE}</style>"
        f"</head><body><main>{''.join(body)}</main></body></html>"
    )
    path = out / "report.html"
    path.write_text(page, encoding="utf-8")
    if chart is not None:
        lines = [line for line in records.of("paper") if line["law"] == "k-means++"]
        chart.write_text(picture(ratios(lines, "k-means++", "best")), encoding="utf-8")
    return path


def _machine(about: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return (
        f"{about['date']}, commit {about['commit']}, {about['cores']} cores ({about['machine']}), "
        f"Python {about['python']}, {versions}"
    )


def _figure(chart: Chart) -> str:
    keys = "".join(
        f'<span class="key" style="background:var(--c{n})"></span>{escape(name)}'
        for n, name in enumerate(chart.lines)
    )
    return (
        f"<figure><strong>{escape(chart.title)}</strong> {keys}{svg(chart)}"
        f"<figcaption>{escape(chart.summary())}</figcaption></figure>"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in table.rows]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        "</div>"
    )
