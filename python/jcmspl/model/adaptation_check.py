"""Whether an adaptation is to be trusted: neighbouring samples should agree on their name at least as often as before.

Most neighbours of a sample are of its class, whatever its name is. An adaptation that finds the classes gives
neighbours one name; one that shares a class out among candidates that do not occur parts them. No label is needed to
see that. Class vectors that are wrong cannot be seen so: the names of whole classes are exchanged, and neighbours agree
on the wrong one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.model.directions import Blocks, Directions
from jcmspl.model.scorers import LinearScorer
from jcmspl.support.arguments import Float64Array

# Samples whose neighbours are looked for, among all samples, and the neighbours of each.
_ASKED, _NEIGHBOURS = 1024, 10
# Neighbours of samples in smaller classes are of other classes, and should have other names.
_LEAST_CLASS = 3
# A sample and its copies are no neighbours: their names agree in any case.
_COPY = 1 - 1e-5
_NONE = -2.0  # below any cosine
# By how many standard errors the agreement must fall before the adaptation is not trusted.
_ERRORS = 2.0


class Agreement(NamedTuple):
    """The share of neighbours that have a sample's own name, before and after, and the standard error of its change."""

    before: float
    after: float
    error: float

    @property
    def has_fallen(self) -> bool:
        """Whether neighbours agree less than before, by more than chance."""
        return self.before - self.after > _ERRORS * self.error


def neighbour_agreement(
    directions: Directions, before: LinearScorer, after: LinearScorer, class_size: float
) -> Agreement | None:
    """Compare the names of neighbouring samples by two linear layers; None where samples have too few neighbours.

    Parameters
    ----------
    directions : Directions
    before, after : LinearScorer
    class_size : float
        The size of the class that a usual sample is in.
    """
    if class_size < _LEAST_CLASS:
        return None
    layers = tuple((one.weights.astype(np.float32).T, one.offsets) for one in (before, after))
    queries, lengths = directions.every(max(-(-directions.n_samples // _ASKED), 1))
    found = directions.combined(_nearest, _nearer, queries, layers)
    is_neighbour = found[0] > _NONE
    counts = is_neighbour.sum(axis=1)
    shares = [
        ((own[:, None] == names) & is_neighbour).sum(axis=1)[counts > 0] / counts[counts > 0]
        for own, names in zip(_names(queries, lengths, layers), found[1:], strict=True)
    ]
    n = len(shares[0])
    if n < 2:
        return None
    error = float((shares[1] - shares[0]).std(ddof=1) / np.sqrt(n))
    return Agreement(float(shares[0].mean()), float(shares[1].mean()), error)


_Layers = tuple[tuple[npt.NDArray[np.float32], Float64Array], ...]
#: The cosines of the nearest samples with each of some others, and their names by each layer.
_Neighbours = tuple[npt.NDArray[Any], ...]


def _nearest(blocks: Blocks, queries: npt.NDArray[np.float32], layers: _Layers) -> _Neighbours:
    """Return the nearest samples of each of some others."""
    shape = (len(queries), _NEIGHBOURS)
    best: _Neighbours = (np.full(shape, _NONE, dtype=np.float32), *(np.zeros(shape, dtype=np.int64) for _ in layers))
    for block, lengths in blocks:
        cosines = queries @ block.T
        cosines[cosines > _COPY] = _NONE
        near = _largest(cosines)  # first, so that little is put together
        names = [own[near] for own in _names(block, lengths, layers)]
        best = _nearer(best, (np.take_along_axis(cosines, near, axis=1), *names))
    return best


def _nearer(ones: _Neighbours, others: _Neighbours) -> _Neighbours:
    """Return the nearest of two lots of neighbours."""
    kept = _largest(np.hstack([ones[0], others[0]]))
    return tuple(
        np.take_along_axis(np.hstack([one, other]), kept, axis=1) for one, other in zip(ones, others, strict=True)
    )


def _largest(cosines: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Return where the largest values of each row are, as many as there are neighbours, or all."""
    k = min(_NEIGHBOURS, cosines.shape[1])
    return np.argpartition(cosines, -k, axis=1)[:, -k:]


def _names(block: npt.NDArray[np.float32], lengths: Float64Array, layers: _Layers) -> list[npt.NDArray[np.int64]]:
    """Return the number of the best candidate of each sample by each layer."""
    return [(block @ weights + offsets / lengths[:, None]).argmax(axis=1) for weights, offsets in layers]
