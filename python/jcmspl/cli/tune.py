"""``jcmspl tune``: choose the parameters by cross-validation over classes."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import Any

from jcmspl.cli._options import add_data, add_messages, add_output, dataset_of, refuse_existing, say, show
from jcmspl.core.search import SPACES
from jcmspl.data.normalisation import NORMALISATIONS
from jcmspl.evaluation.compare import plain
from jcmspl.io.atomic import write_atomically
from jcmspl.model_selection.jcmspl_cv import JCMSPLCV

_EXAMPLES = """examples:
  jcmspl tune cub/                                         prints the best settings
  jcmspl tune cub/ -o cub.safetensors --results grid.csv   writes the model and all that was tried
  jcmspl tune cub/ --feature-normalisation sample_l2+center zscore --folds 5 --repeats 2
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "tune",
        help="choose the parameters by cross-validation over training classes",
        description="Choose weights, space and normalisation by cross-validation over the training classes of a data "
        "set; nothing of the test parts is looked at.",
        epilog=_EXAMPLES,
    )
    add_data(parser)
    parser.add_argument(
        "--folds", metavar="N", type=int, help="folds of classes (default: 5, or less with few classes)"
    )
    parser.add_argument(
        "--repeats", metavar="N", type=int, help="how often to split anew (default: 1; 5 with few classes)"
    )
    parser.add_argument(
        "--choose",
        choices=("auto", "best", "prudent"),
        default="auto",
        help="the best setting, or of all within a standard error of it that nearest to the defaults; auto (default): "
        "prudent with less than 20 classes",
    )
    parser.add_argument("--space", choices=SPACES, nargs="+", default=list(SPACES), help="spaces to try (default: all)")
    for kind in ("feature", "class"):
        parser.add_argument(
            f"--{kind}-normalisation",
            metavar="NAME",
            choices=NORMALISATIONS,
            nargs="+",
            default=["sample_l2+center"],
            help="normalisations to try (default: sample_l2+center)",
        )
    parser.add_argument("--halving", action="store_true", help="drop hopeless settings early; may choose another one")
    parser.add_argument("--calibrate", action="store_true", help="choose the bias on seen classes as well")
    parser.add_argument("--results", metavar="FILE", help="write all settings and their scores as CSV")
    add_output(parser, "the model with the best settings, a safetensors file")
    add_messages(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl import ClassKFold

    refuse_existing(arguments.output, arguments.force)
    refuse_existing(arguments.results, arguments.force)
    if arguments.results is not None and arguments.results == arguments.output:
        raise ValueError(f"--output and --results are both {arguments.output}: give them different names")
    dataset = dataset_of(arguments)
    X, y = dataset.part("trainval")
    cv: Any = arguments.folds
    if arguments.repeats is not None:
        cv = ClassKFold(arguments.folds or 5, n_repeats=arguments.repeats, random_state=arguments.seed)
    model = JCMSPLCV(
        space=arguments.space,
        feature_normalisation=arguments.feature_normalisation,
        class_normalisation=arguments.class_normalisation,
        cv=cv,
        halving=arguments.halving,
        choose=arguments.choose,
        random_state=arguments.seed,
        progress=not arguments.quiet,
    ).fit(X, y, class_vectors=dataset.classes)
    if arguments.calibrate:
        model.calibrate(X, y, random_state=arguments.seed)
    if arguments.results is not None:
        write_atomically(Path(arguments.results), _results(model.cv_results_), overwrite=arguments.force)
        say(arguments, f"wrote {arguments.results}")
    if arguments.output is not None:
        model.save(arguments.output, overwrite=arguments.force)
        say(arguments, f"wrote {arguments.output}")
    data: dict[str, Any] = {
        "best_params": {name: plain(value) for name, value in model.best_params_.items()},
        "best_score": model.best_score_,
        "best_score_std": model.best_score_std_,
        "highest_score": float(max(model.cv_results_.get("mean_test_score", [float("nan")]))),
        "n_settings": len(model.cv_results_["params"]),
        "n_splits": model.n_splits_,
        "interrupted": model.interrupted_,
    }
    lines = [
        f"{data['n_settings']} settings on {data['n_splits']} folds of classes; the one that was chosen has "
        f"{100 * model.best_score_:.1f} % ± {100 * model.best_score_std_:.1f} on held-out classes, per class (the "
        f"highest: {100 * data['highest_score']:.1f} %):"
        if model.n_splits_
        else "nothing could be tuned with so few classes; these settings were fitted:",
        *(f"  {name:24} {value}" for name, value in data["best_params"].items()),
    ]
    show(arguments, data, "\n".join(lines))


def _results(results: dict[str, Any]) -> bytes:
    columns = [name for name in results if name != "params"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(results[name] for name in columns), strict=True))
    return text.getvalue().encode()
