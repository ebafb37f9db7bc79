"""The report says what was measured on what, and shows names from data as text."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest
from benchmarks.charts import Chart, save
from benchmarks.labels import caution, is_as_published, label
from benchmarks.report import write_report

from benchmarks import registry

HOSTILE = "<script>alert(1)</script>\"'&"
ABOUT = {
    "machine": HOSTILE, "system": "Linux", "python": "3", "cores": 2, "commit": HOSTILE,
    "versions": {HOSTILE: HOSTILE}, "date": HOSTILE,
}  # fmt: skip


def peers(data, best, law="k-means++", k=64, **cell):
    cell = {"suite": "peers", "data": data, "origin": "local", "n": 100, "d": 2, "law": law, "k": k,
            **cell}  # fmt: skip
    return cell, {"first": best, "best": best, "costs": {name: [2.0, 1.0] for name in best},
                  "left_out": []}  # fmt: skip


def paper(data, way, seconds, law="k-means++", k=32, **cell):
    cell = {"suite": "paper", "data": data, "origin": "local", "n": 100, "d": 2, "law": law,
            "way": way, "k": k, "run": 0, **cell}  # fmt: skip
    return cell, {"seconds": seconds, "distances": round(100 * seconds), "naive": 1000,
                  "examined": 0.5}  # fmt: skip


def every_way(data, **cell):
    ways = {"k-means++": ("naive", "paper", "paper, no queue", "lazy"),
            "k-means||": ("naive", "paper", "paper, no range", "fast")}  # fmt: skip
    for law, names in ways.items():
        for number, way in enumerate(names):
            yield paper(data, way, 8.0 / 2**number, law=law, **cell)


def quality(data, **cell):
    cell = {"suite": "quality", "data": data, "variance": 1, "k": 10, "method": "k-means++ lazy",
            "runs": 2, **cell}  # fmt: skip
    return cell, {"seed": [3.0, 4.0], "final": [2.0, 1.0]}


def page_of(folder, records):
    lines = [{"cell": cell, "result": result, "about": ABOUT} for cell, result in records]
    (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return write_report(folder).read_text(encoding="utf-8")


class Page(HTMLParser):
    """Collects the tags, and the texts of what names a data set."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.handlers, self.texts, self._open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.texts += [(tag, value) for name, value in attrs if name == "aria-label"]
        self._open.append(tag)

    def handle_data(self, data):
        self.texts.append((self._open[-1], data))

    def holding(self, name):
        return [(tag, text) for tag, text in self.texts if name in text]


def test_names_from_data_are_shown_as_text(tmp_path):
    records = [
        *every_way(HOSTILE),
        paper(HOSTILE, HOSTILE, 3.0),
        peers(HOSTILE, {"kseeds": 1.0, HOSTILE: 0.5}),
        quality("covtype", method=f"k-means++ {HOSTILE}"),
        ({"suite": "bias", "keys": HOSTILE}, {"third": {"0": 1}, "draws": 2}),
    ]
    page = Page(page_of(tmp_path, records))
    assert "script" not in page.tags
    assert not page.handlers
    places = {tag for tag, _ in page.holding(HOSTILE)}
    assert {"p", "strong", "td", "th", "span", "svg", "title", "figcaption"} <= places
    peers_row = [text for tag, text in page.holding(HOSTILE) if tag == "td"]
    assert HOSTILE in peers_row


def test_a_name_with_dollars_is_no_formula(tmp_path):
    """Matplotlib reads text between dollars as a formula, and refuses a bad one."""
    chart = Chart(r"$\frac{$ <&>", "K", r"$\x$", {r"$\nothing$": [(1.0, 2.0), (2.0, 3.0)]})
    save([chart], tmp_path / "chart")
    assert (tmp_path / "chart.png").stat().st_size > 0


def test_a_mark_at_the_start_of_a_name_stays(tmp_path):
    page = Page(page_of(tmp_path, [peers("!exclaimed", {"kseeds": 1.0, "oneDAL": 0.5})]))
    assert ("td", "!exclaimed") in page.texts


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
    best = {"kseeds": 1.0, "oneDAL": 3.0}
    records = [*every_way("skin", **cell)]
    records += [peers("skin", best, law=law, **cell) for law in ("k-means++", "k-means||")]
    records += [quality("skin", **cell)]
    text = page_of(tmp_path, records).replace("\N{NO-BREAK SPACE}", " ")
    page = Page(text)
    named = page.holding("skin")
    assert [held for _, held in named if note not in held] == []
    tags = [tag for tag, _ in named]
    # Four charts, each with a title, a summary (read aloud, too) and a table; seven other tables.
    assert {tags.count(tag) for tag in ("strong", "svg", "figcaption", "caption")} == {4}
    assert tags.count("td") == 7
    kind = "synthetic stand-in" if cell["origin"] == "synthetic" else "some of the rows only"
    for law in ("k-means++", "k-means||"):
        summary = next(t for tag, t in page.texts if tag == "p" and f"Peers of {law}" in t)
        assert kind in summary


def test_whole_and_real_data_carry_no_note(tmp_path):
    page = page_of(tmp_path, [*every_way("skin", n=245_057), quality("covtype")])
    assert "stand-in" not in page
    assert "rows only" not in page
    assert "skin (" not in page


def test_stand_ins_and_cuts_are_not_averaged_with_the_data(tmp_path):
    records = [
        *(paper("skin", way, 8.0, n=245_057) for way in ("naive", "lazy")),
        *(paper("skin", way, s, n=50) for way, s in (("naive", 64.0), ("lazy", 1.0))),
    ]
    page = page_of(tmp_path, records)
    assert "lazy goes from 1 at 32 to 1 at 32" in page
    assert "lazy goes from 64 at 32 to 64 at 32" in page


def test_published_figures_stand_beside_the_published_data_only(tmp_path):
    whole = registry.SETS["mnist"].rows
    cell = {"suite": "quality", "k": 10}
    for line, shown in (
        ({"n": whole, "origin": "local"}, True),
        ({"n": 500, "origin": "local"}, False),
        ({"n": whole, "origin": "synthetic"}, False),
    ):
        assert is_as_published({"data": "mnist", **line}) == shown
        page = page_of(tmp_path, [*every_way("mnist", **line)])
        assert ('class="mark"' in page) == shown
    assert "5.941e+11" in page_of(tmp_path, [quality("covtype", **cell)])
    assert "5.941e+11" not in page_of(tmp_path, [quality("covtype", n=500, **cell)])


def test_nothing_measured_is_said_so(tmp_path):
    page = page_of(tmp_path, [peers("skin", {"kseeds": 1.0}, n=245_057)])
    assert "nan" not in page
    assert "0 of 0" not in page
    assert "geometric mean" not in page
    assert "No peer was measured" in page


def test_missing_numbers_are_no_nan(tmp_path):
    one = quality("covtype", k=11)
    one[1].update(seed=[3.0], final=[2.0])
    cells = [
        peers("skin", {"kseeds": 1.0, "oneDAL": 2.0}, n=245_057),
        peers("skin", {"kseeds": 1.0}, k=512, n=245_057),
        one,
    ]
    page = page_of(tmp_path, cells)
    assert "nan" not in page
    assert page.count("left out") == 2


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
    page = Page(page_of(tmp_path, records).replace("\N{NO-BREAK SPACE}", " "))
    titles = [text for tag, text in page.texts if tag == "strong" and text.strip()]
    assert len(titles) == 4
    assert all("synthetic rows" in title for title in titles)
    assert sum("n = 4 000" in title for title in titles) == 2


def test_a_summary_counts_stand_ins_and_cuts():
    real = {"data": "skin", "origin": "local", "n": 245_057}
    made = {"data": "skin", "origin": "synthetic", "n": 245_057}
    cut = {"data": "cities", "origin": "local", "n": 10, "of": 20}
    assert caution([real]) == ""
    assert "2 are of synthetic stand-ins" in caution([real, made, made])
    assert "1 are" not in caution([real, cut])
    assert "1 is of some of the rows only" in caution([real, cut])
    assert label(cut) == "cities (10 of 20 rows)"


def test_loading_says_what_a_record_must(monkeypatch, tmp_path):
    monkeypatch.setitem(registry.SETS, "tiny", registry.DataSet(500, 4, "local", "none"))
    X, about = registry.load("tiny", None)
    assert X.shape == (500, 4)
    assert about == {"data": "tiny", "origin": "synthetic", "n": 500, "d": 4}
    assert registry.load("tiny", None, 20)[1] == {**about, "n": 20, "of": 500}
    np.save(tmp_path / "tiny.npy", X)
    assert registry.load("tiny", tmp_path, 900)[1] == {**about, "origin": "local"}
    with pytest.raises(ValueError, match="not in the registry"):
        registry.load("nothing", None)
