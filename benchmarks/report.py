"""One page of everything that was measured: no network, light and dark, readable on a phone."""

from __future__ import annotations

from collections import defaultdict
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.charts import Chart, save, svg
from benchmarks.labels import caution, count, is_as_published, label
from benchmarks.quality import MIXTURE
from benchmarks.records import Records
from benchmarks.seeding import PUBLISHED

PUBLISHED_DISTANCES = {"mnist": [(32, 1 / 0.982), (4096, 1 / 0.634)]}
PUBLISHED_TIMES = {"mnist": [(32, 1.034), (4096, 1.5)], "covtype": [(4096, 17.0)]}
PUBLISHED_PARALLEL = {"mnist": [(32, 8.3)]}
PUBLISHED_ABLATION = {
    "cod-rna": 0.983, "phishing": 2.313, "mnist": 1.059, "skin": 1.217, "covtype": 1.877,
}  # fmt: skip

GREEDY = (
    "scikit-learn runs with one trial a seed (n_local_trials=1), which is k-means++. Its "
    "default tries several rows for every seed and keeps the best: greedy k-means++, another "
    "law, not measured here. It ends at lower costs where clusters are well separated, and at "
    "nearly the same elsewhere (python -m benchmarks.greedy)."
)

STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#6a737d;--grid:#d8dee4;
--c0:#0969da;--c1:#bc4c00;--c2:#1a7f37;--c3:#8250df;--c4:#bf3989}
@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;--grid:#30363d;
--c0:#58a6ff;--c1:#f0883e;--c2:#3fb950;--c3:#bc8cff;--c4:#f778ba}}
body{background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;max-width:72rem;
margin:0 auto;padding:1rem}
h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.5rem}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1.5rem}
figure{margin:0}figcaption,.soft{color:var(--soft);font-size:.85rem}
svg{width:100%;height:auto}svg text{fill:var(--soft);font-size:11px}
.grid{stroke:var(--grid)}polyline{fill:none;stroke-width:2}
polyline.c0{stroke:var(--c0)}polyline.c1{stroke:var(--c1)}polyline.c2{stroke:var(--c2)}
polyline.c3{stroke:var(--c3)}polyline.c4{stroke:var(--c4)}
circle.c0{fill:var(--c0)}circle.c1{fill:var(--c1)}circle.c2{fill:var(--c2)}circle.c3{fill:var(--c3)}
circle.c4{fill:var(--c4)}.mark{stroke:var(--fg);stroke-width:2;fill:none}
.key{display:inline-block;width:.8em;height:.8em;border-radius:50%;margin:0 .3em 0 .8em}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem}
td,th{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--grid)}
caption{text-align:left}td:first-child,th:first-child{text-align:left}.behind{color:var(--c1);font-weight:600}
"""


def write_report(out: Path, assets: Path | None = None) -> Path:
    """Write ``out/report.html`` from ``out/results.jsonl``; return its path."""
    lines = Records(out).lines()
    if not lines:
        raise SystemExit(f"{out} has no results; run a suite with --out {out} first.")
    suites: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        suites[line["cell"]["suite"]].append({**line["cell"], **line["result"]})
    about = lines[-1]["about"]
    groups = {
        "Fewer distances: k-means++": _ratios(suites["paper"], "k-means++", "distances"),
        "Less time: k-means++": _ratios(suites["paper"], "k-means++", "seconds"),
        "Fewer distances: k-means||": _ratios(suites["paper"], "k-means||", "distances"),
        "Less time: k-means||": _ratios(suites["paper"], "k-means||", "seconds"),
        "How it scales": _scaling(suites["scaling"]),
    }
    named = [line["cell"] for line in lines if "data" in line["cell"]]
    body = [
        "<h1>kseeds, measured</h1>",
        f'<p class="soft">{escape(_machine(about))}</p>',
        "<p>Every ratio is against the naive algorithm in vectors on all cores, not a scalar loop. "
        f"Crosses are what the paper published. {escape(caution(named))}</p>",
    ]
    for title, charts in groups.items():
        if charts:
            body += [f"<h2>{escape(title)}</h2>", '<div class="charts">']
            body += [_figure(chart) for chart in charts]
            body.append("</div>")
    body += _queue(suites["paper"]) + _in_range(suites["paper"])
    body += _peers(suites["peers"]) + _quality(suites["quality"]) + _bias(suites["bias"])
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>kseeds, measured</title><style>{STYLE}</style>'
        f"</head><body><main>{''.join(body)}</main></body></html>"
    )
    path = out / "report.html"
    path.write_text(page, encoding="utf-8")
    if assets is not None:
        assets.mkdir(parents=True, exist_ok=True)
        for name, charts in zip(
            (
                "plusplus-distances",
                "plusplus-time",
                "parallel-distances",
                "parallel-time",
                "scaling",
            ),
            groups.values(),
            strict=True,
        ):
            if charts:
                save(charts, assets / name)
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
        f"<figcaption>{escape(chart.summary())}</figcaption>"
        f"<details><summary>Data</summary>{_table(*chart.table(), chart.title)}</details></figure>"
    )


class _Behind(str):
    """A cell in which somebody else is ahead."""

    __slots__ = ()


def _table(header: list[str], rows: list[list[str]], caption: str = "") -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = []
    for row in rows:
        cells = "".join(
            f'<td class="behind">{escape(cell)}</td>'
            if isinstance(cell, _Behind)
            else f"<td>{escape(cell)}</td>"
            for cell in row
        )
        lines.append(f"<tr>{cells}</tr>")
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table>{title}<thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _means(
    lines: list[dict[str, Any]], law: str, what: str
) -> dict[str, dict[str, dict[int, float]]]:
    """Return data set, labelled → way → K → mean."""
    found: dict[str, dict[str, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        if line["law"] == law and what in line:
            found[label(line)][line["way"]].setdefault(line["k"], []).append(line[what])
    return {
        data: {
            way: {k: float(np.mean(values)) for k, values in by_k.items()}
            for way, by_k in ways.items()
        }
        for data, ways in found.items()
    }


def _published(lines: list[dict[str, Any]], figures: dict[str, Any]) -> dict[str, Any]:
    """Return published figures by label, for data that are what was published about."""
    return {
        label(line): figures[line["data"]]
        for line in lines
        if line["data"] in figures and is_as_published(line)
    }


def _ratios(lines: list[dict[str, Any]], law: str, what: str) -> list[Chart]:
    means = _means(lines, law, what)
    naive = _means(lines, law, "naive") if (law, what) == ("k-means||", "distances") else {}
    figures: dict[str, Any] = {
        ("k-means++", "distances"): PUBLISHED_DISTANCES,
        ("k-means++", "seconds"): PUBLISHED_TIMES,
        ("k-means||", "distances"): PUBLISHED_PARALLEL,
    }.get((law, what), {})
    published = _published(lines, figures)
    charts = []
    for data, ways in means.items():
        base = ways.get("naive", {})
        if data in naive:
            base = naive[data].get("fast", {})
        drawn = {}
        for way, by_k in ways.items():
            points = [(float(k), base[k] / v) for k, v in sorted(by_k.items()) if k in base and v]
            if way != "naive" and "no " not in way and points:
                drawn[way] = points
        if not drawn:
            continue
        marks = {"published": published[data]} if data in published else {}
        charts.append(Chart(data, "K", f"naive / this, {what}", drawn, marks))
    return charts


def _scaling(lines: list[dict[str, Any]]) -> list[Chart]:
    """Return time and work along each axis, one chart for every setting of the others."""
    axes = {"n": "n", "K": "k", "d": "d", "threads": "threads"}
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        fixed = [f"{name} = {count(line[key])}" for name, key in axes.items()
                 if name != line["axis"]]  # fmt: skip
        groups[line["axis"], ", ".join(fixed)].append(line)
    charts = []
    for (axis, fixed), chosen in groups.items():
        for what, name in (("seconds", "time"), ("distances", "distances")):
            points = sorted((float(x[axes[axis]]), float(x[what])) for x in chosen)
            if len({x for x, _ in points}) < 2:
                continue
            slope = np.polyfit(*np.log(np.array(points)).T, 1)[0]
            title = f"{name} with {axis} (synthetic rows, {fixed})"
            charts.append(Chart(title, axis, what, {f"{what} ~ {axis}^{slope:.2f}": points}))
    return charts


def _queue(lines: list[dict[str, Any]]) -> list[str]:
    with_queue = _means(lines, "k-means++", "seconds")
    examined = _means(lines, "k-means++", "examined")
    published = _published(lines, PUBLISHED_ABLATION)
    rows = []
    for data, ways in with_queue.items():
        on, off = ways.get("paper", {}), ways.get("paper, no queue", {})
        for k in sorted(set(on) & set(off)):
            share = examined.get(data, {}).get("paper", {}).get(k)
            beside = published.get(data) if k == 4096 else None
            rows.append([
                data, str(k), "" if share is None else f"{share:.3%}", f"{off[k] / on[k]:.3f}",
                "" if beside is None else f"{beside:.3f}",
            ])  # fmt: skip
    header = ["data", "K", "queue examined a round", "time without / with queue", "published"]
    return ["<h2>The queue</h2>", _table(header, rows)] if rows else []


def _in_range(lines: list[dict[str, Any]]) -> list[str]:
    rows = []
    for data, ways in _means(lines, "k-means||", "distances").items():
        on, off = ways.get("paper", {}), ways.get("paper, no range", {})
        rows += [[data, str(k), f"{off[k] / on[k]:.2f}"] for k in sorted(set(on) & set(off))]
    header = ["data", "K", "distances without / with NearestInRange"]
    return ["<h2>NearestInRange</h2>", _table(header, rows)] if rows else []


def _peers(lines: list[dict[str, Any]]) -> list[str]:
    out = []
    for law in ("k-means++", "k-means||"):
        chosen = [line for line in lines if line["law"] == law]
        names = sorted({name for line in chosen for name in line["best"]} - {"kseeds"})
        rows, ratios = [], []
        for line in chosen:
            ours = line["best"]["kseeds"]
            row = [label(line), str(line["k"]), f"{ours * 1e3:.4g}"]
            for name in names:
                theirs = line["best"].get(name)
                behind = theirs is not None and theirs < ours
                text = "left out" if theirs is None else f"{theirs / ours:.1f}×"
                row.append(_Behind(text) if behind else text)
            rivals = [line["best"][name] for name in names if name in line["best"]]
            if rivals:
                ratios.append(min(rivals) / ours)
            for name in ("kseeds", *names):
                cost = line["costs"].get(name)
                row.append("" if cost is None else f"{cost[0]:.3g} / {cost[1]:.3g}")
            rows.append(row)
        if not rows:
            continue
        header = ["data", "K", "kseeds, ms", *names, *(f"cost, {n}" for n in ("kseeds", *names))]
        out += [
            f"<h2>Peers: {law}</h2><p>Peers of {law}: their time over ours (both on all cores, "
            "best of three, steady state); cost after seeding / after five iterations of Lloyd. "
            f"{_against(ratios)} {escape(caution(chosen))}</p>",
            f"<p>{GREEDY}</p>" if "scikit-learn" in names else "",
            _table(header, rows),
            *_first_calls(law, chosen, ["kseeds", *names]),
        ]
    return out


def _against(ratios: list[float]) -> str:
    """Say how the fastest of the peers compares, if one was measured."""
    if not ratios:
        return "No peer was measured; install some to compare with (see benchmarks/peers.py)."
    mean = float(np.exp(np.mean(np.log(ratios))))
    first = sum(ratio >= 1 for ratio in ratios)
    return (
        f"Against the fastest of them: {mean:.1f}× in geometric mean, first in {first} of "
        f"{len(ratios)} cells."
    )


def _first_calls(law: str, lines: list[dict[str, Any]], names: list[str]) -> list[str]:
    """Return the times of the first calls, which may load or compile something."""
    rows = [
        [
            label(line),
            str(line["k"]),
            *(f"{line['first'][n] * 1e3:.4g}" if n in line["first"] else "left out" for n in names),
        ]
        for line in lines
    ]
    text = f"<h3>First call of each cell, {law}, ms</h3>"
    return [text, _table(["data", "K", *names], rows)]


def _quality(lines: list[dict[str, Any]]) -> list[str]:
    rows = []
    for line in lines:
        seed, final = np.array(line["seed"]), np.array(line["final"])
        spread = ""
        if len(seed) > 1:
            spread = f" ± {1.96 * seed.std(ddof=1) / np.sqrt(len(seed)):.2g}"
        name = label(line) + (f" R={line['variance']:g}" if line["data"] == "mixture" else "")
        published = ""
        if "++" in line["method"] and is_as_published(line):
            if line["data"] == "covtype" and line["k"] in PUBLISHED:
                published = f"{PUBLISHED[line['k']]:.4g}"
            elif line["data"] == "mixture":
                published = " / ".join(f"{v:.3g}" for v in MIXTURE[int(line["variance"])])
        rows.append([
            name, str(line["k"]), line["method"], f"{seed.mean():.4g}{spread}",
            f"{np.median(seed):.4g}", f"{final.mean():.4g}", published,
        ])  # fmt: skip
    header = ["data", "k", "method", "seed cost (95 %)", "median", "after Lloyd", "published"]
    return ["<h2>Quality</h2>", _table(header, rows)] if rows else []


def _bias(lines: list[dict[str, Any]]) -> list[str]:
    rows = []
    for line in lines:
        shares = [line["third"].get(str(i), 0) / line["draws"] for i in range(6)]
        rows.append([line["keys"], *(f"{share:.4f}" for share in shares)])
    if not rows:
        return []
    header = ["keys", *(f"point {i}" for i in range(6))]
    text = (
        "<h2>The bias of the printed keys</h2><p>How often each of six points on a line is the "
        "third seed. Clock keys follow the law; the keys as printed do not.</p>"
    )
    return [text, _table(header, rows)]
