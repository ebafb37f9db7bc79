"""The command line of the benchmarks: python -m benchmarks --help."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.records import Records
from benchmarks.report import write_report
from benchmarks.suites import SUITES
from benchmarks.suites.base import Run

app = typer.Typer(help="Measure kseeds and its peers.", no_args_is_help=True, add_completion=False)
Out = Annotated[Path, typer.Option(help="Folder of results.jsonl; runs append to it and resume.")]
OUT = Path("out")


Name = Enum("Name", {name: name for name in SUITES})


@app.command("list")
def list_suites() -> None:
    """List the suites."""
    for name, suite in SUITES.items():
        typer.echo(f"{name:10s} {suite.summary}")


@app.command()
def run(
    suite: Name,
    data: Annotated[Path | None, typer.Option(help="Folder of .npz (key X) or .npy files.")] = None,
    out: Out = OUT,
    full: Annotated[bool, typer.Option(help="All that docs/performance.md shows.")] = False,
    sets: Annotated[list[str] | None, typer.Option(help="Only this data set (repeatable).")] = None,
    rows: Annotated[int | None, typer.Option(help="Only so many rows.", min=1)] = None,
    k: Annotated[list[int] | None, typer.Option(help="Seeds or centres (repeatable).")] = None,
) -> None:
    """Run a suite, or resume it, and show its tables."""
    records = Records(out)
    steps = SUITES[suite.value].cells(Run(data, full, tuple(sets or ()), rows, tuple(k or ())))
    result: dict[str, Any] | None = None
    while True:
        try:
            cell = steps.send(result)
        except StopIteration:
            break
        typer.echo(f"{suite.value}: {', '.join(f'{n} {v}' for n, v in cell.key.items())}", err=True)
        result = records.result(suite.value, cell)
    show(suite, out)


@app.command()
def show(suite: Name, out: Out = OUT) -> None:
    """Print the tables of a suite as Markdown."""
    for section in SUITES[suite.value].sections(Records(out).of(suite.value)):
        for table in section.tables if section else ():
            typer.echo(f"## {section.title}\n{section.text}\n\n{table.markdown()}\n")


@app.command()
def report(
    out: Out = OUT,
    chart: Annotated[
        Path | None, typer.Option(help="Also draw the README's chart to this .svg file.")
    ] = None,
) -> None:
    """Write OUT/report.html: one page of everything on record."""
    typer.echo(write_report(out, chart))


if __name__ == "__main__":
    app(prog_name="python -m benchmarks")
