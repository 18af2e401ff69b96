"""Adaptation: the prototypes of classes after they moved to unlabelled samples, and whether to trust them.

Neighbouring samples should agree on their name at least as often as before. Most neighbours of a sample are of its
class, whatever its name is. An adaptation that finds the classes gives neighbours one name; one that shares a class out
among candidates that do not occur parts them. No label is needed to see that. Class vectors that are wrong cannot be
seen so: the names of whole classes are exchanged, and neighbours agree on the wrong one.

How prototypes move is in :mod:`jcmspl.model.adaptation_rounds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, LabelArray, some
from jcmspl.model.adaptation_rounds import GUESS_WEIGHT as GUESS_WEIGHT
from jcmspl.model.adaptation_rounds import Blocks, Directions, Moved
from jcmspl.model.recogniser import LinearScorer
from jcmspl.support.arguments import Float64Array
from jcmspl.support.shown import Card, ShownAsCard, Table, aligned, quoted, shown

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

    ``class_size`` is the size of the class that a usual sample is in.
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


# Prototypes whose cosine has come above this, and grown by as much as is left, have merged.
_TOGETHER = 0.9
# A class with under 10 % of n_samples / n_candidates counts as lost. On three sets of image, audio and text embeddings,
# at their own splits, one class of 115 does where all candidates occur, and some always do where a third occur.
_LOST = 0.1
_PAIRS = 1024  # prototypes that are compared with all others at a time
_MOST_PAIRS = 1000  # that have merged: more are not remembered
_MOST_SHOWN = 10  # rows of the table


@dataclass(frozen=True, eq=False, repr=False)
class Adaptation(ShownAsCard):
    """The candidates after they were adapted to unlabelled samples.

    Attributes
    ----------
    classes : ClassTable
        The candidates, with the vectors that they had.
    weights, offsets : ndarray of shape (n_candidates, n_features), and (n_candidates,)
        The linear layer that names normalised samples.
    moved : ndarray of shape (n_candidates,)
        By how many degrees each prototype has turned.
    backing : ndarray of shape (n_candidates,)
        How many samples are behind each: the sum of its shares in them.
    n_samples, rounds : int
        Samples of length zero after normalisation are not counted.
    lost : tuple of labels
        Classes without labelled samples that got almost no samples.
    merged : tuple of pairs of labels
        Classes that were apart, and are so no longer; not more than a thousand pairs.
    agreement : Agreement or None
        How often neighbouring samples have the same name, ``before`` and ``after``, and the standard ``error`` of the
        difference; None if it was not checked.
    is_trusted : bool
        Whether predictions use the adaptation. They do not where neighbours agree less often than before.
    """

    classes: ClassTable
    weights: Float64Array
    offsets: Float64Array
    moved: Float64Array
    backing: Float64Array
    n_samples: int
    rounds: int
    lost: tuple[Label, ...]
    merged: tuple[tuple[Label, Label], ...]
    agreement: Agreement | None = None

    @classmethod
    def of(
        cls,
        classes: ClassTable,
        result: Moved,
        labelled: Float64Array,
        n_samples: int,
        agreement: Agreement | None = None,
    ) -> Adaptation:
        """Compare the prototypes before and after."""
        names = list(classes)
        cosines = np.clip(np.sum(result.before * result.after, axis=1), -1, 1)
        few = (result.backing < _LOST * n_samples / len(names)) & (labelled == 0)
        return cls(
            classes,
            result.weights,
            result.offsets,
            np.degrees(np.arccos(cosines)),
            result.backing,
            n_samples,
            result.rounds,
            tuple(names[i] for i in np.flatnonzero(few)),
            tuple((names[i], names[j]) for i, j in _merged(result.before, result.after)),
            agreement,
        )

    @property
    def is_trusted(self) -> bool:
        """Whether predictions use the adaptation."""
        return self.agreement is None or not self.agreement.has_fallen

    @property
    def class_vectors(self) -> Float64Array:
        """The vectors that they had."""
        return self.classes.vectors

    @property
    def labels(self) -> LabelArray:
        """The labels of the candidates."""
        return self.classes.labels

    @property
    def warnings(self) -> list[str]:
        """Sentences that warn of a doubtful adaptation."""
        if not self.is_trusted:
            return [
                f"the model predicts as without the adaptation, which is not to be trusted: {self._agreement}; name "
                "fewer candidates or adapt to more samples, or use it all the same with adapt(..., check=False)"
            ]
        n, n_candidates = self.n_samples, self.classes.n_classes
        if n < n_candidates:
            return [
                f"the model was adapted to {n:,} samples among {n_candidates:,} candidates: with fewer samples than "
                "candidates there is little to go by, so adapt to more samples, or name fewer candidates"
            ]
        found = []
        if self.lost:
            found.append(
                f"almost none of the {n:,} samples were assigned to {_counted(self.lost, n_candidates)}: names are "
                "surer if classes that do not occur among the samples are not among the candidates; if they do occur, "
                "others have got their samples, and the model without adaptation may be better (reset_adaptation())"
            )
        if self.merged:
            pairs = ", ".join(f"{quoted(one)} and {quoted(two)}" for one, two in self.merged[:3])
            more = " and other pairs" if len(self.merged) > 3 else ""
            found.append(
                f"adapted to the samples, {pairs}{more} can hardly be told apart: check their class vectors, or use "
                "the model without adaptation (reset_adaptation())"
            )
        return found

    def scorer(self, table: ClassTable) -> LinearScorer | None:
        """Return the layer of these classes; None if some, as they are, were not adapted, or it is not trusted."""
        if not self.is_trusted or any(label not in self.classes for label in table):
            return None
        rows = self.classes.positions(table)
        if not np.array_equal(self.classes.vectors[rows], table.vectors):
            return None
        return LinearScorer(self.weights[rows], self.offsets[rows])

    def __str__(self) -> str:
        rows = self._rows()
        more = self.classes.n_classes - len(rows)
        return "\n".join(
            [
                self._summary + ":" * bool(rows),
                aligned(["class", "degrees", "samples behind it"], rows),
                *([f"  ... and {more:,} classes that moved less"] if more else []),
                *([self._agreement] if self.agreement is not None and self.is_trusted else []),
                *(f"note: {text}" for text in self.warnings),
            ]
        )

    def _rows(self) -> list[list[str]]:
        order = np.argsort(-self.moved, kind="stable")[:_MOST_SHOWN]
        names = list(self.classes)
        return [[shown(names[i], 48), f"{self.moved[i]:.1f}", f"{self.backing[i]:,.1f}"] for i in order]

    def __repr__(self) -> str:
        troubles = f"; {len(self.lost)} lost, {len(self.merged)} pairs merged" if self.lost or self.merged else ""
        troubles += "" if self.is_trusted else "; not used"
        return f"<Adaptation: {self._summary}{troubles}>"

    def _card(self) -> Card:
        rows = self._rows()
        caption = f"The {len(rows)} classes that moved most" if len(rows) < self.classes.n_classes else ""
        content = Table(caption, ["class", "degrees", "samples behind it"], rows)
        notes = [f"Note: {text}." for text in self.warnings]
        sentences = [f"{self._summary}."]
        if self.agreement is not None:
            sentences.append(f"{self._agreement[0].upper()}{self._agreement[1:]}.")
        return Card("Adaptation", sentences=sentences, tables=[content], notes=notes)

    @property
    def _summary(self) -> str:
        return (
            f"{self.classes.n_classes:,} classes adapted to {self.n_samples:,} samples in {self.rounds} rounds; they "
            f"moved by {self.moved.mean():.1f} degrees on average"
        )

    @property
    def _agreement(self) -> str:
        assert self.agreement is not None
        before, after, _ = (f"{100 * share:.1f} %" for share in self.agreement)
        return f"neighbouring samples have the same name in {after} of all cases, and had in {before} before"


def _counted(labels: Sequence[Label], n: int) -> str:
    return some(labels) if len(labels) <= 3 else f"{some(labels)} ({len(labels)} of {n:,} candidates)"


def _merged(before: Float64Array, after: Float64Array) -> list[tuple[int, int]]:
    """Return the pairs of prototypes that were apart and are so no longer."""
    found: list[tuple[int, int]] = []
    for first in range(0, len(after), _PAIRS):
        rows = slice(first, first + _PAIRS)
        now, then = after[rows] @ after[first:].T, before[rows] @ before[first:].T
        pairs = np.argwhere(np.triu((now > _TOGETHER) & (now - then > 1 - _TOGETHER), 1))
        found += [(first + int(i), first + int(j)) for i, j in pairs[: _MOST_PAIRS - len(found)]]
    return found
