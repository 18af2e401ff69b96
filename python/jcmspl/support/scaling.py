"""Scaling of single samples: signed roots and unit length, without overflow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

#: Sums of products carry errors of about this part of the sum of their sizes: less than that is rounding.
NOISE: float = 64 * np.finfo(np.float64).eps


class Scaling(NamedTuple):
    """Scaling of samples: first the signed root of each value (power), then to length one (unit_rows)."""

    unit_rows: bool = False
    power: bool = False


def signed_root(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return sign(x) |x| ** 0.5."""
    return np.asarray(np.copysign(np.sqrt(np.abs(values)), values))


def unit_and_length(rows: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return rows scaled to length one, and their lengths; rows of zeros stay zero.

    Rows are divided by their largest value first, because squares of huge or tiny values overflow or vanish.
    """
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    scale = np.where(largest > 0, largest, 1).astype(rows.dtype)
    scaled = rows / scale
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit = scaled / np.where(length > 0, length, 1).astype(rows.dtype)
    return np.asarray(unit), np.asarray((scale * length)[:, 0])


def unit_length(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return rows scaled to length one; rows of zeros stay zero."""
    return unit_and_length(rows)[0]


def directions_of_product(rows: npt.NDArray[Any], matrix: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ``rows @ matrix`` with rows of length one; rows of which rounding alone is left are zero.

    The bound is half of the digits of the lengths that cancel out: the matrix has rounding errors of its own, which the
    condition of its equations has multiplied.
    """
    product = rows @ matrix
    lengths, parts = np.linalg.norm(product, axis=1), np.abs(rows) @ np.linalg.norm(matrix, axis=1)
    product[lengths <= np.sqrt(np.finfo(np.float64).eps) * parts] = 0
    return unit_length(product)
