"""Directions of samples, which are read again and again: in memory, or in a file that goes with them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.support.arguments import Float64Array, FloatArray
from jcmspl.support.scaling import unit_and_length

#: Bytes of directions that are kept in memory; more are kept in a temporary file.
IN_MEMORY = 2**28
# Operations on a block: so many that Ctrl-C waits for a fraction of a second.
_OPERATIONS = 2**32


#: Directions, and the lengths of their samples.
Blocks = Iterable[tuple[npt.NDArray[np.float32], Float64Array]]


class Directions:
    """Samples scaled to length one, in float32, and their lengths; samples of length zero have none and are left out.

    They are kept in blocks of equal size, so that it makes no difference in which chunks they come.

    Parameters
    ----------
    n_features : int
    rows : int
        Samples in a block.
    in_memory : int
        Bytes to keep in memory, not counting the block that is being filled.
    """

    def __init__(self, n_features: int, rows: int, in_memory: int = IN_MEMORY) -> None:
        self.n_samples = 0
        self._most = max(in_memory // (4 * n_features * rows), 0)
        self._full: list[npt.NDArray[np.float32]] = []
        self._last = np.empty((rows, n_features), dtype=np.float32)
        self._lengths: list[Float64Array] = []
        self._file: Any = None
        self._n_in_file = 0

    def __enter__(self) -> Directions:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file, if there is one."""
        if self._file is not None:
            self._file.close()  # which removes it

    def add(self, samples: FloatArray) -> None:
        """Add samples, as rows."""
        directions, lengths = unit_and_length(samples[samples.any(axis=1)].astype(np.float64, copy=False))
        self._lengths.append(lengths)
        self._store(directions.astype(np.float32))

    def blocks(self) -> Iterator[tuple[npt.NDArray[np.float32], Float64Array]]:
        """Give directions and the lengths of their samples, a block at a time."""
        lengths, first = np.concatenate([np.empty(0), *self._lengths]), 0
        self._lengths = [lengths]
        for directions in self._stored():
            yield directions, lengths[first : first + len(directions)]
            first += len(directions)

    def summed(self, function: Callable[..., tuple[Float64Array, ...]], *arguments: Any) -> tuple[Float64Array, ...]:
        """Return the sums that a function makes of blocks of directions and lengths."""
        return function(self.blocks(), *arguments)

    def combined(
        self, function: Callable[..., tuple[Any, ...]], merge: Callable[..., tuple[Any, ...]], *arguments: Any
    ) -> tuple[Any, ...]:
        """Return the result of a function of blocks of directions and lengths; merge joins the results of several."""
        return function(self.blocks(), *arguments)

    def every(self, step: int) -> tuple[npt.NDArray[np.float32], Float64Array]:
        """Return each step-th direction and the length of its sample."""
        return every_of(self.blocks(), 0, step, self._last.shape[1])

    def _store(self, directions: npt.NDArray[np.float32]) -> None:
        rows = len(self._last)
        while len(directions):
            filled = self.n_samples % rows
            some = directions[: rows - filled]
            self._last[filled : filled + len(some)] = some
            self.n_samples += len(some)
            directions = directions[len(some) :]
            if self.n_samples % rows == 0:
                self._put_away()

    def _put_away(self) -> None:
        """Keep the block that has become full."""
        if len(self._full) < self._most:
            self._full.append(self._last)
            self._last = np.empty_like(self._last)
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="jcmspl-")  # noqa: SIM115 - closed with self
            self._file.write(self._last.data)
            self._file.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, error.filename or tempfile.gettempdir()) from None
        self._n_in_file += 1

    def _stored(self) -> Iterator[npt.NDArray[np.float32]]:
        yield from self._full
        if self._file is not None:
            self._file.seek(0)
            block = np.empty_like(self._last)
            for _ in range(self._n_in_file):
                self._file.readinto(block.data.cast("B"))
                yield block
        rest = self.n_samples % len(self._last)
        if rest:
            yield self._last[:rest]


def rows_at_a_time(n_features: int, n_candidates: int) -> int:
    """Return how many samples make a block: they are multiplied by whitenings and by prototypes."""
    return int(np.clip(_OPERATIONS // (n_features * max(n_features, n_candidates)), 16, 1024))


def every_of(blocks: Blocks, first: int, step: int, n_features: int) -> tuple[npt.NDArray[np.float32], Float64Array]:
    """Return the samples whose number is a multiple of the step, where the first of the blocks has a given number."""
    rows, chosen = [np.empty((0, n_features), dtype=np.float32)], [np.empty(0)]
    for block, lengths in blocks:
        start = -first % step
        rows.append(block[start::step].copy())
        chosen.append(lengths[start::step])
        first += len(block)
    return np.concatenate(rows), np.concatenate(chosen)
