"""Run the paper's experiments on a data set and write an HTML report, CSV files and plots.

The experiments are standard and generalized recognition with the paper's settings, with the defaults and tuned;
ablations, sensitivity and convergence. Figures of other papers are added if the folder JCMSPL_DATA has
published/published.csv.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from jcmspl.cli._options import add_data, add_output, dataset_of, refuse_filled, say, say_what_is_used

EXAMPLES = """\
  jcmspl reproduce digits -o digits-experiments

  # then open cub-experiments/report.html
  jcmspl reproduce cub/ -o cub-experiments
"""
LOADS = ("jcmspl.evaluation.experiments",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(parser)
    add_output(parser, "folder for the results", metavar="FOLDER", required=True)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.evaluation.experiments import reproduce
    from jcmspl.report.figures import require_matplotlib

    folder = Path(arguments.output)
    refuse_filled(folder, arguments.force)
    require_matplotlib()
    dataset = dataset_of(arguments, tested=True)
    say_what_is_used(arguments, dataset)
    results = reproduce(dataset, random_state=arguments.seed, progress=not arguments.quiet)
    files = results.save(folder, plots=True, overwrite=arguments.force)
    if results.literature.none:
        say(arguments, f"note: {results.literature.none}")
    if arguments.json:
        print(results.to_json(), end="")
    else:
        print(f"wrote {len(files)} files to {folder}; start with {folder / 'report.html'}")
