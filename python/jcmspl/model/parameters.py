"""The declaration of a method: parameters with their checks, and arrays with their shapes.

Parameters are fields of a dataclass, each with the check of its value. A method states its own; those that a kind of
methods has in common are written once, in the kind. The result of a fit is a dict of arrays, whose shapes the class
declares. A shape is a tuple of numbers and names: ``m`` is the number of features, ``d`` that of attributes, ``c``
that of training classes; any other name stands for one number wherever it occurs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from dataclasses import field as field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from jcmspl.model.documentation import FittedArray as FittedArray
from jcmspl.model.documentation import documented
from jcmspl.support.arguments import as_count, as_number, as_weight, one_of
from jcmspl.support.calls import accept_old_parameters

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**options: Any) -> Callable[[Any], Any]:
        """Return a decorator that does nothing: only type checkers need it."""
        return lambda decorator: decorator


T = TypeVar("T")

Check = Callable[[Any, str], object]
#: The value of a parameter that the training data choose.
AUTO = "auto"


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
def estimator(cls: type[T]) -> type[T]:
    """Make a class a dataclass whose fields are its parameters.

    A parameter that only has another default than in a base class, ``space: str = "visual"``, keeps the check of the
    base class. The docstring becomes whole (:mod:`jcmspl.model.documentation`), and old names of parameters are
    accepted.
    """
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    for parameter in fields(made):
        declared = (vars(base).get("__dataclass_fields__", {}).get(parameter.name) for base in made.__mro__)
        found = (one.metadata for one in declared if one is not None and one.metadata)
        parameter.metadata = next(found, MappingProxyType({}))
    accept_old_parameters(made)
    if made.__doc__ is not None:  # python -OO
        made.__doc__ = documented(made)
    return cls


def checked_by(check: Check, **more: Any) -> Mapping[str, Any]:
    """Return the metadata of a field whose value must pass a check: a function of the value and its name."""
    return {"check": check, **more}


def one_of_names(names: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the metadata of a field that holds one of some names."""
    return checked_by(lambda value, name: one_of(value, name, names), names=names)


def _check_flag(value: Any, name: str) -> None:
    if not isinstance(value, (bool, int, np.bool_)):
        raise TypeError(f"{name} must be True or False, but is {value!r}")


def _check_seed(value: Any, name: str) -> None:
    generators = (int, np.integer, np.random.RandomState, np.random.Generator)
    if value is not None and not isinstance(value, generators):
        raise TypeError(f"{name} must be a whole number, a generator or None, but is {value!r}")


def _check_positive(value: Any, name: str) -> None:
    if as_number(value, name) <= 0:
        raise ValueError(f"{name} must be above 0, but is {value!r}")


def _check_share(value: Any, name: str) -> None:
    if not 0 <= as_number(value, name) <= 1:
        raise ValueError(f"{name} must be from 0 to 1, but is {value!r}")


def _check_share_or_auto(value: Any, name: str) -> None:
    if isinstance(value, str) and value != AUTO:
        raise ValueError(f"{name} must be a number from 0 to 1 or {AUTO!r}, but is {value!r}")
    if not isinstance(value, str):
        _check_share(value, name)


def _check_weight_or_infinity(value: Any, name: str) -> None:
    if not (isinstance(value, (float, np.floating)) and value == np.inf):
        as_weight(value, name)


def as_temperature(value: Any, name: str = "temperature") -> float | None:
    """Return a number above 0; None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    number = as_number(value, name, "a number or 'auto'")
    if number <= 0:
        raise ValueError(f"{name} must be a finite number above 0, but is {number}")
    return number


FLAG = checked_by(_check_flag)
#: A number from 0 to 1.
SHARE = checked_by(_check_share)
#: The same, or "auto": chosen by the training data.
SHARE_OR_AUTO = checked_by(_check_share_or_auto)
WEIGHT_OR_INFINITY = checked_by(_check_weight_or_infinity)
POSITIVE = checked_by(_check_positive)
#: The same for a number that is sensibly varied by factors.
POSITIVE_WEIGHT = checked_by(_check_positive, is_weight=True)
SEED = checked_by(_check_seed)
#: A number of at least 0 that is sensibly varied by factors: what a search lets grow.
WEIGHT = checked_by(as_weight, is_weight=True)
#: The same where infinity is a limit that has a meaning.
INFINITE_WEIGHT = checked_by(_check_weight_or_infinity, is_weight=True)
NOT_NEGATIVE = checked_by(as_weight)
NUMBER = checked_by(as_number)
COUNT = checked_by(as_count)
OPTIONAL_COUNT = checked_by(lambda value, name: None if value is None else as_count(value, name))
#: Values of a penalty that a search tries where it is not told.
DECADES = tuple(10.0**power for power in range(-2, 4))


def array_names(model: Any) -> tuple[str, ...]:
    """Return the parameters that may be arrays, of a model or its class."""
    return tuple(one.name for one in fields(model) if one.metadata.get("may_be_array"))


def weight_names(model: Any) -> tuple[str, ...]:
    """Return the parameters that are weights, in the order in which they are declared."""
    return tuple(one.name for one in fields(model) if one.metadata.get("is_weight"))


Shape = tuple[int | str, ...]
NamedArrays = dict[str, npt.NDArray[Any]]
