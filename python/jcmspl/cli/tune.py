"""Choose weights, space and normalisation by cross-validation over the training classes of a data set.

The test parts are not used.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from jcmspl.cli._dask import add_dask, on_workers, workers_of
from jcmspl.cli._models import add_method, made, values_of
from jcmspl.cli._options import (
    add_calibration,
    add_data,
    add_output,
    calibrate,
    dataset_of,
    refuse_existing,
    remember_data,
    samples_used,
    save,
    say,
    say_what_is_used,
    show,
)
from jcmspl.model import registry
from jcmspl.support.shown import csv_text, percent_with_error

EXAMPLES = """\
  # print the best settings
  jcmspl tune cub/

  # also write the model, and the scores of all settings
  jcmspl tune cub/ -o cub.safetensors --results grid.csv

  # several values are tried, a single value is fixed
  jcmspl tune cub/ --model ESZSL --set visual_penalty=1,10,100 --set metric=cosine
  jcmspl tune cub/ --feature-normalisation sample_l2+center zscore --folds 5
"""
LOADS = ("jcmspl.datasets", "jcmspl.model_selection.jcmspl_cv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(parser)
    set_help = "values of a parameter to try, separated by commas; a single value is fixed (may be repeated)"
    add_method(parser, set_help, ("space", "feature_normalisation", "class_normalisation"), nargs="+")
    parser.add_argument(
        "--folds", metavar="N", type=int, help="number of folds of classes (default: 5, fewer with few classes)"
    )
    parser.add_argument(
        "--repeats",
        metavar="N",
        type=int,
        help="number of random divisions into folds (default: 1; without --folds 3 for fewer than 50 classes, 5 for "
        "fewer than 20)",
    )
    parser.add_argument(
        "--choose",
        choices=("auto", "best", "prudent"),
        default="auto",
        help="best: the setting with the highest score; prudent: of the settings within a standard error of it, the "
        "one nearest to the start of the search (the defaults, or JCMSPL's closed form if no weight is set); auto "
        "(default): prudent for the closed form and for fewer than 20 classes",
    )
    parser.add_argument("--halving", action="store_true", help="drop weak settings early; the choice may differ")
    add_calibration(parser)
    parser.add_argument("--results", metavar="FILE", help="write all settings and their scores as CSV")
    add_dask(parser)
    add_output(parser, "the model with the best settings, a safetensors file")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.model.persistence import require_name_of_model

    refuse_existing(arguments.output, arguments.force, require_name_of_model)
    refuse_existing(arguments.results, arguments.force)
    if arguments.results is not None and arguments.results == arguments.output:
        raise ValueError(f"--output and --results are both {arguments.output}: give them different names")
    search = _search(arguments)
    dataset = dataset_of(arguments)
    with workers_of(arguments) as n_workers:
        X, y = on_workers(dataset, n_workers).part("trainval")
        search.fit(X, y, class_vectors=dataset.classes)
        calibrate(arguments, search, X, y)
    say_what_is_used(arguments, dataset)
    remember_data(arguments, search.best_estimator_, dataset)
    if arguments.results is not None:
        from jcmspl.io.files import write_atomically

        columns = {name: values for name, values in search.cv_results_.items() if name != "params"}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)] or [{}]
        write_atomically(Path(arguments.results), csv_text(rows).encode(), overwrite=arguments.force)
        say(arguments, f"wrote {arguments.results}")
    save(arguments, search)
    data = {
        "model": arguments.method,
        "samples": samples_used(dataset),
        "n_imputed": 0 if dataset.imputation is None else dataset.imputation.n_values,
        "best_params": search.best_params_,
        "best_score": search.best_score_,
        "best_score_stderr": search.best_score_stderr_,
        "highest_score": max(search.cv_results_.get("mean_test_score", [float("nan")])),
        "n_settings": len(search.cv_results_["params"]),
        "n_splits": search.n_splits_,
        "interrupted": search.interrupted_,
    }
    show(arguments, data, _text(data))


def _search(arguments: argparse.Namespace) -> Any:
    """Return the search that the options describe."""
    from jcmspl.data.class_folds import ClassKFold
    from jcmspl.model_selection.class_search import ClassSearchCV
    from jcmspl.model_selection.jcmspl_cv import JCMSPLCV

    method = registry.get(arguments.method)
    given = values_of(arguments, method)
    fixed = {name: values[0] for name, values in given.items() if len(values) == 1}
    tried = {name: values for name, values in {**method.GRID, **given}.items() if name not in fixed}
    cv: Any = arguments.folds
    if arguments.repeats is not None:
        cv = ClassKFold(arguments.folds or 5, n_repeats=arguments.repeats, random_state=arguments.seed)
    options: dict[str, Any] = {
        "cv": cv,
        "halving": arguments.halving,
        "choose": arguments.choose,
        "random_state": arguments.seed,
        "progress": not arguments.quiet,
    }
    if method.__name__ == "JCMSPL":
        if given.keys() <= JCMSPLCV().get_params().keys():
            made(arguments, method, fixed)  # checks the values
            tried_or_kept: dict[str, Any] = {
                name: values if len(values) > 1 else values[0] for name, values in given.items()
            }
            return JCMSPLCV(**tried_or_kept, **options)
        fixed = {"max_iter": JCMSPLCV.max_iter, **fixed}
    return ClassSearchCV(made(arguments, method, fixed), tried, **options)


def _text(data: dict[str, Any]) -> str:
    head = "there are too few classes to tune; these settings were fitted:"
    if data["n_splits"]:
        head = (
            f"{data['n_settings']} settings on {data['n_splits']} folds of classes; the chosen setting has "
            f"{percent_with_error(data['best_score'], data['best_score_stderr'])} on held-out classes, per class "
            f"(the highest: {100 * data['highest_score']:.1f} %):"
        )
    return "\n".join([head, *(f"  {name:24} {value}" for name, value in data["best_params"].items())])
