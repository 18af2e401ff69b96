"""What a fitted method is: arrays by name, whose shapes its class declares.

A shape is a tuple of numbers and names: ``m`` is the number of features, ``d`` that of attributes, ``c`` that of
training classes; any other name stands for a number that is the same wherever the name stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

import numpy as np
import numpy.typing as npt

Shape = tuple[int | str, ...]
NamedArrays = dict[str, npt.NDArray[Any]]

#: The words of the documentation for some names in shapes.
SIZES: dict[int | str, str] = {"m": "n_features", "d": "n_attributes", "c": "n_classes", "i": r"n_iter\_"}


class FittedArray:
    """A public attribute that reads the array of its name, without the underscore at its end.

    Parameters
    ----------
    doc : str
    """

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.__name__ = name

    @overload
    def __get__(self, model: None, owner: Any) -> FittedArray: ...
    @overload
    def __get__(self, model: Any, owner: Any) -> npt.NDArray[np.float64]: ...
    def __get__(self, model: Any, owner: Any) -> Any:
        if model is None:
            return self
        try:
            return model.arrays_[self.__name__.removesuffix("_")]
        except AttributeError:
            raise AttributeError(
                f"this {type(model).__name__} is not fitted yet, so it has no {self.__name__}"
            ) from None


def check_arrays(
    arrays: Mapping[str, npt.NDArray[Any]], shapes: Mapping[str, Shape], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Refuse arrays that are not those declared, or not finite; return what the names stand for.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    shapes : mapping of str to shape
        Every array that must be there.
    sizes : mapping of str to int
        The names whose numbers are known.
    """
    for name in [*shapes, *arrays]:
        if (name in shapes) != (name in arrays):
            raise ValueError(f"the array {name!r} {'is missing' if name in shapes else 'belongs to no such model'}")
    known = dict(sizes)
    for name, shape in shapes.items():
        array = arrays[name]
        if array.ndim == len(shape):
            known = {
                size: found for size, found in zip(shape, array.shape, strict=True) if isinstance(size, str)
            } | known
        expected = tuple(known.get(size, 0) if isinstance(size, str) else size for size in shape)
        if array.shape != expected or 0 in expected or array.dtype != np.float64:
            raise ValueError(f"the array {name!r} has the wrong type or shape ({array.dtype}, {array.shape})")
        if not np.isfinite(array).all():
            raise ValueError(f"the array {name!r} holds NaN or infinity")
    return known
