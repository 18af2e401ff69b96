"""List the classes of a model, or add and remove classes and write the model again.

Classes are added by their vectors, by a few labelled samples, or by both. The model is not trained again.
"""

from __future__ import annotations

import argparse
from typing import Any

from jcmspl.cli._models import add_fitted, classes_for, loaded
from jcmspl.cli._options import add_headers, add_output, refuse_existing, show, table_options
from jcmspl.support.shown import quoted, shown, suggestion

EXAMPLES = """\
  # the classes, and how many samples the model was given of each
  jcmspl classes model.safetensors

  # new classes by their vectors, into a new file
  jcmspl classes model.safetensors --add new.csv -o more.safetensors

  # a few labelled samples of classes that had none, into the same file
  jcmspl classes model.safetensors --samples few.parquet --force

  jcmspl classes model.safetensors --remove tapir --remove okapi --force
"""
LOADS = ("jcmspl.datasets", "jcmspl.model.persistence")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_fitted(parser)
    parser.add_argument(
        "--add", metavar="FILE", help="names of classes, each with its vector (.csv, .json, .parquet, ...)"
    )
    parser.add_argument(
        "--remove", metavar="NAME", action="append", default=[], help="forget this class (may be repeated)"
    )
    parser.add_argument("--samples", metavar="FILE", help="labelled samples of classes without training samples")
    parser.add_argument("--labels", metavar="FILE", help="labels of the samples: a file, or a column of the samples")
    parser.add_argument("--label-names", metavar="FILE", help="names of labels that are numbers")
    add_headers(parser)
    add_output(parser, "the changed model (default: MODEL itself, with --force)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.model.persistence import require_name_of_model

    is_changed = bool(arguments.add or arguments.remove or arguments.samples)
    if not is_changed and arguments.output is not None:
        raise ValueError("there is nothing to change: give --add FILE, --remove NAME or --samples FILE")
    if arguments.samples is None and (arguments.labels or arguments.label_names):
        raise ValueError("--labels and --label-names are for --samples FILE")
    output = arguments.output or arguments.model
    model = loaded(arguments)
    if not is_changed:
        _list(arguments, model)
        return
    refuse_existing(output, arguments.force, require_name_of_model)
    removed = _known(arguments.remove, model)
    added = None if arguments.add is None else classes_for(model, arguments.add, arguments)
    if removed:
        model.remove_classes(removed)
    X, y = (None, None) if arguments.samples is None else _samples(arguments, model, added)
    if added is not None or X is not None:
        model.add_classes(added, X, y)
    model.save(output, statistics=model.state.collected is not None, overwrite=arguments.force)
    counts = {
        "removed": len(removed),
        "added": 0 if added is None else added.n_classes,
        "samples": 0 if X is None else len(X),
    }
    data = {"output": output, **counts, "classes": model.class_table_.n_classes}
    told = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
    show(arguments, data, f"{told}; wrote {output} with {data['classes']:,} classes")


def _known(names: list[str], model: Any) -> list[Any]:
    """Return the model's labels of these names."""
    own = {str(label): label for label in model.class_table_}
    for name in names:
        if name not in own:
            raise ValueError(f"the model has no class {quoted(name)}{suggestion(name, own)}")
    return [own[name] for name in names]


def _samples(arguments: argparse.Namespace, model: Any, added: Any) -> tuple[Any, Any]:
    """Read labelled samples of classes of the model or of those that are added."""
    from jcmspl.cli._options import compare_columns
    from jcmspl.datasets import load_arrays

    table = model.class_table_ if added is None else model.class_table_.updated(added)
    values = getattr(model, "imputed_values_", None)
    dataset = load_arrays(
        arguments.samples,
        arguments.labels,
        class_vectors=table,
        label_names=arguments.label_names,
        missing=values is not None,
        **table_options(arguments),
    )
    compare_columns(model, arguments.samples, dataset.columns)
    return (dataset if values is None else dataset.imputed(values)).part("train")


def _list(arguments: argparse.Namespace, model: Any) -> None:
    sums, trained = model.state.samples, set(model.classes_.tolist())
    counts = dict(zip(sums.labels, sums.counts.tolist(), strict=True))
    classes = [
        {"class": label, "samples": counts.get(label, 0), "trained": label in trained} for label in model.class_table_
    ]
    lines = [
        f"{shown(one['class'])}: {one['samples']:g} samples" + ("" if one["trained"] else ", not trained on")
        for one in classes
    ]
    show(arguments, {"classes": classes}, "\n".join(lines))
