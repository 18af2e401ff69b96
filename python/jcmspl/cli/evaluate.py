"""Test a model on the test parts of a data set, in all spaces that the model can compare in.

Standard and generalized recognition, per class and per sample.
"""

from __future__ import annotations

import argparse
from typing import Any

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
  jcmspl evaluate mine.safetensors features.npy --labels labels.txt --classes attributes.csv
                                                           own data: with what the fit has not seen of it
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
    parser.add_argument(
        "--allow-trained",
        action="store_true",
        help="test on samples that MODEL was trained on even if they are most of the test samples",
    )
    add_dask(parser)
    add_output(parser, "also write a report: .html, .md, .json or .txt")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.evaluation.evaluate import evaluate
    from jcmspl.evaluation.trained_on import with_test_parts

    refuse_report(arguments.output, arguments.force)
    model = loaded(arguments)
    given = dataset_for(arguments, model)
    dataset = with_test_parts(model, given)
    if not dataset.unseen:
        raise ValueError(
            f"{arguments.data} has no samples of unseen classes to test with, for MODEL was trained on all of its "
            "classes: hold some out of the fit, with --unseen SHARE or --split FILE"
        )
    with workers_of(arguments) as n_workers:
        report = evaluate(
            model,
            on_workers(dataset, n_workers),
            spaces=arguments.space,
            hits=arguments.hits,
            adapt=arguments.adapt,
            open_set=arguments.open_set,
            allow_trained=arguments.allow_trained,
            progress=not arguments.quiet,
        )
    asked = (arguments.split, arguments.unseen, arguments.hold_out)
    if asked == (None, None, None) and _n_tested(given) < _n_tested(dataset):
        say(arguments, "note: nothing says what to test with, so it is what the model was not trained on")
    say_what_is_used(arguments, dataset)
    say_what_is_replaced(arguments, dataset.X)
    if arguments.output is not None:
        report.save(arguments.output, overwrite=arguments.force)
        say(arguments, f"wrote {arguments.output}")
    print(report.to_json() if arguments.json else report.to_text(), end="")


def _n_tested(dataset: Any) -> int:
    return len(dataset.rows("test_seen")) + len(dataset.rows("test_unseen"))
