"""``jcmspl reproduce``: the experiments of the paper."""

from __future__ import annotations

import argparse
from pathlib import Path

from jcmspl.cli._options import add_data, add_messages, dataset_of, refuse_full

DESCRIPTION = """\
Standard and generalized recognition at the paper's and at tuned weights, ablations, sensitivity and convergence: an
HTML report, CSV files and plots."""
EXAMPLES = """\
  jcmspl reproduce digits -o digits-experiments
  jcmspl reproduce cub/ -o cub-experiments                 then open cub-experiments/report.html
"""
LOADS = ("jcmspl.evaluation.experiments",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(parser)
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help="where to write the results")
    parser.add_argument("--force", action="store_true", help="write into a folder that is not empty")
    add_messages(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.evaluation.experiments import reproduce
    from jcmspl.report.figures import require_matplotlib

    folder = Path(arguments.output)
    refuse_full(folder, arguments.force)
    require_matplotlib()
    results = reproduce(dataset_of(arguments), random_state=arguments.seed, progress=not arguments.quiet)
    files = results.save(folder, plots=True, overwrite=arguments.force)
    if arguments.json:
        print(results.to_json(), end="")
    else:
        print(f"wrote {len(files)} files to {folder}; start with {folder / 'report.html'}")
