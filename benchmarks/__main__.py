"""Run the benchmarks: python -m benchmarks {paper,peers,scaling,quality,report} --help."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

SUITES = {
    "paper": ("benchmarks.paper", "the figures and tables of the paper"),
    "peers": ("benchmarks.against", "scikit-learn, oneDAL and faiss beside kseeds"),
    "scaling": ("benchmarks.scaling", "growth with n, K, d and threads"),
    "quality": ("benchmarks.quality", "costs, beside published ones"),
}


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (_, text) in SUITES.items():
        suite = commands.add_parser(name, help=text, description=text)
        suite.add_argument("--data", type=Path, help="folder of .npz (key X) or .npy files")
        suite.add_argument("--out", type=Path, required=True, help="folder of results.jsonl")
        suite.add_argument("--profile", choices=["quick", "full"], default="quick")
        suite.add_argument("--sets", nargs="*", help="only these data sets")
        suite.add_argument("--rows", type=int, help="only the first rows of each")
    report = commands.add_parser("report", help="one HTML page of everything in OUT")
    report.add_argument("out", type=Path, help="folder of results.jsonl")
    report.add_argument("--assets", type=Path, help="also write charts as SVG and PNG there")
    words = parser.parse_args()
    if words.command == "report":
        from benchmarks.report import write_report

        print(write_report(words.out, words.assets))
        return
    suite_module = import_module(SUITES[words.command][0])
    suite_module.run(words.data, words.out, words.profile, words.sets, words.rows)


if __name__ == "__main__":
    main()
