"""``jcmspl demo``: the whole of it on data that comes with the package."""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from jcmspl._tables import aligned
from jcmspl.cli._options import add_messages, add_output, refuse_existing, say
from jcmspl.cross_validation import JCMSPLCV, ClassSearchCV
from jcmspl.datasets import load_digits
from jcmspl.evaluation import evaluate
from jcmspl.peers import RidgeVS
from jcmspl.report import percent

_SHADES = " .:-=+*#%@"
_EXAMPLES = """examples:
  jcmspl demo
  jcmspl demo -o digits.html                               with plots, to be opened in a browser
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "demo",
        help="see it work: handwritten digits that were never seen in training",
        description="Train on images of seven handwritten digits, with settings chosen on these alone, and recognise "
        "three others by descriptions of their strokes.",
        epilog=_EXAMPLES,
    )
    add_output(parser, "also write a report: .html, .md, .json or .txt")
    add_messages(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    refuse_existing(arguments.output, arguments.force)
    digits = load_digits()
    X, y = digits.part("trainval")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tuned = JCMSPLCV(progress=not arguments.quiet).fit(X, y, class_vectors=digits.classes).calibrate(X, y)
        ridge = ClassSearchCV(RidgeVS(), progress=not arguments.quiet).fit(X, y, class_vectors=digits.classes)
        ridge.calibrate(X, y)
    model = tuned.best_estimator_
    report = evaluate(model, digits, progress=not arguments.quiet)
    beside = evaluate(ridge.best_estimator_, digits, spaces=[ridge.best_estimator_.space], progress=False)
    if arguments.output is not None:
        report.save(arguments.output, overwrite=arguments.force)
    if arguments.json:
        print(json.dumps({"jcmspl": report.data, "ridge": beside.data}, ensure_ascii=False))
        return
    print(_text(digits, tuned, report, beside))
    print(_examples(model, digits))
    if arguments.output is not None:
        say(arguments, f"wrote {arguments.output}")
    else:
        print("A page with plots: jcmspl demo -o digits.html. Your own data: jcmspl fit --help.")


def _text(digits: Any, tuned: Any, report: Any, beside: Any) -> str:
    seen, unseen = (", ".join(str(label) for label in labels) for labels in (digits.seen, digits.unseen))
    rows = [
        ["JCMSPL", percent(report.accuracy), percent(report.harmonic_mean)],
        ["ridge regression", percent(beside.accuracy), percent(beside.harmonic_mean)],
        ["chance", percent(1 / len(digits.unseen)), ""],
    ]
    header = ["method", "three unseen digits", "all ten digits (harmonic mean)"]
    settings = ", ".join(f"{name} {value}" for name, value in tuned.best_params_.items() if value is not None)
    return "\n".join(
        [
            f"Trained on {len(digits.rows('trainval')):,} images of {seen}; never seen: {unseen}.",
            f"A digit is described by {digits.classes.n_attributes} strokes, loops and openings, "
            f"such as “{digits.classes.attribute_names[0]}”.",
            f"Settings, chosen on the seen digits alone: {settings}.",
            "",
            "Share recognised, mean over digits:",
            aligned(header, rows),
            "",
        ]
    )


def _examples(model: Any, digits: Any) -> str:
    """Show one image of each unseen digit, with what spoke for its name."""
    X, y = digits.part("test_unseen")
    out = ["Some of them, among the three, and what spoke for the name:"]
    for label in digits.unseen:
        row = int(np.flatnonzero(y == label)[0])
        explanation = model.explain(X[row : row + 1], candidates=list(digits.unseen))[0]
        why = [f"{'right' if explanation.label == label else 'wrong'}: it is a {label}", *str(explanation).splitlines()]
        pixels = X[row].reshape(8, 8)
        for line in range(8):
            art = "".join(_SHADES[min(9, int(value / 16 * 9.99))] * 2 for value in pixels[line])
            out.append(f"  {art}  {why[line - 2] if 2 <= line < 2 + len(why) else ''}".rstrip())
        out.append("")
    return "\n".join(out)
