"""The commands: their options and their output."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Column, Table

import kseeds
from kseeds.cli.clustering import kmeans
from kseeds.cli.console import out as _out
from kseeds.cli.console import printable as _printable
from kseeds.cli.errors import reporting_errors, say
from kseeds.cli.picture import check_picture, draw
from kseeds.cli.reading import read_rows
from kseeds.cli.writing import check_names, check_target, kinds_for, row_column, write_seeds
from kseeds.results import Seeding

app = typer.Typer(
    name="kseeds",
    help="Choose the starting centres of k-means by exact k-means++ and k-means||; run k-means.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
METHODS: dict[str, Callable[..., Seeding]] = {
    "plusplus": kseeds.kmeans_plusplus,
    "greedy": kseeds.greedy_kmeans_plusplus,
    "parallel": kseeds.kmeans_parallel,
}

_COMPARED = ("plusplus", "parallel")
"""The methods of the paper, which the demo compares with naive ones."""


def _version(value: bool) -> None:
    if value:
        typer.echo(f"kseeds {kseeds.__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Choose the starting centres of k-means by exact k-means++ and k-means||; run k-means."""


@app.command()
def demo(
    rows: Annotated[int, typer.Option(help="Number of points.", min=10)] = 20_000,
    k: Annotated[int, typer.Option("-k", "--clusters", help="Number of seeds.", min=1)] = 50,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="The picture: .png, .jpg, .pdf or .svg."),
    ] = Path("kseeds-demo.png"),
    random_state: Annotated[int, typer.Option(help="Random seed.", min=0)] = 0,
    all_algorithms: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Show all algorithms, and how fast they are once compiled, which takes up to a "
            "minute the first time.",
        ),
    ] = False,
) -> None:
    """Seed a synthetic data set, compare the cost with naive algorithms, and draw a picture."""
    if k > rows:
        raise typer.BadParameter(
            f"-k {k} is more than --rows {rows}; add -k {rows}, or more rows.", param_hint="-k"
        )
    with reporting_errors():
        check_picture(output)
        X = _blobs(rows, random_state)
        _out.print(f"{rows:,} points in two dimensions, {k} seeds\n")
        drawn = _compare(X, k, random_state, all_algorithms)
        draw(X, drawn.labels, drawn.centers, "seeds", output)
        _out.print(f"picture: {_printable(output)}")


def _compare(X: Any, k: int, random_state: int, all_algorithms: bool) -> Seeding:
    """Print the cost of the algorithms; return seeds of the default one."""
    names = (
        "method", "algorithm", "distances", "% of naive", "seconds", "potential", "seconds for it"
    )  # fmt: skip
    # In a narrow terminal names of several words are wrapped; no number is cut.
    table = Table(*(Column(name, no_wrap=" " not in name) for name in names))
    # The paper's algorithms are always compiled; the others need not be for jobs of this size.
    algorithms = ("naive", "paper", "auto") if all_algorithms else ("naive", "auto")
    drawn: Seeding | None = None
    for name in _COMPARED:
        function = METHODS[name]
        found = {}
        for algorithm in algorithms:
            # The first call loads the compiled kernels, if there are any; the second is shown.
            for _ in range(2 if all_algorithms else 1):
                seeding = function(X, k, random_state=random_state, algorithm=algorithm)
                potential, seconds = _potential(seeding)
            found[algorithm] = seeding
            share = seeding.work.distances / max(found["naive"].work.distances, 1)
            table.add_row(
                name,
                seeding.algorithm,
                f"{seeding.work.distances:,}",
                f"{share:.1%}",
                f"{seeding.seconds:.4f}",
                f"{potential:.5g}",
                f"{seconds:.4f}",
            )
        if all_algorithms:
            same = bool((found["naive"].indices == found["paper"].indices).all())
            _out.print(f"{name}: naive and paper drew {'the same' if same else 'DIFFERENT'} seeds")
        drawn = drawn or found["auto"]
    _out.print(table)
    assert drawn is not None
    return drawn


@app.command()
def seed(
    file: Annotated[
        Path,
        typer.Argument(
            help="Rows to seed: .npy, .csv (UTF-8, commas), .parquet, or .npz as "
            "scipy.sparse.save_npz writes it."
        ),
    ],
    k: Annotated[int, typer.Option("-k", "--clusters", help="Number of seeds.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The output file: .npy, .csv or .parquet, or .npz for sparse rows. The first "
            "column of a .csv or .parquet file is row, the row number of each seed; it is called "
            "row_number if the data has a column row.",
        ),
    ] = None,
    indices: Annotated[
        Path | None,
        typer.Option(
            help="A second output file, for the row numbers of the seeds only, counted from 0: "
            ".npy, .csv or .parquet."
        ),
    ] = None,
    method: Annotated[str, typer.Option(help="plusplus, greedy or parallel.")] = "plusplus",
    trials: Annotated[
        int | None,
        typer.Option(help="Of --method greedy: candidates per step; by default 2 + ln k."),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Of --method parallel: rounds of candidates; 5 by default.")
    ] = None,
    oversampling: Annotated[
        float | None,
        typer.Option(
            help="Of --method parallel: expected candidates per round, as a multiple of k; 2 by "
            "default."
        ),
    ] = None,
    reduction: Annotated[
        str | None,
        typer.Option(help="Of --method parallel: k-means++ (the default) or greedy."),
    ] = None,
    algorithm: Annotated[
        str, typer.Option(help="By default the fastest; see the README.")
    ] = "auto",
    metric: Annotated[str, typer.Option(help="The distance; see the README.")] = "euclidean",
    weights: Annotated[
        str | None,
        typer.Option(help="Name of the column of weights; it is not written to the output."),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a .csv file is a header. By default it is one if it "
            "has names or is 0,1,2,... (as pandas writes), and a row if it has values only; "
            "stderr says which, unless all are names.",
            show_default=False,
        ),
    ] = None,
    potential: Annotated[
        bool,
        typer.Option(
            "--potential",
            help="Also show the potential (inertia); takes extra time, to compare all rows with "
            "the seeds.",
        ),
    ] = False,
    random_state: Annotated[
        int | None, typer.Option(help="Random seed; by default a new one each time.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
) -> None:
    """Draw seeds for the rows of a file and write them, with their row numbers.

    Files are written completely or not at all, and never over the input. Exit codes: 0 success,
    1 error, 2 wrong usage, 130 interrupted.
    """
    if method not in METHODS:
        raise typer.BadParameter(f"{method!r} is unknown; use plusplus, greedy or parallel.")
    parameters: dict[str, Any] = {}
    for option, owner, name, given in (
        ("--trials", "greedy", "n_local_trials", trials),
        ("--rounds", "parallel", "rounds", rounds),
        ("--oversampling", "parallel", "oversampling", oversampling),
        ("--reduction", "parallel", "reduction", reduction),
    ):
        if given is not None and method != owner:
            raise typer.BadParameter(f"{option} needs --method {owner}; the method is {method}.")
        if given is not None:
            parameters[name] = given
    with reporting_errors():
        if output is not None:
            check_target(output, file, kinds=kinds_for(file))
        if indices is not None:
            check_target(indices, file, *([] if output is None else [output]))
        table = read_rows(file, weights, header)
        if output is not None:
            check_names(output, file, table.columns)
        for note in table.notes:
            say(note)
        seeding = METHODS[method](
            table.values,
            k,
            sample_weight=table.weights,
            metric=metric,
            algorithm=algorithm,
            random_state=random_state,
            n_threads=threads,
            progress=True,
            **parameters,
        )
        write_seeds(seeding, table.columns, output, indices)
        summary = Table(show_header=False)
        n, d = table.values.shape
        summary.add_row("rows", f"{n:,} of {d} columns")
        name = METHODS[method].__name__
        summary.add_row("seeds", f"{k:,} by {name}, algorithm {seeding.algorithm}")
        summary.add_row("distances", f"{seeding.work.distances:,}")
        summary.add_row("seconds", f"{seeding.seconds:.3f}")
        if potential:
            value, seconds = _potential(seeding)
            summary.add_row("potential", f"{value:.6g}, in another {seconds:.3f} seconds")
        example = "seeds.npz" if kinds_for(file) == (".npz",) else "seeds.csv"
        saved = f"not saved; add -o {example}" if output is None else _printable(output)
        summary.add_row("written to", saved)
        summary.add_row("row numbers", _where_row_numbers(table.columns, output, indices))
        _out.print(summary)


app.command()(kmeans)


@app.command()
def warmup(
    kernel_sets: Annotated[
        list[str] | None, typer.Argument(help="Which kernels; all by default.")
    ] = None,
    dtype: Annotated[
        list[str] | None,
        typer.Option(help="float32 or float64 (repeatable); both by default."),
    ] = None,
) -> None:
    """Compile kernels ahead, so that no later call waits for them: in an image, or on a worker."""
    with reporting_errors():
        warmed = kseeds.warmup(
            *(kernel_sets or ()), dtype=tuple(dtype or ("float32", "float64")), progress=True
        )
        table = Table("kernels", "dtype", "seconds")
        for one in warmed:
            table.add_row(one.kernel_set, one.dtype, f"{one.seconds:.2f}")
        _out.print(table)
        folder = warmed[0].folder
        kept = "nowhere: every process compiles anew" if folder is None else folder
        _out.print(f"kept in {kept}", soft_wrap=True)


def _where_row_numbers(columns: list[str], output: Path | None, indices: Path | None) -> str:
    """Return where the row numbers were written."""
    places = []
    if output is not None and output.suffix.lower() in (".csv", ".parquet"):
        places.append(f"column {row_column(columns)}")
    if indices is not None:
        places.append(_printable(indices))
    return " and ".join(places) or "not saved; add --indices rows.npy"


def _potential(seeding: Seeding) -> tuple[float, float]:
    """Return the potential and the seconds it took, which ``seeding.seconds`` does not include."""
    started = time.perf_counter()
    try:
        value = seeding.potential
    except RuntimeError as error:  # the file was changed in the meantime
        raise ValueError(str(error)) from error
    return value, time.perf_counter() - started


def _blobs(rows: int, random_state: int) -> Any:
    """Return Gaussian clusters of different sizes and spreads in the plane."""
    rng = np.random.default_rng(random_state)
    centers = rng.uniform(-10, 10, size=(25, 2))
    spread = rng.uniform(0.1, 0.8, size=25)
    label = rng.choice(25, size=rows, p=rng.dirichlet(np.full(25, 2.0)))
    return centers[label] + rng.normal(size=(rows, 2)) * spread[label, None]
