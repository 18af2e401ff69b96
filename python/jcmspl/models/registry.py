"""The methods there are, by name: filled by the classes themselves.

A method is a class that names its ``PAPER``. The names can be had without importing any of them, so that the command
line can offer them at once.
"""

from __future__ import annotations

import difflib
import importlib
import math
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_METHODS: dict[str, type[Any]] = {}


def register(method: type[Any]) -> None:
    """Add a class; called for each subclass of a kind of model that names its paper.

    A class that is defined again (a cell of a notebook that is run again) takes its own place; a name that another
    class has, or one of this package, is not taken away from it.
    """
    own = method.__module__.startswith(f"{__package__}.")
    if not own and method.__name__ in _own_names():
        return
    known = _METHODS.get(method.__name__, method)
    if own or (known.__module__, known.__qualname__) == (method.__module__, method.__qualname__):
        _METHODS[method.__name__] = method


def unregister(name: str) -> None:
    """Forget a method that was added by hand."""
    _METHODS.pop(name, None)


def methods() -> dict[str, type[Any]]:
    """Return all methods, those of this package first."""
    _import_all()
    own = {name: _METHODS[name] for name in _own_names() if name in _METHODS}
    return own | _METHODS


def get(name: str) -> type[Any]:
    """Return the class of that name, or say which there are."""
    found = _METHODS.get(name) or methods().get(name)
    if found is None:
        alike = difflib.get_close_matches(str(name), names(), n=1, cutoff=0.5)
        hint = f"did you mean {alike[0]}? There are " if alike else "choose from "
        raise ValueError(f"there is no method {name!r}: {hint}{', '.join(names())}")
    return found


def names() -> tuple[str, ...]:
    """Return the names of all methods, without importing those of this package."""
    return tuple(dict.fromkeys([*_own_names(), *_METHODS]))


def year(method: type[Any]) -> int | None:
    """Return when the paper of a method appeared, if its name tells."""
    found = re.search(r"\((\d{4})\)", method.PAPER)
    return int(found[1]) if found else None


def kind(method: type[Any]) -> str:
    """Return what a method is: the name of the class, itself no method, that it learns or compares by."""
    kinds = [base for base in method.__mro__[1:] if "PAPER" not in vars(base)]
    return method.KIND or next(base.__name__ for base in kinds if {"_fit", "_scorer"} & vars(base).keys())


def is_linear(method: type[Any]) -> bool:
    """Whether scores are one linear layer: those of bilinear methods, and where that is declared to be returned."""
    if method.LINEAR is not None:
        return bool(method.LINEAR)
    scorers = [vars(base)[name] for base in method.__mro__ for name in ("_scorer_of", "_scorer") if name in vars(base)]
    return scorers[0].__annotations__.get("return") in _LINEAR_SCORERS


def cost(method: type[Any], fixed: Mapping[str, Any] | None = None, *, tuned: bool = True) -> float:
    """Return about how long a method takes, in fits of ridge regression; some parameters may be fixed.

    A method that is tuned is fitted with all values of its grid but for those that one fit serves.
    """
    once = _COST.get(method.NEEDS, max(_COST.values())) if method.COST is None else method.COST
    tried = method.GRID.keys() - {*method.COMPARISON, *(fixed or ())} if tuned else ()
    return float(once * math.prod(len(method.GRID[name]) for name in tried))


_FOLDER = Path(__file__).parent
# Scorers that are linear in the sample, as the annotation of a method has them.
_LINEAR_SCORERS = ("LinearScorer", "NearestScorer")
# How long a fit takes by what it reads, where a method does not say.
_COST = {"statistics": 1.0, "samples": 30.0}


def _import_all() -> None:
    for module in pkgutil.iter_modules([str(_FOLDER)]):
        importlib.import_module(f"{__package__}.{module.name}")


@cache
def _own_names() -> tuple[str, ...]:
    """Return the methods of this package; JCMSPL, after which it is named, comes first."""
    found = _names_in_sources()
    if not found:  # there are no sources: a frozen application, or a zip file
        _import_all()
        found = [name for name, method in _METHODS.items() if method.__module__.startswith(f"{__package__}.")]
    return tuple(sorted(found, key=lambda name: (name != "JCMSPL", name.lower())))


def _names_in_sources() -> list[str]:
    """Read off the sources which classes name their paper."""
    texts = [source.read_text(encoding="utf-8") for source in sorted(_FOLDER.glob("*.py"))]
    classes = [part for text in texts for part in re.split(r"^class ", text, flags=re.MULTILINE)[1:]]
    return [re.split(r"\W", part)[0] for part in classes if re.search(r"^    PAPER\b", part, re.MULTILINE)]
