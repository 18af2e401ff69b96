"""Train a model on the training part of a data set and write it to a file.

Own data without a split is used completely, unless --unseen or --hold-out set a part aside.
"""

from __future__ import annotations

import argparse

from jcmspl.cli._dask import add_dask, on_workers, workers_of
from jcmspl.cli._models import SHORTCUTS, add_method, made, parameters_of
from jcmspl.cli._options import (
    add_calibration,
    add_data,
    add_output,
    calibrate,
    dataset_of,
    refuse_existing,
    remember_data,
    samples_used,
    say,
    say_what_is_used,
    show,
)
from jcmspl.model import registry

EXAMPLES = """\
  # an xlsa17 folder
  jcmspl fit cub/ -o cub.safetensors

  # calibrated for seen and unseen classes together
  jcmspl fit cub/ -o cub.safetensors --calibrate

  # another method (see `jcmspl methods`)
  jcmspl fit cub/ -o cub.safetensors --model SAE --set weight=0.2 --set space=visual

  # own data, all samples for training
  jcmspl fit features.csv --labels animal --classes attributes.csv \\
      -o model.safetensors

  # a table with labels and vectors; without --classes a plain classifier
  jcmspl fit embeddings.parquet --classes classes.json -o model.safetensors

  # own data, a fifth of the classes held out for `jcmspl evaluate`
  jcmspl fit features.npy --labels labels.txt --classes attributes.csv \\
      --unseen 0.2 -o model.safetensors

  # a table with ids, text columns and missing values
  jcmspl fit features.csv --id path --ignore-text --impute mean \\
      --classes attributes.csv -o model.safetensors

  # one process per core
  jcmspl fit cub/ -o cub.safetensors --dask
"""
LOADS = ("jcmspl.datasets", "jcmspl.model.classifier")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(parser)
    add_method(parser, "set any parameter of the method (may be repeated)", SHORTCUTS)
    parser.add_argument("--part", choices=("trainval", "train"), default="trainval", help="part of DATA to train on")
    add_calibration(parser)
    parser.add_argument("--statistics", action="store_true", help="store the statistics that partial_fit needs")
    add_dask(parser)
    add_output(parser, "the model, a safetensors file", required=True)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.datasets.loading import is_without_classes
    from jcmspl.model.persistence import require_name_of_model

    refuse_existing(arguments.output, arguments.force, require_name_of_model)
    method, part = registry.get(arguments.method), arguments.part
    model = made(arguments, method, parameters_of(arguments, method))
    dataset = as_read = dataset_of(arguments, supervised=True)
    supervised = arguments.classes is None and is_without_classes(arguments.data)
    at_once = model.needs == "samples" or isinstance(model.class_weight, str)  # "balanced" counts all labels first
    with workers_of(arguments) as n_workers:
        dataset = on_workers(dataset, n_workers)
        samples = dataset.part(part) if at_once or n_workers else (dataset.chunks(part),)
        model.fit(*samples, class_vectors=None if supervised else dataset.classes)
        if arguments.calibrate or arguments.calibrate_rejection is not None or arguments.calibrate_sets:
            calibrate(arguments, model, *dataset.part(part))
    remember_data(arguments, model, as_read)
    say_what_is_used(arguments, dataset, part)
    if supervised:
        say(arguments, "note: without class vectors (--classes) the model knows only the classes that have samples")
    model.save(arguments.output, statistics=arguments.statistics, overwrite=arguments.force)
    data = {
        "output": arguments.output,
        "model": arguments.method,
        "n_samples": len(dataset.rows(part)),
        "samples": samples_used(dataset, part),
        "n_imputed": 0 if as_read.imputation is None else as_read.imputation.n_values,
        "n_seen_classes": len(model.classes_),
        "n_unseen_classes": len(model.unseen_classes_),
        "seen_bias": model.seen_penalty_,
        "timings": model.timings_,
    }
    how = f"{sum(model.timings_.values()):.2f} s; wrote {arguments.output}"
    if hasattr(model, "n_iter_"):  # not all methods iterate
        data |= {"n_iter": model.n_iter_, "converged": getattr(model, "converged_", True)}
        how = f"{model.n_iter_} iterations, {how}"
    if hasattr(model, "objective_"):
        data["objective"] = model.objective_[-1]
    text = f"trained {arguments.method} on {data['n_samples']:,} samples of {data['n_seen_classes']} classes: {how}"
    show(arguments, data, text)
