"""``jcmspl fit``: learn from a data set and write the model."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from jcmspl.cli._models import SHORTCUTS, add_method, add_set, add_shortcuts, made, parameters_of
from jcmspl.cli._options import add_data, add_messages, add_output, dataset_of, refuse_existing, say, show
from jcmspl.models import registry

DESCRIPTION = "Learn from the training part of a data set and write the model to a file."
EXAMPLES = """\
  jcmspl fit cub/ -o cub.safetensors                       an xlsa17 folder
  jcmspl fit cub/ -o cub.safetensors --calibrate           for generalized recognition as well
  jcmspl fit cub/ -o cub.safetensors --model SAE --set weight=0.2 --set space=visual
                                                           another method (see `jcmspl methods`)
  jcmspl fit features.npy --labels labels.txt --classes attributes.csv --unseen 0.2 -o model.safetensors
"""
LOADS = ("jcmspl.datasets", "jcmspl.models.classifier")
_SHORTCUTS = tuple(name for name, *_ in SHORTCUTS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(parser)
    group = add_method(parser, "the method, one of those of `jcmspl methods` (default: JCMSPL)", default="JCMSPL")
    add_set(group, "set any parameter of the method (may be repeated)")
    add_shortcuts(group, _SHORTCUTS)
    parser.add_argument("--part", choices=("trainval", "train"), default="trainval", help="what to train on")
    parser.add_argument(
        "--calibrate", action="store_true", help="choose the bias on seen classes by cross-validation over them"
    )
    parser.add_argument("--statistics", action="store_true", help="keep what partial_fit needs to go on")
    add_output(parser, "the model, a safetensors file", required=True)
    add_messages(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    refuse_existing(arguments.output, arguments.force)
    method = registry.get(arguments.method)
    model = made(arguments, method, parameters_of(arguments, method, _SHORTCUTS))
    dataset = dataset_of(arguments)
    fit_to(model, dataset, arguments.part, arguments)
    if arguments.calibrate:
        X, y = dataset.part(arguments.part)
        model.calibrate(X, y, random_state=arguments.seed)
    model.save(arguments.output, statistics=arguments.statistics, overwrite=arguments.force)
    n_samples = len(dataset.rows(arguments.part))
    show(arguments, _data(model, n_samples, arguments), _text(model, n_samples, arguments))


def fit_to(model: Any, dataset: Any, part: str, arguments: argparse.Namespace) -> None:
    """Fit a model to a part of a data set, a chunk at a time if it can; an early stop is told in a line."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        data = dataset.part(part) if model.NEEDS == "samples" else (dataset.chunks(part),)
        model.fit(*data, class_vectors=dataset.classes)
    for warning in caught:
        say(arguments, f"note: {warning.message}")


def _data(model: Any, n_samples: int, arguments: argparse.Namespace) -> dict[str, Any]:
    data = {
        "output": str(arguments.output),
        "model": type(model).__name__,
        "n_samples": n_samples,
        "n_seen_classes": len(model.classes_),
        "n_unseen_classes": len(model.unseen_classes_),
    }
    if hasattr(model, "n_iter_"):  # not all methods iterate
        data |= {"n_iter": int(model.n_iter_), "converged": bool(getattr(model, "converged_", True))}
    if hasattr(model, "objective_"):
        data["objective"] = float(model.objective_[-1])
    return data | {"seen_bias": float(model.seen_bias_), "timings": getattr(model, "timings_", {})}


def _text(model: Any, n_samples: int, arguments: argparse.Namespace) -> str:
    seconds = sum(getattr(model, "timings_", {}).values())
    how = f"{model.n_iter_} iterations, {seconds:.2f} s" if hasattr(model, "n_iter_") else f"{seconds:.2f} s"
    return (
        f"trained {type(model).__name__} on {n_samples:,} samples of {len(model.classes_)} classes: {how}; "
        f"wrote {arguments.output}"
    )
