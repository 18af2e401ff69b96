"""What is done to a sample before anything else."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Scaling(NamedTuple):
    """First the signed root of each value, then a scale to length one; either, both or none."""

    unit_rows: bool = False
    power: bool = False


def signed_root(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return sign(x) |x| ** 0.5."""
    return np.asarray(np.copysign(np.sqrt(np.abs(values)), values))


def unit_length(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return rows of length one; those of zeros stay as they are."""
    # the largest value first: squares of huge or tiny values would overflow or vanish
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    scaled = rows / np.where(largest > 0, largest, 1).astype(rows.dtype)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(length > 0, length, 1).astype(rows.dtype))


def is_without_negatives(X: Any, weights: npt.NDArray[Any] | None = None) -> bool:
    """Whether no feature is negative: of all samples if they are in memory, else of a first block of them.

    Samples that weigh nothing are not looked at.
    """
    in_memory = isinstance(X, np.ndarray) and not isinstance(X, np.memmap)
    block = np.asarray(X if in_memory else X[:4096])
    if weights is not None:
        block = block[weights[: len(block)] > 0]
    return bool(block.size) and not bool((block < 0).any())
