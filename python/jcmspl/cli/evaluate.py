"""Test a model on the test parts of a data set, in all of the model's spaces.

The report has standard and generalized recognition, per class and per sample. With --base-to-new, train a method on a
few samples of half of the classes and test it on both halves.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from jcmspl.cli._dask import add_dask, on_workers, workers_of
from jcmspl.cli._models import add_fitted, loaded, made, parameters_of
from jcmspl.cli._options import (
    add_data,
    add_output,
    dataset_for,
    dataset_of,
    is_shown,
    refuse_existing,
    save,
    say,
    say_what_is_replaced,
    say_what_is_used,
)
from jcmspl.model import registry
from jcmspl.support.names import BASES, SPACES

EXAMPLES = """\
  jcmspl evaluate cub.safetensors cub/
  jcmspl evaluate cub.safetensors cub/ -o report.html
  jcmspl evaluate cub.safetensors cub/ --set metric=euclidean --space visual
  jcmspl evaluate cub.safetensors cub/ --json | jq .results

  # also adapted to the test samples, without their labels
  jcmspl evaluate cub.safetensors cub/ --adapt

  # also the rejection of samples of unknown classes
  jcmspl evaluate cub.safetensors cub/ --open-set

  # own data: on the samples that the model was not trained on
  jcmspl evaluate mine.safetensors features.npy --labels labels.txt \\
      --classes attributes.csv

  # a few samples of half of the classes, next to the plain cosine
  jcmspl evaluate JCMSPL clip_cars.npz --base-to-new --shots 1 2 4 8 16
  jcmspl evaluate JCMSPL clip_cars.npz --base-to-new --tune --base random --draws 3
"""
LOADS = ("jcmspl.evaluation.evaluate",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_fitted(parser, "; with --base-to-new also the name of a method (see `jcmspl methods`)")
    add_data(parser, impute=False)  # the model has the replacements of missing values
    parser.add_argument("--space", choices=SPACES, action="append", help="test this space only (may be repeated)")
    parser.add_argument("--hits", metavar="K", type=int, nargs="+", help="values of k in hit@k (default: 1 2 5)")
    parser.add_argument(
        "--adapt", action="store_true", help="also test the model adapted to the unlabelled test samples (transductive)"
    )
    parser.add_argument(
        "--open-set", action="store_true", help="also test how well samples of unknown classes are detected"
    )
    parser.add_argument(
        "--allow-trained",
        action="store_true",
        help="allow a test in which most test samples were training samples of MODEL",
    )
    group = parser.add_argument_group("base to new")
    group.add_argument(
        "--base-to-new",
        action="store_true",
        help="retrain MODEL on a few samples of half of the classes (base), and test base and new classes, each among "
        "its own half and among all classes",
    )
    group.add_argument(
        "--shots", metavar="N", nargs="+", type=_shots, help="numbers of samples per base class, or all (default: all)"
    )
    group.add_argument(
        "--base",
        choices=BASES,
        help="base classes: the first half, a random half, or DATA's own seen classes (default: own if DATA has unseen "
        "classes, else first)",
    )
    group.add_argument("--draws", metavar="N", type=int, help="number of draws of samples and halves (default: 1)")
    group.add_argument("--tune", action="store_true", help="choose the parameters on the samples of base classes")
    add_dask(parser)
    add_output(parser, "also write a report to FILE: .html, .md, .json or .txt")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.evaluation.evaluate import evaluate
    from jcmspl.evaluation.trained_on import with_test_parts
    from jcmspl.evaluation.zero_shot_report import Report

    refuse_existing(arguments.output, arguments.force, Report.check_name)
    _refuse_other_options(arguments)
    if arguments.base_to_new:
        _base_to_new(arguments)
        return
    model = loaded(arguments)
    given = dataset_for(arguments, model)
    dataset = with_test_parts(model, given)
    with workers_of(arguments) as n_workers:
        report = evaluate(
            model,
            on_workers(dataset, n_workers),
            spaces=arguments.space,
            hits=arguments.hits or (1, 2, 5),
            adapt=arguments.adapt,
            open_set=arguments.open_set,
            allow_trained=arguments.allow_trained,
            progress=not arguments.quiet,
        )
    asked = (arguments.split, arguments.unseen, arguments.hold_out)
    if asked == (None, None, None) and _n_tested(given) < _n_tested(dataset):
        say(arguments, "note: no option gives a split, so the test uses the samples that the model was not trained on")
    say_what_is_used(arguments, dataset)
    say_what_is_replaced(arguments, dataset.X)
    _show(arguments, report)


def _show(arguments: argparse.Namespace, report: Any) -> None:
    save(arguments, report)
    if is_shown(arguments):
        print(report.to_json() if arguments.json else report.to_text(), end="")


def _shots(text: str) -> int | str:
    if text == "all":
        return text
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected numbers above 0 or all, but got {text!r}")
    return int(text)


def _refuse_other_options(arguments: argparse.Namespace) -> None:
    """Refuse options of the other kind of evaluation."""
    of_model = ("space", "hits", "adapt", "open_set", "allow_trained", "dask")
    others = of_model if arguments.base_to_new else ("shots", "base", "draws", "tune")
    if given := [f"--{name.replace('_', '-')}" for name in others if getattr(arguments, name) not in (None, False)]:
        where = "not available with --base-to-new" if arguments.base_to_new else "only available with --base-to-new"
        raise ValueError(f"{', '.join(given)}: {where}")


def _base_to_new(arguments: argparse.Namespace) -> None:
    """Train a method on samples of half of the classes and test it."""
    from jcmspl.evaluation.evaluate import evaluate

    model = _to_be_fitted(arguments)
    report = evaluate(
        model,
        dataset_of(arguments),
        protocol="base-to-new",
        shots=arguments.shots,
        base=arguments.base,
        n_draws=1 if arguments.draws is None else arguments.draws,
        random_state=arguments.seed,
        progress=not arguments.quiet,
    )
    _show(arguments, report)


def _to_be_fitted(arguments: argparse.Namespace) -> Any:
    """Return the model to train: of the named method or of a model file, or a search with ``--tune``."""
    from jcmspl.model_selection.jcmspl_cv import search_for

    names = {name.lower(): name for name in registry.names()}
    name = names.get(arguments.model.lower())
    if name is None or Path(arguments.model).is_file():
        if not Path(arguments.model).exists():
            raise ValueError(
                f"{arguments.model} is neither a file nor a method: there are {', '.join(registry.names())}"
            )
        if arguments.tune:
            raise ValueError(f"--tune takes the name of a method, but {arguments.model} is a file of a fitted model")
        return loaded(arguments)
    method = registry.get(name)
    if arguments.method not in (None, name):
        raise ValueError(f"MODEL is {name}, but --model is {arguments.method}: leave --model out")
    given = parameters_of(arguments, method)
    model = made(arguments, method, given)  # checks the values
    return search_for(method, given, random_state=arguments.seed, progress=False) if arguments.tune else model


def _n_tested(dataset: Any) -> int:
    return len(dataset.rows("test_seen")) + len(dataset.rows("test_unseen"))
