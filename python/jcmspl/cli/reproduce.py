"""``jcmspl reproduce``: the experiments of the paper."""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any

from jcmspl.cli._options import add_data, add_messages, dataset_of, say
from jcmspl.evaluation.experiments import reproduce

_EXAMPLES = """examples:
  jcmspl reproduce digits -o digits-experiments
  jcmspl reproduce cub/ -o cub-experiments                 then open cub-experiments/report.html
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "reproduce",
        help="run the experiments of the paper on a data set",
        description="Standard and generalized recognition at the paper's and at tuned weights, ablations, sensitivity "
        "and convergence: an HTML report, CSV files and, with matplotlib, plots.",
        epilog=_EXAMPLES,
    )
    add_data(parser)
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help="where to write the results")
    parser.add_argument("--force", action="store_true", help="write into a folder that is not empty")
    add_messages(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from pathlib import Path

    folder = Path(arguments.output)
    if folder.is_dir() and any(folder.iterdir()) and not arguments.force:
        raise FileExistsError(f"{folder} is not empty: choose another name, or add --force to write into it")
    plots = importlib.util.find_spec("matplotlib") is not None
    if not plots:
        say(arguments, "note: no plots as files, for matplotlib is missing (pip install 'jcmspl[plots]')")
    results = reproduce(dataset_of(arguments), random_state=arguments.seed, progress=not arguments.quiet)
    files = results.save(folder, plots=plots, overwrite=arguments.force)
    if arguments.json:
        print(results.to_json(), end="")
    else:
        print(f"wrote {len(files)} files to {folder}; start with {folder / 'report.html'}")
