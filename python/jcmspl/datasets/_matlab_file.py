"""What all MATLAB files have in common: variables by name, whose shape is known before anything is read."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.datasets.errors import DatasetError, require_at_most
from jcmspl.datasets.row_source import RowSource
from jcmspl.support.arguments import IntArray

KIND = "a MATLAB file"
#: In a damaged file, a cell may even refer to itself.
DEEPEST_CELL = 8
#: What a text in a list takes, at the least.
TEXT_BYTES = 64


class MatFile(ABC):
    """The variables of a file; those in a structure have its name, a dot and their own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of all variables."""

    @abstractmethod
    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape that a variable has in MATLAB, without reading it."""

    @abstractmethod
    def texts(self, name: str) -> list[str]:
        """Return the texts in a cell array, however deeply each is wrapped, or the rows of a character array."""

    @abstractmethod
    def columns(self, name: str) -> RowSource:
        """Return the columns of a matrix as rows, read when needed if the file allows it."""

    @abstractmethod
    def array(self, name: str) -> npt.NDArray[Any]:
        """Return a variable of real numbers."""

    def count(self, name: str) -> int:
        """Return the number of values in a vector, without reading them."""
        shape = self.shape(name)
        size = math.prod(shape)
        if size and max(shape) != size:
            raise DatasetError(f"{self.path}: {name} must be a vector, but its shape is {shape}")
        return size

    def integers(self, name: str, most: int | None = None) -> IntArray:
        """Return a vector of whole numbers, of whatever type and orientation, one for each of so many samples."""
        require_at_most(f"{self.path}: {name}", self.count(name), most, "samples")
        values = self.array(name).ravel()
        if not np.all(np.isfinite(values) & (values == np.floor(values))):
            raise DatasetError(f"{self.path}: {name} must hold whole numbers")
        return values.astype(np.int64)
