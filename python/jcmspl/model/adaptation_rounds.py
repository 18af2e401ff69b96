"""The rounds of an adaptation: samples are shared out among prototypes, and prototypes move to their shares.

Of each sample the model has a first guess, its scores for the candidates. In turn each sample is shared out among the
candidates by how near their prototypes are, the first guess having a say in every round, and each prototype becomes the
direction of the prediction, of its labelled samples, and of its share of the unlabelled ones. All of it happens among
directions of normalised samples. The result is a linear layer, as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.model.directions import Blocks, Directions
from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import unit_length

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

    Parameters
    ----------
    directions : Directions
        Of unlabelled samples.
    weights, offsets : ndarray of shape (n_candidates, n_features), and (n_candidates,)
    settings : Settings
    bias : ndarray of shape (n_candidates,)
        Added to the scores, and no part of the new layer.
    labelled : ndarray of shape (n_candidates,)
        The number of labelled samples in each prototype, which hold it where it is.
    on_round : function
        Called with the number of rounds so far.
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
    """Return offsets with which candidates get the samples that their known shares say; nothing if they are not known.

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
