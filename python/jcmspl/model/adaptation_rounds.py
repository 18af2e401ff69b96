"""The rounds of an adaptation: samples are shared out among prototypes, and prototypes move to their shares.

Of each sample the model has a first guess, its scores for the candidates. In turn each sample is shared out among the
candidates by how near their prototypes are, the first guess having a say in every round, and each prototype becomes the
direction of the prediction, of its labelled samples, and of its share of the unlabelled ones. All of it happens among
directions of normalised samples, which are read again and again: in memory, in a temporary file, or on the workers of
dask. The result is a linear layer, as before.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.data.normalisation import Normalisation
from jcmspl.data.parts import IN_MEMORY, Part, each_added
from jcmspl.data.samples import PartResults
from jcmspl.model.recogniser import normalised
from jcmspl.support.arguments import Float64Array, FloatArray, require_finite, row_blocks
from jcmspl.support.scaling import unit_and_length, unit_length

# Operations on a block: so many that Ctrl-C waits for a fraction of a second.
_OPERATIONS = 2**32


#: Directions, and the lengths of their samples.
Blocks = Iterator[tuple[npt.NDArray[np.float32], Float64Array]]


class Directions:
    """Directions of samples, which stay where the samples are: in this process, or on the workers of dask.

    Functions of blocks get the blocks of one place at a time.
    """

    def __init__(self, kept: PartResults) -> None:
        self._kept = kept
        counts = np.array(kept.map(attrgetter("n_samples", "n_read")), dtype=np.int64).reshape(-1, 2)
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
        rows, lengths = zip(*self._kept.map(StoredDirections.every, step, of_pieces=starts), strict=True)
        return np.concatenate(rows), np.concatenate(lengths)


class StoredDirections:
    """Samples scaled to length one, in float32, and their lengths; samples of length zero have none and are left out.

    They are kept in blocks of an equal number of rows, so that it makes no difference in which chunks they come; in
    memory up to a number of bytes, without the block that is being filled, and in a temporary file beyond it.
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
    """Return the number of samples in a block: they are multiplied by whitenings and by prototypes."""
    return int(np.clip(_OPERATIONS // (n_features * max(n_features, n_candidates)), 16, 1024))


def stored_directions(part: Part, normalisation: Normalisation, n_candidates: int) -> StoredDirections:
    """Return the directions of the normalised samples of a part."""
    width = normalisation.n_outputs
    found = StoredDirections(width, rows_at_a_time(width, n_candidates), part.memory)
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


#: How much the first guess counts beside the prototype, in every round and in the end.
GUESS_WEIGHT = 0.3
#: The most rounds; the last one is the first in which no prototype moves by more than STANDSTILL.
MOST_ROUNDS, STANDSTILL = 15, 1e-4
# A class of more samples pulls no harder: beside many samples the prediction has little to add.
_LARGE = 17
# Steps of Sinkhorn's algorithm in each round, where class shares are known.
_STEPS = 4
# Below this a float32 has no inverse; and below this temperature all of a sample goes to its nearest prototype.
_TINY, _COLDEST = 1e-30, 1e-6


class Settings(NamedTuple):
    """The constants of an adaptation.

    ``pull`` says how many samples a prediction counts as, as a share of the size of the class that a usual sample is
    in. ``temperature`` is that of the softmax by which samples are shared out. ``shares``, if they are known, are the
    shares of the candidates in the samples.
    """

    pull: float
    temperature: float
    shares: Float64Array | None = None


class Moved(NamedTuple):
    """The prototypes before and after, the new layer, the samples behind each class, and the number of rounds."""

    before: Float64Array
    after: Float64Array
    weights: Float64Array
    offsets: Float64Array
    backing: Float64Array
    rounds: int

    @property
    def class_size(self) -> float:
        """The size of the class that a usual sample is in."""
        return class_size(self.backing)


def class_size(backing: Float64Array) -> float:
    """Return the mean over samples of the size of their class.

    Candidates that do not occur do not count, as they would in the mean over candidates.
    """
    n_samples = backing.sum()
    return float(backing @ backing / n_samples) if n_samples else 0.0


def moved_to_samples(
    directions: Directions,
    weights: Float64Array,
    offsets: Float64Array,
    settings: Settings,
    *,
    bias: Float64Array,
    labelled: Float64Array,
    on_round: Callable[[int], None] = lambda done: None,
) -> Moved:
    """Move the prototypes of a linear layer of normalised samples, ``z @ weights[c] + offsets[c]``.

    The bias is added to the scores, and no part of the new layer. ``labelled``, the number of labelled samples in each
    prototype, holds it in place. ``on_round`` is called with the number of rounds so far.
    """
    before = _unit(weights)
    after, backing, rounds = before, np.zeros(len(weights)), 0
    balance = np.zeros(len(weights))  # added to the scores, so that the samples are shared out in known shares
    # (1 + GUESS_WEIGHT) times the scores: prototypes and first guess are the same to begin with
    layer, guess = (1 + GUESS_WEIGHT) * weights, (1 + GUESS_WEIGHT) * offsets
    while rounds < MOST_ROUNDS:
        shift = guess + (1 + GUESS_WEIGHT) * bias
        balance = _balanced(directions, layer, shift, balance, settings)
        sums, backing = directions.summed(_shared_out, layer, shift + balance, settings.temperature)
        anchor = settings.pull * min(class_size(backing), _LARGE) + labelled
        last, after = after, _unit(anchor[:, None] * before + sums, otherwise=before)
        layer, guess = after + GUESS_WEIGHT * weights, GUESS_WEIGHT * offsets
        rounds += 1
        on_round(rounds)
        if np.linalg.norm(after - last, axis=1).max() <= STANDSTILL:
            break
    balance = _balanced(directions, layer, guess, balance, settings)  # without the bias, as predictions are
    total = 1 + GUESS_WEIGHT
    return Moved(before, after, layer / total, (guess + balance) / total, backing, rounds)


def _balanced(
    directions: Directions,
    layer: Float64Array,
    shift: Float64Array,
    balance: Float64Array,
    settings: Settings,
) -> Float64Array:
    """Return offsets with which candidates get the samples that their known shares say.

    These are steps of Sinkhorn's algorithm, which scale the columns of the softmax. They go on from those of the round
    before, so that few are enough. One alone does not do: prototypes and offsets then chase each other.
    """
    if settings.shares is None or not directions.n_samples:
        return balance
    wanted = directions.n_samples * settings.shares
    for _ in range(_STEPS):
        backing, inverse = directions.summed(_counted, layer, shift + balance, settings.temperature)
        mean_length = directions.n_samples / float(inverse[0])  # the shorter a sample, the more an offset counts
        balance = balance + settings.temperature * mean_length * np.log(wanted / np.maximum(backing, _TINY))
    return balance


def _shared_out(
    blocks: Blocks, layer: Float64Array, shift: Float64Array, temperature: float
) -> tuple[Float64Array, Float64Array]:
    """Return the sum of the directions that each candidate has a share in, and the sum of the shares."""
    sums, backing = np.zeros(layer.shape), np.zeros(len(layer))
    for block, _, shares in _shares(blocks, layer, shift, temperature):
        backing += shares.sum(axis=0)
        sums += shares.T @ block
    return sums, backing


def _counted(
    blocks: Blocks, layer: Float64Array, shift: Float64Array, temperature: float
) -> tuple[Float64Array, Float64Array]:
    """Return the sum of the shares of each candidate, and that of the inverse lengths of the samples."""
    backing, total = np.zeros(len(layer)), 0.0
    for _, inverse, shares in _shares(blocks, layer, shift, temperature):
        backing += shares.sum(axis=0)
        total += float(inverse.sum())
    return backing, np.array([total])


def _shares(
    blocks: Blocks, layer: Float64Array, shift: Float64Array, temperature: float
) -> Iterator[tuple[npt.NDArray[np.float32], Float64Array, npt.NDArray[np.float32]]]:
    """Give blocks of directions, the inverse lengths of the samples, and the share of each candidate in each."""
    # float32, one array and few passes over it: a plain softmax would cost as much as the products
    temperature = max(temperature, _COLDEST)
    weights, offsets = ((part / temperature).astype(np.float32) for part in (layer.T, shift))
    for block, lengths in blocks:
        inverse = np.minimum(1 / lengths, 1 / _TINY)
        shares = block @ weights
        if shift.any():
            shares += inverse.astype(np.float32)[:, None] * offsets
        shares -= shares.max(axis=1, keepdims=True)
        np.exp(shares, out=shares)
        shares *= 1 / shares.sum(axis=1, keepdims=True)
        yield block, inverse, shares


def _unit(rows: Float64Array, otherwise: Float64Array | None = None) -> Float64Array:
    """Return rows of length one; zeros, or the rows of another matrix, where there is nothing to scale."""
    scaled = unit_length(rows)
    return scaled if otherwise is None else np.where(rows.any(axis=1, keepdims=True), scaled, otherwise)
