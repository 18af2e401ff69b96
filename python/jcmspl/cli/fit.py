"""``jcmspl fit``: learn from a data set and write the model."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from jcmspl.cli._options import (
    add_data,
    add_messages,
    add_model,
    add_output,
    dataset_of,
    model_of,
    refuse_existing,
    say,
    show,
)

_EXAMPLES = """examples:
  jcmspl fit cub/ -o cub.safetensors                       an xlsa17 folder
  jcmspl fit cub/ -o cub.safetensors --calibrate           for generalized recognition as well
  jcmspl fit features.npy --labels labels.txt --classes attributes.csv --unseen 0.2 -o model.safetensors
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "fit",
        help="learn from a data set and write the model",
        description="Learn from the training part of a data set and write the model to a file.",
        epilog=_EXAMPLES,
    )
    add_data(parser)
    add_model(parser)
    parser.add_argument("--part", choices=("trainval", "train"), default="trainval", help="what to train on")
    parser.add_argument(
        "--calibrate", action="store_true", help="choose the bias on seen classes by cross-validation over them"
    )
    parser.add_argument("--statistics", action="store_true", help="keep what partial_fit needs to go on")
    add_output(parser, "the model, a safetensors file", required=True)
    add_messages(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    refuse_existing(arguments.output, arguments.force)
    model = model_of(arguments)
    dataset = dataset_of(arguments)
    fit_to(model, dataset, arguments.part, arguments)
    if arguments.calibrate:
        calibrate(model, dataset, arguments.part, arguments.seed)
    model.save(arguments.output, statistics=arguments.statistics, overwrite=arguments.force)
    data = {
        "output": str(arguments.output),
        "n_seen_classes": len(model.classes_),
        "n_unseen_classes": len(model.unseen_classes_),
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "objective": float(model.objective_[-1]),
        "seen_bias": model.seen_bias_,
        "timings": model.timings_,
    }
    text = (
        f"trained on {model.statistics_.n_samples:,} samples of {len(model.classes_)} classes: {model.n_iter_} "
        f"iterations, {sum(model.timings_.values()):.2f} s; wrote {arguments.output}"
    )
    show(arguments, data, text)


def fit_to(model: Any, dataset: Any, part: str, arguments: argparse.Namespace) -> None:
    """Fit a model to a part of a data set, a chunk at a time; an early stop is told in a line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(dataset.chunks(part), class_vectors=dataset.classes)
    for warning in caught:
        say(arguments, f"note: {warning.message}")


def calibrate(model: Any, dataset: Any, part: str, seed: int) -> None:
    """Choose the bias on seen classes; this takes the samples into memory."""
    X, y = dataset.part(part)
    model.calibrate(X, y, random_state=seed)
