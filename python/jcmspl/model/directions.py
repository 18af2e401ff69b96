"""Directions of samples, which are read again and again: in memory, in a temporary file, or on the workers of dask."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.normalisation import Normalisation
from jcmspl.data.parts import IN_MEMORY, Part, each_added, row_blocks
from jcmspl.data.samples import Kept
from jcmspl.model.recogniser import normalised
from jcmspl.support.arguments import Float64Array, FloatArray, require_finite
from jcmspl.support.scaling import unit_and_length

# Operations on a block: so many that Ctrl-C waits for a fraction of a second.
_OPERATIONS = 2**32


#: Directions, and the lengths of their samples.
Blocks = Iterator[tuple[npt.NDArray[np.float32], Float64Array]]


class Directions:
    """Directions of samples, which stay where the samples are: in this process, or on the workers of dask.

    Functions of blocks get the blocks of one place at a time.

    Parameters
    ----------
    kept : Kept
        Of :class:`StoredDirections`.
    """

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        counts = np.array(kept.map(_counts), dtype=np.int64).reshape(-1, 2)
        self._n_samples = counts[:, 0]
        self.n_samples, self.n_read = counts.sum(axis=0).tolist()

    def __enter__(self) -> Directions:
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.close()

    def summed(self, function: Callable[..., tuple[Float64Array, ...]], *arguments: Any) -> tuple[Float64Array, ...]:
        """Return the sums of the arrays that a function returns for blocks of directions and lengths."""
        return tuple(self.combined(function, each_added, *arguments))

    def combined(self, function: Callable[..., Any], merge: Callable[[Any, Any], Any], *arguments: Any) -> Any:
        """Return the merged results of a function of blocks of directions and lengths."""
        return self._kept.reduce(_on_blocks, function, *arguments, merge=merge)

    def every(self, step: int) -> tuple[npt.NDArray[np.float32], Float64Array]:
        """Return each step-th direction and the length of its sample."""
        starts = (np.cumsum(self._n_samples) - self._n_samples).tolist()
        rows, lengths = zip(*self._kept.map(_every, step, of_pieces=starts), strict=True)
        return np.concatenate(rows), np.concatenate(lengths)


class StoredDirections:
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
        self.n_samples = self.n_read = 0  #: those of any length, and all
        self._most = max(in_memory // (4 * n_features * rows), 0)
        self._full: list[npt.NDArray[np.float32]] = []
        self._last = np.empty((rows, n_features), dtype=np.float32)
        self._lengths: list[Float64Array] = [np.empty(0)]
        self._file: Any = None
        self._n_in_file = 0

    def close(self) -> None:
        """Let go of the file, if there is one."""
        if self._file is not None:
            self._file.close()  # which removes it

    def add(self, samples: FloatArray) -> None:
        """Add samples, as rows."""
        directions, lengths = unit_and_length(samples[samples.any(axis=1)].astype(np.float64, copy=False))
        self.n_read += len(samples)
        self._lengths.append(lengths)
        self._store(directions.astype(np.float32))

    def blocks(self) -> Blocks:
        """Give directions and the lengths of their samples, a block at a time."""
        lengths, first = np.concatenate(self._lengths), 0
        for directions in self._stored():
            yield directions, lengths[first : first + len(directions)]
            first += len(directions)

    def every(self, first: int, step: int) -> tuple[npt.NDArray[np.float32], Float64Array]:
        """Return the directions whose number is a multiple of the step, counted from that of the first."""
        rows, chosen = [self._last[:0]], [np.empty(0)]
        for block, lengths in self.blocks():
            start = -first % step
            rows.append(block[start::step].copy())
            chosen.append(lengths[start::step])
            first += len(block)
        return np.concatenate(rows), np.concatenate(chosen)

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


def stored_directions(part: Part, normalisation: Normalisation, n_candidates: int) -> StoredDirections:
    """Return the directions of the normalised samples of a part."""
    found = StoredDirections(part.n_features, rows_at_a_time(part.n_features, n_candidates), part.memory)
    size = rows_at_a_time(part.n_features, 1)
    try:
        for block in part.blocks():
            for rows in row_blocks(len(block), size):
                require_finite(block.X[rows], "X", first_row=block.first + rows.start)
                found.add(normalised(normalisation, block.X[rows]))
    except BaseException:
        found.close()
        raise
    return found


def _on_blocks(stored: StoredDirections, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(stored.blocks(), *arguments)


def _counts(stored: StoredDirections) -> tuple[int, int]:
    return stored.n_samples, stored.n_read


def _every(stored: StoredDirections, first: int, step: int) -> tuple[npt.NDArray[np.float32], Float64Array]:
    return stored.every(first, step)
