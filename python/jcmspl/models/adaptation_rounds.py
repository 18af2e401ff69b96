"""The rounds of an adaptation: samples are shared out among prototypes, and prototypes move to their shares.

Of each sample the model has a first guess, its scores for the candidates. In turn each sample is shared out among the
candidates by how near their prototypes are, the first guess having a say in every round, and each prototype becomes the
direction of the prediction, of its labelled samples, and of its share of the unlabelled ones. All of it happens among
directions of normalised samples. The result is a linear layer, as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.models.directions import Blocks, Directions
from jcmspl.models.directions_on_dask import DirectionsOnDask
from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import unit_length

#: How much the first guess counts beside the prototype, in every round and in the end.
GUESS_WEIGHT = 0.3
#: The most rounds; the last one is the first in which no prototype moves by more than STANDSTILL.
MOST_ROUNDS, STANDSTILL = 15, 1e-4
# A class of more samples pulls no harder: beside many samples the prediction has little to add.
_LARGE = 17
# Below this a float32 has no inverse.
_TINY = 1e-30


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


def moved_to_samples(
    directions: Directions | DirectionsOnDask,
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
    handicap = np.zeros(len(weights))  # what makes the shares in the samples those that are known
    # (1 + GUESS_WEIGHT) times the scores: prototypes and first guess are the same to begin with
    layer, guess = (1 + GUESS_WEIGHT) * weights, (1 + GUESS_WEIGHT) * offsets
    while rounds < MOST_ROUNDS:
        shift = guess + (1 + GUESS_WEIGHT) * bias + handicap
        sums, backing, inverse = directions.summed(_shared_out, layer, shift, settings.temperature)
        if settings.shares is not None:
            handicap = handicap + _correction(settings, backing, inverse)
        anchor = _anchor(settings.pull, backing) + labelled
        last, after = after, _unit(anchor[:, None] * before + sums, otherwise=before)
        layer, guess = after + GUESS_WEIGHT * weights, GUESS_WEIGHT * offsets
        rounds += 1
        on_round(rounds)
        if np.linalg.norm(after - last, axis=1).max() <= STANDSTILL:
            break
    total = 1 + GUESS_WEIGHT
    return Moved(before, after, layer / total, (GUESS_WEIGHT * offsets + handicap) / total, backing, rounds)


def _anchor(pull: float, backing: Float64Array) -> float:
    """Return the number of samples that a prediction counts as.

    Candidates that do not occur must not count: the mean of the class sizes over samples leaves them out, where the
    mean over candidates would not.
    """
    n_samples = backing.sum()
    return pull * min(_LARGE, float(backing @ backing) / n_samples) if n_samples else pull


def _correction(settings: Settings, backing: Float64Array, inverse: Float64Array) -> Float64Array:
    """Return the step of the offsets towards known shares: the scaling of columns of Sinkhorn's algorithm."""
    assert settings.shares is not None
    n_samples = backing.sum()
    if not n_samples:
        return np.zeros(len(backing))
    wanted = np.maximum(n_samples * settings.shares, _TINY)
    mean_length = n_samples / float(inverse[0])  # offsets count for more the shorter a sample is
    return np.asarray(settings.temperature * mean_length * np.log(wanted / np.maximum(backing, _TINY)))


def _shared_out(
    blocks: Blocks, layer: Float64Array, shift: Float64Array, temperature: float
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return the sums of the directions and of the shares of each candidate, and the sum of the inverse lengths."""
    sums, backing, total = np.zeros(layer.shape), np.zeros(len(layer)), 0.0
    weights, offsets = layer.astype(np.float32).T, shift.astype(np.float32)
    for block, lengths in blocks:
        inverse = np.minimum(1 / lengths, 1 / _TINY)
        scores = block @ weights
        if shift.any():
            scores += inverse.astype(np.float32)[:, None] * offsets
        shares = _softmax_in_place(scores, temperature)
        backing += shares.sum(axis=0, dtype=np.float64)
        sums += shares.T @ block
        total += float(inverse.sum())
    return sums, backing, np.array([total])


def _softmax_in_place(scores: npt.NDArray[np.float32], temperature: float) -> npt.NDArray[np.float32]:
    """Turn scores into shares that add up to one in each row.

    In float32 and in one array: the softmax would cost as much as the products otherwise.
    """
    scores -= scores.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        scores /= np.float32(max(temperature, _TINY))
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def _unit(rows: Float64Array, otherwise: Float64Array | None = None) -> Float64Array:
    """Return rows of length one; zeros, or the rows of another matrix, where there is nothing to scale."""
    scaled = unit_length(rows)
    return scaled if otherwise is None else np.where(rows.any(axis=1, keepdims=True), scaled, otherwise)
