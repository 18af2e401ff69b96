"""The methods of this package by name."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

_HOMES = {"JCMSPL": "jcmspl", "RidgeVS": "peers", "FPL": "peers", "RPL": "peers", "SAE": "peers", "ESZSL": "peers"}


def names() -> tuple[str, ...]:
    """Return the names of all methods; loads none of them."""
    return tuple(_HOMES)


def get(name: str) -> type[Any]:
    """Return the class of a method."""
    if name not in _HOMES:
        close = difflib.get_close_matches(name, _HOMES, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise ValueError(f"there is no method {name!r}: {hint}There are {', '.join(_HOMES)}")
    found: type[Any] = getattr(importlib.import_module(f"jcmspl.models.{_HOMES[name]}"), name)
    return found


def methods() -> dict[str, type[Any]]:
    """Return all classes by name."""
    return {name: get(name) for name in names()}
