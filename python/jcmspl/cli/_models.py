"""Options that choose a method and its parameters, and what they mean to a model."""

from __future__ import annotations

import argparse
import csv
import difflib
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from jcmspl.models import registry
from jcmspl.support.names import METRICS, NORMALISATIONS, SPACES

#: Parameters of JCMSPL with an option of their own: name, the type of its values, choices, help, default.
SHORTCUTS: tuple[tuple[str, Any, tuple[str, ...] | None, str, Any], ...] = (
    ("semantic_match", float, None, "λ1", 0.01),
    ("class_match", float, None, "λ2", 1.0),
    ("visual_reconstruction", float, None, "λ3", 0.1),
    ("semantic_reconstruction", float, None, "λ4", 0.01),
    ("n_concepts", int, None, "dimension of the concept space", None),
    ("max_iter", int, None, "the most iterations", 100),
    ("tol", float, None, "stop when an iteration gains less than this part", 1e-6),
    ("space", str, SPACES, "where to compare", "semantic"),
    ("metric", str, METRICS, "how to compare", "cosine"),
    ("feature_normalisation", str, NORMALISATIONS, "of samples", "sample_l2+center"),
    ("class_normalisation", str, NORMALISATIONS, "of class vectors", "sample_l2+center"),
)
#: What may be changed in a model that is fitted.
AFTER_A_FIT = ("space", "metric", "seen_bias")
_WORDS = {"true": True, "false": False, "none": None, "null": None}
_OWN = ("progress",)  # parameters that are options of the command line itself: --quiet


class MethodNames:
    """The names of all methods and of some more, looked up only where they are asked for."""

    def __init__(self, *more: str) -> None:
        self._more = more

    def __iter__(self) -> Iterator[str]:
        return iter((*registry.names(), *self._more))

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


def add_method(parser: argparse.ArgumentParser, help_text: str, *, default: str | None = None) -> Any:
    """Add ``--model``, and return the group that the parameters belong to."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model", metavar="NAME", dest="method", type=_method, choices=MethodNames(), default=default, help=help_text
    )
    return group


def add_set(group: Any, help_text: str) -> None:
    """Add ``--set``."""
    group.add_argument(
        "--set", metavar="PARAM=VALUE", dest="settings", type=_setting, action="append", default=[], help=help_text
    )


def add_shortcuts(group: Any, names: Iterable[str], **options: Any) -> None:
    """Add options for some parameters, which ``--set`` would set as well."""
    for name, kind, choices, text, default in SHORTCUTS:
        if name not in names:
            continue
        among = f", one of {', '.join(choices)}" if choices else ""
        known = f"{default:g}" if isinstance(default, float) else default
        what = f"{text}{among} (JCMSPL: {'the classes' if default is None else known})"
        metavar = "NAME" if choices else "N" if kind is int else "X"
        option = f"--{name.replace('_', '-')}"
        group.add_argument(option, metavar=metavar, type=kind, choices=choices, help=what, **options)


def parameters_of(arguments: argparse.Namespace, method: type[Any], shortcuts: Iterable[str]) -> dict[str, Any]:
    """Return the parameters that the options set, one value each."""
    found = {}
    for name, values in values_of(arguments, method, shortcuts).items():
        if len(values) > 1:
            raise ValueError(
                f"there are {len(values)} values of {name}, but a fit takes one: `jcmspl tune` tries several"
            )
        found[name] = values[0]
    return found


def values_of(arguments: argparse.Namespace, method: type[Any], shortcuts: Iterable[str]) -> dict[str, list[Any]]:
    """Return the values that the options give for each parameter of a method."""
    known = parameter_names(method)
    found: dict[str, list[Any]] = {}
    for name in shortcuts:
        value = getattr(arguments, name)
        if value is None:
            continue
        if name not in known:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} is not for {method.__name__}, whose parameters are {', '.join(known)}")
        found[name] = value if isinstance(value, list) else [value]
    for name, values in _settings(arguments).items():
        if name not in known:
            raise ValueError(f"{method.__name__} has no parameter {name!r}: {_hint(name, known)}")
        if name in found:
            raise ValueError(f"{name} is given twice, by --{name.replace('_', '-')} and by --set")
        found[name] = values
    return found


def parameter_names(method: type[Any]) -> list[str]:
    """Return the names of the parameters of a method."""
    return [name for name in inspect.signature(method).parameters if name not in _OWN]


def made(arguments: argparse.Namespace, method: type[Any], parameters: dict[str, Any]) -> Any:
    """Return an unfitted model with these parameters, the seed and progress as the options have them."""
    there = method().get_params(deep=False)
    common = {"random_state": arguments.seed, "progress": not arguments.quiet}
    return method(**{**{name: value for name, value in common.items() if name in there}, **parameters})


def loaded(arguments: argparse.Namespace) -> Any:
    """Read the model file, see that it holds the method that was named, and set what may be set after a fit."""
    from jcmspl.models.persistence import load
    from jcmspl.support.arguments import as_number

    model = load(arguments.model)
    kind = type(model).__name__
    if arguments.method is not None and kind != arguments.method:
        raise ValueError(f"{arguments.model} holds a model of {kind}, not of {arguments.method}")
    found = _after_a_fit(model, _settings(arguments))
    if getattr(arguments, "seen_bias", None) is not None:
        if "seen_bias" in found:
            raise ValueError("seen_bias is given twice, by --seen-bias and by --set")
        found["seen_bias"] = arguments.seen_bias
    if "seen_bias" in found:
        as_number(found["seen_bias"], "seen_bias")
        model.calibration_ = {}  # which would go before the bias that is given
    return model.set_params(**found)


def _after_a_fit(model: Any, settings: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the settings of a fitted model, one value each."""
    there = model.get_params(deep=False)
    free = [name for name in AFTER_A_FIT if name in there]
    for name, values in settings.items():
        if name in there and name not in free:
            raise ValueError(f"{name} cannot be changed after a fit, only {', '.join(free)} can")
        if name not in there:
            raise ValueError(f"{type(model).__name__} has no parameter {name!r}: {_hint(name, free)}")
        if len(values) > 1:
            raise ValueError(f"there are {len(values)} values of {name}, but a model takes one")
    return {name: values[0] for name, values in settings.items()}


def _hint(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return (f"did you mean {close[0]}? " if close else "") + f"There are {', '.join(known)}"


def _settings(arguments: argparse.Namespace) -> dict[str, list[Any]]:
    """Return what ``--set`` was given, the values of a parameter from all of its turns."""
    found: dict[str, list[Any]] = {}
    for name, values in arguments.settings:
        found.setdefault(name, []).extend(values)
    return found


def _setting(text: str) -> tuple[str, list[Any]]:
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or not name or not value.strip():
        raise argparse.ArgumentTypeError(f"it takes PARAM=VALUE, such as space=visual, but is {text!r}")
    parts = next(csv.reader([value], skipinitialspace=True))  # a value with commas in it stands in quotes
    if any(not part.strip() for part in parts):
        raise argparse.ArgumentTypeError(f"there is an empty value in {text!r}")
    return name, [_scalar(part.strip()) for part in parts]


def _scalar(text: str) -> Any:
    """Return a value as Python has it: a number, True, False, None, or else the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _method(text: str) -> str:
    by_lower = {name.lower(): name for name in registry.names()}
    if text.lower() in by_lower:
        return by_lower[text.lower()]
    try:
        registry.get(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
