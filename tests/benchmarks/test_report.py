"""The report says what was measured on what, and shows names from data as text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from benchmarks.charts import HEIGHT, WIDTH, Chart, Table, picture
from benchmarks.report import write_report

from benchmarks import data

HOSTILE = "<script>alert(1)</script>\"'&"
ABOUT = {
    "machine": HOSTILE, "system": "Linux", "python": "3", "cores": 2, "commit": HOSTILE,
    "versions": {HOSTILE: HOSTILE}, "date": HOSTILE,
}  # fmt: skip
NAMES = {
    "k-means++": ("naive", "paper", "paper, no queue", "lazy"),
    "k-means||": ("naive", "paper", "paper, no range", "fast"),
}


def record(suite, data, result, **cell):
    return {"suite": suite, "data": data, "origin": "local", "n": 100, "d": 2, **cell}, result


def paper(data, law="k-means++", seconds=(8.0, 4.0, 2.0, 1.0), **cell):
    values = dict(zip(NAMES[law], seconds, strict=True))
    result = {"best": values, "distances": values, "examined": 0.5}
    return record("paper", data, result, **{"law": law, "k": 32, **cell})


def peers(data, best, law="k-means++", **cell):
    costs = {name: [2.0, 1.0] for name in best}
    result = {"best": best, "costs": costs, "pass": 0.1}
    return record("peers", data, result, **{"law": law, "k": 64, **cell})


def quality(data, **cell):
    result = {"seed": [3.0, 4.0], "final": [2.0, 1.0]}
    return record("quality", data, result, **{"k": 10, "method": "k-means++ lazy", **cell})


def page_of(folder, records):
    lines = [{"about": ABOUT}] + [{"cell": cell, "result": result} for cell, result in records]
    (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return write_report(folder).read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


class Page(HTMLParser):
    """Collects tags and texts, and refuses a tag that is not closed where it should be."""

    EMPTY = ("meta", "link")

    def __init__(self, text):
        super().__init__()
        self.tags, self.handlers, self.texts, self.open = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.texts += [(tag, value) for name, value in attrs if name == "aria-label"]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1], data))

    def holding(self, name):
        return [(tag, text) for tag, text in self.texts if name in text]


def check_drawing(text):
    """Fail unless a chart is well formed and all that it draws lies within it."""
    chart = ElementTree.fromstring(text)
    for part in chart.iter():
        pairs = re.findall(r"([-\d.]+),([-\d.]+)", part.get("points", ""))
        pairs += [(part.get(x), part.get(y)) for x, y in (("x", "y"), ("cx", "cy"))]
        for x, y in pairs:
            assert x is None or 0 <= float(x) <= WIDTH
            assert y is None or 0 <= float(y) <= HEIGHT
    assert {part.tag.rpartition("}")[2] for part in chart.iter()} >= {"polyline", "circle", "text"}


def test_a_page_is_well_formed_and_its_charts_are_drawn_within_their_frames(tmp_path):
    page = page_of(
        tmp_path, [paper("mnist", law, n=60_000, k=k) for law in NAMES for k in (32, 4096)]
    )
    Page(page)
    drawings = re.findall(r"<svg.*?</svg>", page)
    assert len(drawings) == page.count("<figure>") == 4
    for drawing in drawings:
        check_drawing(drawing)
    assert 'name="viewport"' in page
    assert not re.search(r"https?://|<script|nan", page)


def test_a_picture_of_charts_is_one_drawing_with_names_as_text():
    line = [(1.0, 2.0), (2.0, 3.0)]
    charts = [Chart(HOSTILE, "K", "y", {HOSTILE: line}, {"published": line}) for _ in range(4)]
    drawing = ElementTree.fromstring(picture(charts))
    words = ["".join(part.itertext()) for part in drawing.iter()]
    assert sum(word == f"{HOSTILE}: y" for word in words) == 4


def test_names_from_data_are_shown_as_text(tmp_path):
    records = [
        *(paper(HOSTILE, law) for law in NAMES),
        peers(HOSTILE, {"kseeds": 1.0, HOSTILE: 0.5}),
        quality("covtype", method=f"k-means++ {HOSTILE}"),
        ({"suite": "quality", "keys": HOSTILE, "draws": 2}, {"third": [1, 0, 0, 0, 0, 1]}),
    ]
    page = Page(page_of(tmp_path, records))
    assert "script" not in page.tags
    assert not page.handlers
    places = {tag for tag, _ in page.holding(HOSTILE)}
    assert {"p", "strong", "td", "th", "svg", "figcaption"} <= places
    assert ("td", HOSTILE) in page.texts


def test_a_bar_in_a_name_does_not_split_a_row_of_markdown():
    assert Table(["k-means||"], [["a|b"]]).markdown().splitlines()[::2] == [
        r"| k-means\|\| |", r"| a\|b |",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "note"),
    [
        ({"origin": "synthetic", "n": 245_057}, "skin (synthetic stand-in)"),
        ({"origin": "local", "n": 4000, "of": 245_057}, "skin (4 000 of 245 057 rows)"),
        ({"origin": "local", "n": 4000}, "skin (4 000 of 245 057 rows)"),
        ({"origin": "synthetic", "n": 40}, "skin (synthetic stand-in, 40 of 245 057 rows)"),
    ],
)
def test_stand_ins_and_cuts_show_wherever_the_data_are_named(tmp_path, cell, note):
    best = {"kseeds": 1.0, "faiss": 3.0, "scikit-learn": 3.0}
    both = {"scikit-learn": [2.0, 3.0], "patched": [1.0, 4.0]}
    fits = {"seconds": both, "inertia": both, "iterations": both}
    records = [
        *(paper("skin", law, **cell) for law in NAMES),
        *(peers("skin", best, law, **cell) for law in NAMES),
        quality("skin", **cell),
        record("assign", "skin", {"best": best}, m=64, **cell),
        record(
            "greedy", "skin", {"best": best, "drawn": 8, "distances": 9, "bytes": 9}, k=64, **cell
        ),
        record("fits", "skin", fits, k=64, **cell),
        record("dask", "skin", {"best": best, "costs": best, "counted": {}}, k=64, **cell),
    ]
    page = Page(page_of(tmp_path, records))
    named = page.holding("skin")
    assert [held for _, held in named if note not in held] == []
    tags = [tag for tag, _ in named]
    # Four charts, each with a title and a summary (read aloud, too); rows of seven suites.
    assert {tags.count(tag) for tag in ("strong", "svg", "figcaption")} == {4}
    assert tags.count("td") == 2 + 2 + 1 + 1 + 1 + 1 + 3
    kind = "synthetic stand-in" if cell["origin"] == "synthetic" else "some of the rows only"
    for law in NAMES:
        summary = next(t for tag, t in page.texts if tag == "p" and f"Peers of {law}" in t)
        assert kind in summary


def test_whole_and_real_data_carry_no_note(tmp_path):
    page = page_of(tmp_path, [paper("skin", n=245_057), quality("covtype", n=581_012)])
    assert "stand-in" not in page
    assert "rows only" not in page
    assert "skin (" not in page


def test_stand_ins_and_cuts_are_not_drawn_with_the_data(tmp_path):
    whole = paper("skin", seconds=(8.0, 8.0, 8.0, 8.0), n=245_057)
    page = page_of(tmp_path, [whole, paper("skin", seconds=(64.0, 8.0, 8.0, 1.0), n=50)])
    assert "lazy goes from 1 at 32 to 1 at 32" in page
    assert "lazy goes from 64 at 32 to 64 at 32" in page


def test_published_figures_stand_beside_the_published_data_only(tmp_path):
    whole = data.SETS["mnist"].rows
    for line, shown in (
        ({"n": whole, "origin": "local"}, True),
        ({"n": 500, "origin": "local"}, False),
        ({"n": whole, "origin": "synthetic"}, False),
    ):
        assert data.is_as_published({"data": "mnist", **line}) == shown
        assert ('class="mark"' in page_of(tmp_path, [paper("mnist", **line)])) == shown
    for n, shown in ((581_012, True), (500, False)):
        assert ("5.941e+11" in page_of(tmp_path, [quality("covtype", n=n)])) == shown
    for n, shown in ((10_000, True), (500, False)):
        assert ("2.3e+05" in page_of(tmp_path, [quality("mixture", n=n, variance=1)])) == shown


def test_nothing_measured_is_said_so(tmp_path):
    page = page_of(tmp_path, [peers("skin", {"kseeds": 1.0}, n=245_057)])
    assert not re.search("nan|0 of 0|geometric mean", page)
    assert "No peer was measured" in page
    with pytest.raises(SystemExit, match="has no results"):
        write_report(tmp_path / "nothing")


def test_missing_numbers_are_no_nan(tmp_path):
    one = quality("covtype", k=11)
    one[1].update(seed=[3.0], final=[2.0])
    slow = paper("skin", k=64)
    del slow[1]["best"]["paper"]  # of the distances, too: they are the same table here
    with_and_without = [peers("skin", best, k=len(best))
                        for best in ({"kseeds": 1.0, "oneDAL": 2.0}, {"kseeds": 1.0})]  # fmt: skip
    page = page_of(tmp_path, [*with_and_without, one, slow])
    assert "nan" not in page
    assert page.count("left out") == 1


def test_the_report_says_that_scikit_learns_default_is_another_law(tmp_path):
    page = page_of(tmp_path, [peers("skin", {"kseeds": 1.0, "scikit-learn": 9.0}, n=245_057)])
    assert "one trial" in page
    assert "greedy k-means++" in page


def test_growth_is_labelled_as_synthetic_and_by_its_rows(tmp_path):
    records = [
        ({"suite": "scaling", "axis": "K", "n": n, "d": 16, "k": k, "threads": 2},
         {"seconds": k / n, "distances": k * n})
        for n in (4000, 8000)
        for k in (64, 256)
    ]  # fmt: skip
    page = Page(page_of(tmp_path, records))
    titles = [text for tag, text in page.texts if tag == "strong" and text.strip()]
    assert len(titles) == 4
    assert all("synthetic rows" in title for title in titles)
    assert sum("n = 4 000" in title for title in titles) == 2


def test_a_summary_counts_stand_ins_and_cuts():
    real = {"data": "skin", "origin": "local", "n": 245_057}
    made = {"data": "skin", "origin": "synthetic", "n": 245_057}
    cut = {"data": "cities", "origin": "local", "n": 10, "of": 20}
    assert data.caution([real]) == ""
    assert "2 are of synthetic stand-ins" in data.caution([real, made, made])
    assert "1 are" not in data.caution([real, cut])
    assert "1 is of some of the rows only" in data.caution([real, cut])
    assert data.label(cut) == "cities (10 of 20 rows)"


def test_loading_says_what_a_record_must(monkeypatch, tmp_path):
    monkeypatch.setitem(data.SETS, "tiny", data.DataSet(500, 4, "local", "none"))
    X, about = data.load("tiny", None)
    assert X.shape == (500, 4)
    assert about == {"data": "tiny", "origin": "synthetic", "n": 500, "d": 4}
    assert data.load("tiny", None, 20)[1] == {**about, "n": 20, "of": 500}
    np.save(tmp_path / "tiny.npy", X)
    assert data.load("tiny", tmp_path, 900)[1] == {**about, "origin": "local"}
    with pytest.raises(ValueError, match="not a data set of the benchmarks"):
        data.load("nothing", None)
