"""Options that choose a method and its parameters, and what they mean to a model."""

from __future__ import annotations

import argparse
import contextlib
import csv
import difflib
import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from jcmspl.model import registry
from jcmspl.support.names import FEATURE_NORMALISATIONS, METRICS, NORMALISATIONS, POWERS, SPACES
from jcmspl.support.renamed import current_names

# with or without roots, the others by --set
_OF_SAMPLES = (*FEATURE_NORMALISATIONS, *(f"{power}+{FEATURE_NORMALISATIONS[-1]}" for power in POWERS))
#: Parameters of JCMSPL with an option of their own: the type of its values or their names, help, default.
SHORTCUTS: dict[str, tuple[Any, str, Any]] = {
    "semantic_match": (float, "λ1", 1.0),
    "class_match": (float, "λ2", 100.0),
    "visual_reconstruction": (float, "λ3", 10.0),
    "semantic_reconstruction": (float, "λ4", 1.0),
    "n_concepts": (int, "dimension of the concept space", None),
    "max_iter": (int, "the most iterations", 100),
    "tol": (float, "stop when an iteration gains less than this part", 1e-6),
    "space": (SPACES, "where to compare", "visual"),
    "metric": (METRICS, "how to compare", "cosine"),
    "feature_normalisation": (_OF_SAMPLES, "of samples", "auto_power+sample_l2+center+whiten"),
    "class_normalisation": (NORMALISATIONS, "of class vectors", "sample_l2+center_unit"),
}
_OF_ADAPTATION = ("adaptation_pull", "adaptation_temperature")
_WORDS = {"true": True, "false": False, "none": None, "null": None}


class Shortcut(argparse.Action):
    """``--space visual`` is ``--set space=visual``."""

    def __call__(self, parser: Any, arguments: Any, values: Any, option: str | None = None) -> None:
        """Do as ``--set`` does."""
        setting = (self.dest, values if isinstance(values, list) else [values])
        arguments.settings = [*arguments.settings, setting]


def add_method(parser: argparse.ArgumentParser, set_help: str, shortcuts: Iterable[str], **options: Any) -> None:
    """Add ``--model`` and ``--set`` for a model that is to be fitted, and options for some parameters."""
    group = _add_model(parser, "the method, one of those of `jcmspl methods` (default: JCMSPL)", "JCMSPL", set_help)
    for name in shortcuts:
        kind, text, default = SHORTCUTS[name]
        if isinstance(kind, tuple):
            values: dict[str, Any] = {"choices": kind, "metavar": "NAME"}
            text += f", one of {', '.join(kind)}"
        else:
            values = {"type": kind, "metavar": "N" if kind is int else "X"}
        text += f" (JCMSPL: {'the classes' if default is None else default})"
        group.add_argument(f"--{name.replace('_', '-')}", action=Shortcut, help=text, **values, **options)


def add_fitted(parser: argparse.ArgumentParser, more_help: str = "") -> None:
    """Add the file of a model, ``--model``, which it must hold, and ``--set``."""
    parser.add_argument("model", metavar="MODEL", help=f"a file written by `jcmspl fit`{more_help}")
    set_help = "change a parameter of the model: space, metric, seen_penalty (may be repeated)"
    _add_model(parser, "refuse MODEL if it holds another method than this", None, set_help)


def _add_model(parser: argparse.ArgumentParser, text: str, default: str | None, set_help: str) -> Any:
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model", metavar="NAME", dest="method", type=_method, choices=registry.names(), default=default, help=text
    )
    group.add_argument(
        "--set", metavar="PARAM=VALUE", dest="settings", type=_setting, action="append", default=[], help=set_help
    )
    return group


def parameter_names(method: type[Any]) -> list[str]:
    """Return the names of the parameters of a method, but for that which is an option of its own: ``--quiet``."""
    return [name for name in inspect.signature(method).parameters if name != "progress"]


def values_of(arguments: argparse.Namespace, method: type[Any]) -> dict[str, list[Any]]:
    """Return the values that the options give for each parameter of a method."""
    known = parameter_names(method)
    found: dict[str, list[Any]] = {}
    for given, values in arguments.settings:
        (name,) = current_names({given: values}, known)
        if name not in known:
            raise ValueError(f"{method.__name__} has no parameter {name!r}: {_hint(name, known)}")
        found.setdefault(name, []).extend(values)
    return found


def parameters_of(arguments: argparse.Namespace, method: type[Any]) -> dict[str, Any]:
    """Return the parameters that the options set, one value each."""
    found = values_of(arguments, method)
    for name, values in found.items():
        if len(values) > 1:
            raise ValueError(
                f"there are {len(values)} values of {name}, but a model takes one: `jcmspl tune` tries several"
            )
    return {name: value for name, (value,) in found.items()}


def made(arguments: argparse.Namespace, method: type[Any], parameters: dict[str, Any]) -> Any:
    """Return an unfitted model with these parameters, the seed and progress as the options have them."""
    seed = {"random_state": arguments.seed} if "random_state" in parameter_names(method) else {}
    return method(**{**seed, **parameters}, progress=not arguments.quiet)


def loaded(arguments: argparse.Namespace) -> Any:
    """Read the model file, see that it holds the method that was named, and set what may be set after a fit."""
    from jcmspl.model.persistence import load
    from jcmspl.support.arguments import as_number

    model = load(arguments.model)
    kind = type(model).__name__
    if arguments.method is not None and kind != arguments.method:
        raise ValueError(f"{arguments.model} holds a model of {kind}, not of {arguments.method}")
    constants = [name for name in _OF_ADAPTATION if hasattr(model, name)]
    found, free = parameters_of(arguments, type(model)), (*model.COMPARISON, "seen_penalty", *constants)
    for name in found:
        if name not in free:
            raise ValueError(f"{name} cannot be changed after a fit, only {', '.join(free)} can")
    if "seen_penalty" in found:
        as_number(found["seen_penalty"], "seen_penalty")
    return model.set_params(**found)


def _hint(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return (f"did you mean {close[0]}? There are " if close else "there are ") + ", ".join(known)


def _method(text: str) -> str:
    by_lower = {name.lower(): name for name in registry.names()}
    if text.lower() not in by_lower:
        raise argparse.ArgumentTypeError(f"there is no method {text!r}: {_hint(text, registry.names())}")
    return by_lower[text.lower()]


def _setting(text: str) -> tuple[str, list[Any]]:
    name, _, value = text.partition("=")
    name = name.strip().replace("-", "_")
    # a value with commas in it stands in quotes
    parts = [part.strip() for part in next(csv.reader([value], skipinitialspace=True), [])]
    if not name or not parts or not all(parts):
        raise argparse.ArgumentTypeError(f"it takes PARAM=VALUE, such as space=visual, but is {text!r}")
    return name, [_scalar(part) for part in parts]


def _scalar(text: str) -> Any:
    """Return a value as Python has it: a number, True, False, None, or else the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
