"""Options that choose a method and its parameters, and the models made from them."""

from __future__ import annotations

import argparse
import contextlib
import csv
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jcmspl.model import registry
from jcmspl.support.calls import current_names
from jcmspl.support.names import FEATURE_NORMALISATIONS, METRICS, NORMALISATIONS, POWERS, SPACES
from jcmspl.support.shown import suggestion

# the most common ones; --set takes all others
_OF_SAMPLES = (*FEATURE_NORMALISATIONS, *(f"{power}+{FEATURE_NORMALISATIONS[-1]}" for power in POWERS))
#: Parameters of JCMSPL that are also options: type or names of the values, help, default.
SHORTCUTS: dict[str, tuple[Any, str, Any]] = {
    "semantic_match": (float, "weight λ1", 1.0),
    "class_match": (float, "weight λ2", 100.0),
    "visual_reconstruction": (float, "weight λ3", 10.0),
    "semantic_reconstruction": (float, "weight λ4", 1.0),
    "n_concepts": (int, "dimension of the concept space", None),
    "max_iter": (int, "maximum number of iterations", 100),
    "tol": (float, "stop when an iteration gains less than this fraction", 1e-6),
    "space": (SPACES, "space of the comparison", "visual"),
    "metric": (METRICS, "metric of the comparison", "cosine"),
    "feature_normalisation": (_OF_SAMPLES, "normalisation of samples", "auto_power+sample_l2+center+whiten"),
    "class_normalisation": (NORMALISATIONS, "normalisation of class vectors", "sample_l2+center_unit"),
}
_OF_ADAPTATION = ("adaptation_pull", "adaptation_temperature")
_WORDS = {"true": True, "false": False, "none": None, "null": None}


class Shortcut(argparse.Action):
    """``--space visual`` is ``--set space=visual``."""

    def __call__(self, parser: Any, arguments: Any, values: Any, option: str | None = None) -> None:
        """Add the values as ``--set`` does."""
        setting = (self.dest, values if isinstance(values, list) else [values])
        arguments.settings = [*arguments.settings, setting]


def add_method(parser: argparse.ArgumentParser, set_help: str, shortcuts: Iterable[str], **options: Any) -> None:
    """Add ``--model`` and ``--set`` for a model to fit, and options for some parameters."""
    group = _add_model(
        parser, "name of the method; `jcmspl methods` lists them (default: JCMSPL)", "JCMSPL", set_help, _setting
    )
    for name in shortcuts:
        kind, text, default = SHORTCUTS[name]
        if isinstance(kind, tuple):
            values: dict[str, Any] = {"choices": kind, "metavar": "NAME"}
            text += f": {', '.join(kind)}"
        else:
            values = {"type": kind, "metavar": "N" if kind is int else "X"}
        text += f" (JCMSPL: {'number of classes' if default is None else default})"
        group.add_argument(f"--{name.replace('_', '-')}", action=Shortcut, help=text, **values, **options)


def add_fitted(parser: argparse.ArgumentParser, more_help: str = "", *, sets: bool = False) -> None:
    """Add the argument MODEL, the method ``--model`` that it must hold, and ``--set``.

    ``sets``: whether ``--set`` also takes the coverage of prediction sets.
    """
    parser.add_argument("model", metavar="MODEL", help=f"model file written by `jcmspl fit`{more_help}")
    set_help = "change a parameter of the model: space, metric, seen_penalty (may be repeated)"
    if sets:
        set_help += "; a number such as 0.9: also write the set of classes that a sample may be of, with this coverage"
    _add_model(parser, "require MODEL to hold this method", None, set_help, _setting_or_coverage if sets else _setting)


def _add_model(parser: argparse.ArgumentParser, text: str, default: str | None, set_help: str, kind: Any) -> Any:
    group, names = parser.add_argument_group("model"), {name.lower(): name for name in registry.names()}
    group.add_argument(
        "--model",
        metavar="NAME",
        dest="method",
        type=lambda given: names.get(given.lower(), given),
        choices=registry.names(),
        default=default,
        help=text,
    )
    group.add_argument(
        "--set",
        metavar="PARAM=VALUE",
        dest="settings",
        type=kind,
        action="append",
        default=[],
        help=set_help,
    )
    return group


def parameter_names(method: type[Any]) -> list[str]:
    """Return the names of a method's parameters except progress, which ``--quiet`` sets."""
    return [name for name in inspect.signature(method).parameters if name != "progress"]


def values_of(arguments: argparse.Namespace, method: type[Any]) -> dict[str, list[Any]]:
    """Return the values of each parameter that the options set."""
    known = parameter_names(method)
    found: dict[str, list[Any]] = {}
    for given, values in arguments.settings:
        (name,) = current_names({given: values}, known)
        if name not in known:
            raise ValueError(
                f"{method.__name__} has no parameter {name!r}: there are {', '.join(known)}{suggestion(name, known)}"
            )
        found.setdefault(name, []).extend(values)
    return found


def parameters_of(arguments: argparse.Namespace, method: type[Any]) -> dict[str, Any]:
    """Return the parameters that the options set, one value per parameter."""
    found = values_of(arguments, method)
    for name, values in found.items():
        if len(values) > 1:
            raise ValueError(
                f"there are {len(values)} values of {name}, but a model takes one: try several with `jcmspl tune`"
            )
    return {name: value for name, (value,) in found.items()}


def made(arguments: argparse.Namespace, method: type[Any], parameters: dict[str, Any]) -> Any:
    """Return an unfitted model with these parameters and the options' seed and progress."""
    seed = {"random_state": arguments.seed} if "random_state" in parameter_names(method) else {}
    return method(**{**seed, **parameters}, progress=not arguments.quiet)


def loaded(arguments: argparse.Namespace) -> Any:
    """Load the model file, check its method, and set the parameters that may change after a fit."""
    from jcmspl.io.archive import ModelFileError
    from jcmspl.model.persistence import load
    from jcmspl.support.arguments import as_number

    try:
        model = load(arguments.model)
    except (ModelFileError, OSError):
        _refuse_swapped(arguments.model, getattr(arguments, "samples", None) or getattr(arguments, "data", None))
        raise
    kind = type(model).__name__
    if arguments.method is not None and kind != arguments.method:
        raise ValueError(f"{arguments.model} holds a model of {kind}, not of {arguments.method}")
    constants = [name for name in _OF_ADAPTATION if hasattr(model, name)]
    found, free = parameters_of(arguments, type(model)), (*model.COMPARISON, "seen_penalty", *constants)
    for name in found:
        if name not in free:
            raise ValueError(f"{name} cannot be changed after a fit; only {', '.join(free)} can")
    if "seen_penalty" in found:
        as_number(found["seen_penalty"], "seen_penalty")
    return model.set_params(**found)


def classes_for(model: Any, path: str, arguments: argparse.Namespace) -> Any:
    """Read class vectors; labels in a file are text, which become the model's own where it knows them."""
    from jcmspl.data.class_table import ClassTable
    from jcmspl.datasets.class_files import load_classes

    table = load_classes(path, arguments.classes_header, arguments.classes_delimiter)
    own = {str(label): label for label in model.class_table_}
    return ClassTable([own.get(str(label), label) for label in table], table.vectors, table.attributes)


def _refuse_swapped(model: str, other: Any) -> None:
    """Refuse a model in the place of the data."""
    from jcmspl.io.archive import written_by

    if isinstance(other, str) and Path(other).is_file() and written_by(Path(other)) is not None:
        raise ValueError(f"{model} is not a model, but {other} is one: give the model first, then the data")


def _setting(text: str) -> tuple[str, list[Any]]:
    name, _, value = text.partition("=")
    name = name.strip().replace("-", "_")
    # quotes protect the commas of a value
    parts = [part.strip() for part in next(csv.reader([value], skipinitialspace=True), [])]
    if not name or not parts or not all(parts):
        raise argparse.ArgumentTypeError(f"expected PARAM=VALUE, such as space=visual, but got {text!r}")
    return name, [_scalar(part) for part in parts]


#: The name under which ``--set 0.9`` keeps a coverage among settings.
COVERAGE = "coverage"


def _setting_or_coverage(text: str) -> tuple[str, list[Any]]:
    number = _scalar(text)
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        return COVERAGE, [number]
    if "=" not in text:
        raise argparse.ArgumentTypeError(f"expected a coverage, such as 0.9, or PARAM=VALUE, but got {text!r}")
    return _setting(text)


def _scalar(text: str) -> Any:
    """Return a number, True, False or None if the text means one, else the text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
