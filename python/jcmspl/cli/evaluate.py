"""Test a model on the test parts of a data set, in all spaces that the model can compare in.

Standard and generalized recognition, per class and per sample.
"""

from __future__ import annotations

import argparse

from jcmspl.cli._dask import add_dask, on_workers, workers_of
from jcmspl.cli._models import add_fitted, loaded
from jcmspl.cli._options import (
    add_data,
    add_output,
    dataset_for,
    refuse_report,
    say,
    say_what_is_replaced,
    say_what_is_used,
)
from jcmspl.support.names import SPACES

EXAMPLES = """\
  jcmspl evaluate cub.safetensors cub/                     the tables, as text
  jcmspl evaluate cub.safetensors cub/ -o report.html      a page with plots (or .md, .json, .txt)
  jcmspl evaluate cub.safetensors cub/ --set metric=euclidean --space visual
  jcmspl evaluate cub.safetensors cub/ --adapt             also adapted to the test samples, without their labels
  jcmspl evaluate cub.safetensors cub/ --open-set          also whether strangers are told from known classes
  jcmspl evaluate cub.safetensors cub/ --json | jq .results
"""
LOADS = ("jcmspl.evaluation.evaluate",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_fitted(parser)
    add_data(parser, impute=False)  # the model says how
    parser.add_argument("--space", choices=SPACES, action="append", help="only this space (may be repeated)")
    parser.add_argument("--hits", metavar="K", type=int, nargs="+", default=[1, 2, 5], help="the k of hit@k")
    parser.add_argument(
        "--adapt", action="store_true", help="also adapted to the test samples without their labels (transductive)"
    )
    parser.add_argument(
        "--open-set", action="store_true", help="also how well samples are told from those of no candidate"
    )
    add_dask(parser)
    add_output(parser, "also write a report: .html, .md, .json or .txt")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.evaluation.evaluate import evaluate

    refuse_report(arguments.output, arguments.force)
    model = loaded(arguments)
    dataset = dataset_for(arguments, model)
    if not dataset.unseen:
        raise ValueError(
            f"{arguments.data} has no samples of unseen classes to test with: with own data, say which are held out as "
            "the fit did, with --split FILE or with --unseen SHARE and the same --seed"
        )
    with workers_of(arguments) as n_workers:
        report = evaluate(
            model,
            on_workers(dataset, n_workers),
            spaces=arguments.space,
            hits=arguments.hits,
            adapt=arguments.adapt,
            open_set=arguments.open_set,
            progress=not arguments.quiet,
        )
    say_what_is_used(arguments, dataset)
    say_what_is_replaced(arguments, dataset.X)
    if arguments.output is not None:
        report.save(arguments.output, overwrite=arguments.force)
        say(arguments, f"wrote {arguments.output}")
    print(report.to_json() if arguments.json else report.to_text(), end="")
