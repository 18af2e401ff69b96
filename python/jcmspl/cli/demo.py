"""Train on images of seven handwritten digits and recognise three others from descriptions of their strokes.

Repeat the test with a few labelled images of the three digits, and after adapting to the unlabelled images, for several
methods with the same settings.
"""

from __future__ import annotations

import argparse
from copy import copy
from typing import Any

from jcmspl.cli._options import add_output, refuse_existing, say, show

_SHADES = " .:-=+*#%@"
# Numbers of labelled images of each unseen digit, and the number of random draws.
_SHOTS, _DRAWS = (1, 5), 10
_METHODS = ("JCMSPL", "CCA", "ESZSL", "EXEM", "GDA", "RidgeVS", "RPL", "SAE")
_ZERO_SHOT, _ADAPTED = "zero-shot", "adapted"
_WITH = {shots: f"{shots} labelled image{'s' * (shots > 1)} of each" for shots in _SHOTS}
EXAMPLES = """\
  jcmspl demo

  # a page to draw digits in, with these results
  jcmspl demo -o digits.html
"""
LOADS = ("jcmspl.evaluation.evaluate",)

_Accuracies = dict[str, dict[str, float]]  # per_class and harmonic_mean by the way of learning
_NOTES = [
    "All methods have the same normalisation, and their default parameters otherwise: nothing was tuned. In the mean "
    "over all 120 choices of three digits they reach 60 to 63 %, JCMSPL 60 %: zero-shot, these digits do not tell "
    "methods apart. `jcmspl compare` does so on your data.",
    "Labelled: model.add_classes(X=..., y=...) with so many images of each unseen digit, tested on the others (mean of "
    f"{_DRAWS} draws).",
    "Adapted: model.adapt(X) moves the prototype of each digit towards the unlabelled test images. Both need a method "
    "that compares by cosine in the visual space.",
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_output(parser, "also write a page to draw digits in, with the results, to FILE (.html)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.datasets import load_digits
    from jcmspl.datasets.digits import PIXEL_SETTINGS
    from jcmspl.evaluation.explorer import Explorer
    from jcmspl.model import registry

    refuse_existing(arguments.output, arguments.force, Explorer.check_name)
    digits = load_digits()
    X, y = digits.part("trainval")
    models = {
        name: registry.get(name)(**PIXEL_SETTINGS, progress=False)
        .fit(X, y, class_vectors=digits.classes)
        .calibrate(X, y)
        for name in _METHODS
    }
    accuracies = {name: _accuracies(model, digits) for name, model in models.items()}
    accuracies = dict(sorted(accuracies.items(), key=lambda item: -item[1][_ZERO_SHOT]["per_class"]))
    text = f"{_text(digits, accuracies)}\n{_examples(models['JCMSPL'], digits)}"
    if arguments.output is None:
        text += "\nDraw a digit and see its prediction: jcmspl demo -o digits.html. Your own data: jcmspl fit --help."
    else:
        _page(models["JCMSPL"], digits, accuracies).save(arguments.output, overwrite=arguments.force)
    show(arguments, {"accuracies": accuracies, "chance": 1 / len(digits.unseen), "draws": _DRAWS}, text)
    if arguments.output is not None:
        say(arguments, f"wrote {arguments.output}")


def _accuracies(model: Any, digits: Any) -> _Accuracies:
    """Test a model on the three digits, and again with labelled images and adapted if its prototypes can move."""
    from jcmspl.evaluation.evaluate import evaluate

    can_move = model.own_space == "visual" and getattr(model, "metric", None) == "cosine"
    results = evaluate(model, digits, spaces=[model.own_space], adapt=can_move, progress=False).results
    zero_shot, *adapted = (
        {"per_class": one.standard.per_class, "harmonic_mean": one.generalized.harmonic_mean}
        for one in results
        if one.generalized
    )
    found = {_ZERO_SHOT: zero_shot}
    if can_move:
        found |= {_WITH[shots]: _few_shot(model, digits, shots) for shots in _SHOTS} | {_ADAPTED: adapted[0]}
    return found


def _taught(model: Any, digits: Any, shots: int, seed: int) -> tuple[Any, Any]:
    """Return a copy of a model that has some labelled images of each unseen digit, and the rows of the others."""
    import numpy as np

    rows = digits.rows("test_unseen")
    X, y = digits.part("test_unseen")
    rng = np.random.default_rng(seed)
    labelled = np.concatenate([rng.choice(np.flatnonzero(y == label), shots, False) for label in digits.unseen])
    return copy(model).add_classes(X=X[labelled], y=y[labelled]), np.delete(rows, labelled)


def _few_shot(model: Any, digits: Any, shots: int) -> dict[str, float]:
    """Return mean accuracies over random draws of labelled images of each unseen digit, tested on the others."""
    import numpy as np

    from jcmspl.evaluation.accuracy import harmonic_mean

    found = []
    for seed in range(_DRAWS):
        taught, others = _taught(model, digits, shots, seed)
        X, y = digits.X[others], digits.y[others]
        of_seen = taught.score(*digits.part("test_seen"), candidates="all")
        of_unseen = taught.score(X, y, candidates="all")
        found.append((taught.score(X, y, candidates=list(digits.unseen)), harmonic_mean(of_seen, of_unseen)))
    per_class, mean = np.mean(found, axis=0).tolist()
    return {"per_class": per_class, "harmonic_mean": mean}


def _tables(digits: Any, accuracies: dict[str, _Accuracies]) -> list[Any]:
    """Return the table of each figure: a row for each method, a column for each way of learning."""
    from jcmspl.support.shown import Table, percent

    chance, ways = percent(1 / len(digits.unseen)), list(accuracies["JCMSPL"])
    titles = {
        "per_class": f"Accuracy among {', '.join(digits.unseen)}, mean over digits (chance: {chance})",
        "harmonic_mean": "The same among all ten digits, harmonic mean of seen and unseen ones",
    }
    rows = {
        figure: [
            [name, *(percent(found[way][figure]) if way in found else "" for way in ways)]
            for name, found in accuracies.items()
        ]
        for figure in titles
    }
    return [Table(title, ["method", *ways], rows[figure]) for figure, title in titles.items()]


def _text(digits: Any, accuracies: dict[str, _Accuracies]) -> str:
    from jcmspl.support.shown import aligned

    tables = [f"{title}:\n{aligned(header, rows)}\n" for title, header, rows in _tables(digits, accuracies)]
    return "\n".join(
        [
            f"Trained on {len(digits.rows('trainval')):,} images of {', '.join(digits.seen)}; without training images: "
            f"{', '.join(digits.unseen)}.\nA digit is described by {digits.classes.n_attributes} strokes, loops and "
            f"openings, such as “{digits.classes.attribute_names[0]}”.\n",
            *tables,
            *_NOTES,
            "",
        ]
    )


def _page(model: Any, digits: Any, accuracies: dict[str, _Accuracies]) -> Any:
    """Return the page to draw digits in: the model as trained, with one labelled image of each, and adapted."""
    from dataclasses import replace

    from jcmspl.evaluation.explorer import Step, Story, explore

    taught, others = _taught(model, digits, 1, 0)
    digits = replace(digits, parts={**digits.parts, "test_unseen": others})
    share = {way: found["per_class"] for way, found in accuracies["JCMSPL"].items()}
    strokes = f"The model has {digits.classes.n_attributes} numbers for each digit: strokes, loops and openings."
    moved = "It has seen the unlabelled images, and moved its idea of each digit towards them."
    story = Story(
        title="Draw a 2, a 4 or a 6: no labelled image of them was in the training data",
        lead=f"The model learned from {len(digits.rows('trainval')):,} images of {', '.join(digits.seen)}. It knows "
        f"{', '.join(digits.unseen)} by descriptions such as “{digits.classes.attribute_names[0]}: 0.5”.",
        steps=[
            Step("from descriptions alone", share[_ZERO_SHOT], strokes),
            Step(f"with {_WITH[1]}", share[_WITH[1]], "It also has one labelled image of each unseen digit."),
            Step("adapted, without labels", share[_ADAPTED], moved),
        ],
        chance=1 / len(digits.unseen),
        tables=_tables(digits, accuracies),
        notes=_NOTES,
    )
    page = explore(model, digits, beside={f"with {_WITH[1]}": taught}, adapt=True)
    return replace(page, story=story)


def _examples(model: Any, digits: Any) -> str:
    """Show one image of each unseen digit, with the attributes that decided its prediction."""
    X, y = digits.part("test_unseen")
    out = ["Examples, with the attributes that counted most for and against the prediction:"]
    for label in digits.unseen:
        row = int((y == label).argmax())
        explanation = model.explain(X[row : row + 1], candidates=list(digits.unseen))[0]
        spoke = [*explanation.top(2), *reversed(explanation.bottom(2))]
        beside = ["", f"{'right' if explanation.label == label else 'wrong'}: it is a {label}"]
        beside += [str(explanation).splitlines()[0], *(f"{value:+.3f}  {name}" for name, value in spoke)]
        beside += [""] * (8 - len(beside))
        for pixels, words in zip(X[row].reshape(8, 8), beside, strict=True):
            art = "".join(_SHADES[min(9, int(value / 16 * 9.99))] * 2 for value in pixels)
            out.append(f"  {art}  {words}".rstrip())
        out.append("")
    return "\n".join(out)
