"""Results as standard JSON, and back."""

from __future__ import annotations

import dataclasses
import json
import math
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

_INFINITIES = ("inf", "-inf")


def dumps(data: Any, indent: int | None = None) -> str:
    """Return data as JSON; null stands for NaN, and the text "inf" for infinity."""
    return json.dumps(as_data(data), indent=indent, ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python number; anything else unchanged."""
    # does not import NumPy: --help must be fast
    return value.item() if hasattr(value, "dtype") and value.shape == () else value


def as_data(value: Any) -> Any:
    """Convert results to types of JSON: dataclasses to dicts, sequences to lists.

    Examples
    --------
    >>> import numpy as np
    >>> as_data({1: (np.float64(0.5), np.nan, np.inf)})
    {'1': [0.5, None, 'inf']}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_data(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): as_data(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_data(part) for part in value]
    found = plain(value)
    if isinstance(found, float) and not math.isfinite(found):
        return None if math.isnan(found) else str(found)
    return found


def from_data(kind: Any, data: Any) -> Any:
    """Undo :func:`as_data`, guided by the types of the fields of a dataclass."""
    if data is None:
        return None
    if data in _INFINITIES and kind is not str:
        return float(data)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{name: from_data(hint, data[name]) for name, hint in hints.items() if name in data})
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return from_data(next(one for one in inner if one is not type(None)), data)
    if origin is list:
        return [from_data(inner[0], part) for part in data]
    if origin is dict:
        return {inner[0](name): from_data(inner[1], part) for name, part in data.items()}
    return data
