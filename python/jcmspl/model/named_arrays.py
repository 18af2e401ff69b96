"""What a fitted method is: arrays by name, whose shapes its class declares.

A shape is a tuple of numbers and letters: ``m`` is the number of features, ``d`` that of attributes, ``c`` that of
training classes; any other letter stands for a number that is the same wherever the letter stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Shape = tuple[int | str, ...]
NamedArrays = dict[str, npt.NDArray[Any]]


def check_arrays(
    arrays: Mapping[str, npt.NDArray[Any]], shapes: Mapping[str, Shape], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Refuse arrays that are not those declared, or not finite; return what the letters stand for.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    shapes : mapping of str to shape
        Every array that must be there.
    sizes : mapping of str to int
        What is known of the letters.
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
