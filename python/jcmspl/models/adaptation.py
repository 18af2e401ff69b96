"""Adaptation: prototypes of classes that move to where unlabelled samples are.

Of each sample the model has a first guess, its scores for the candidates. In turn each sample is shared out among the
candidates by how near their prototypes are, the first guess having a say for good, and each prototype becomes the
direction of what the model predicts, of its labelled samples, and of its share of the unlabelled ones. All of it
happens among directions of normalised samples. The result is a linear layer, as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, LabelArray, some
from jcmspl.models.directions import Blocks, Directions
from jcmspl.models.directions_on_dask import DirectionsOnDask
from jcmspl.models.probabilities import softmax
from jcmspl.models.scorers import LinearScorer
from jcmspl.report.notebook import card
from jcmspl.report.text import Table, aligned
from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import unit_length
from jcmspl.support.shown import quoted, shown

#: How much the first guess counts beside the prototype, in every round and in the end.
GUESS_WEIGHT = 0.3
#: The most rounds; it ends earlier when no prototype moves by more than this.
MOST_ROUNDS, STANDSTILL = 15, 1e-4
# Prototypes whose cosine has come above this, and grown by as much as is left, have merged.
_TOGETHER = 0.9
# A class is lost that has less than this part of an even share of the samples. On three sets of image, audio and text
# embeddings, at their own splits, no class is where all candidates occur, and some always are where a third of them do.
_LOST = 0.1
_PAIRS = 1024  # prototypes that are compared with all others at a time
_MOST_PAIRS = 1000  # that have merged: more are not remembered
_MOST_SHOWN = 10  # rows of the table


class Moved(NamedTuple):
    """What becomes of a linear layer: its prototypes before and after, the new layer, and how it came about."""

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
    *,
    bias: Float64Array,
    labelled: Float64Array,
    pull: float,
    temperature: float,
    on_round: Callable[[int], None] = lambda done: None,
) -> Moved:
    """Move the prototypes of a linear layer of normalised samples, ``z @ weights[c] + offsets[c]``.

    Parameters
    ----------
    directions : Directions
        Of unlabelled samples.
    weights, offsets : ndarray of shape (n_candidates, n_features), and (n_candidates,)
    bias : ndarray of shape (n_candidates,)
        What is added to scores besides, and is no part of the new layer either.
    labelled : ndarray of shape (n_candidates,)
        How many labelled samples are in each prototype: it holds on to them.
    pull : float
        How much it holds on to the prediction, in even shares of the unlabelled samples.
    temperature : float
        Of the softmax by which samples are shared out.
    on_round : function
        Called with the number of rounds so far.
    """
    before = _unit(weights)
    anchors = (pull * directions.n_samples / len(weights) + labelled)[:, None] * before
    after, backing, rounds = before, np.zeros(len(weights)), 0
    # (1 + GUESS_WEIGHT) times the scores: prototypes and first guess are the same to begin with
    layer, shift = (1 + GUESS_WEIGHT) * weights, (1 + GUESS_WEIGHT) * (offsets + bias)
    while rounds < MOST_ROUNDS:
        sums, backing = directions.summed(_shared_out, layer, shift, temperature)
        last, after = after, _unit(anchors + sums, otherwise=before)
        layer, shift = after + GUESS_WEIGHT * weights, GUESS_WEIGHT * offsets + (1 + GUESS_WEIGHT) * bias
        rounds += 1
        on_round(rounds)
        if np.linalg.norm(after - last, axis=1).max() <= STANDSTILL:
            break
    total = 1 + GUESS_WEIGHT
    return Moved(before, after, layer / total, GUESS_WEIGHT * offsets / total, backing, rounds)


def _shared_out(
    blocks: Blocks, layer: Float64Array, shift: Float64Array, temperature: float
) -> tuple[Float64Array, Float64Array]:
    """Return the sum of the directions that each candidate has a share in, and the sum of the shares."""
    sums, backing = np.zeros(layer.shape), np.zeros(len(layer))
    single = layer.astype(np.float32).T
    for block, lengths in blocks:
        scores = (block @ single).astype(np.float64)
        if shift.any():
            scores += shift / lengths[:, None]
        shares = softmax(scores, temperature)
        backing += shares.sum(axis=0)
        sums += shares.astype(np.float32).T @ block
    return sums, backing


def _unit(rows: Float64Array, otherwise: Float64Array | None = None) -> Float64Array:
    """Return rows of length one; zeros, or the rows of another matrix, where there is nothing to scale."""
    scaled = unit_length(rows)
    return scaled if otherwise is None else np.where(rows.any(axis=1, keepdims=True), scaled, otherwise)


@dataclass(frozen=True, eq=False, repr=False)
class Adaptation:
    """What became of the candidates when they were adapted to unlabelled samples.

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
        Classes without labelled samples that have hardly any samples behind them.
    merged : tuple of pairs of labels
        Classes that were apart, and are so no longer; not more than a thousand pairs.
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

    @classmethod
    def of(cls, classes: ClassTable, result: Moved, labelled: Float64Array, n_samples: int) -> Adaptation:
        """Look at what became of prototypes."""
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
        )

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
        """What a user should know of it, in sentences."""
        n, n_candidates = self.n_samples, self.classes.n_classes
        if n < n_candidates:
            return [
                f"the model was adapted to {n:,} samples among {n_candidates:,} candidates: with fewer samples than "
                "candidates there is little to go by, so adapt to more samples, or name fewer candidates"
            ]
        found = []
        if self.lost:
            found.append(
                f"hardly any of the {n:,} samples are behind {_counted(self.lost, n_candidates)}: leave classes that "
                "do not occur among the samples out of the candidates; if they do occur, others have got their "
                "samples, and the model without adaptation may be better (reset_adaptation())"
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
        """Return what scores normalised samples, if all of these classes, as they are, have been adapted."""
        if any(label not in self.classes for label in table):
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
                *(f"note: {text}" for text in self.warnings),
            ]
        )

    def _rows(self) -> list[list[str]]:
        """Return the classes that moved most."""
        order = np.argsort(-self.moved, kind="stable")[:_MOST_SHOWN]
        names = list(self.classes)
        return [[shown(names[i], 48), f"{self.moved[i]:.1f}", f"{self.backing[i]:,.1f}"] for i in order]

    def __repr__(self) -> str:
        troubles = f"; {len(self.lost)} lost, {len(self.merged)} pairs merged" if self.lost or self.merged else ""
        return f"<Adaptation: {self._summary}{troubles}>"

    def _repr_html_(self) -> str:
        rows = self._rows()
        caption = f"The {len(rows)} classes that moved most" if len(rows) < self.classes.n_classes else ""
        content = Table(caption, ["class", "degrees", "samples behind it"], rows)
        notes = [f"Note: {text}." for text in self.warnings]
        return card("Adaptation", sentences=[f"{self._summary}."], tables=[content], notes=notes)

    @property
    def _summary(self) -> str:
        return (
            f"{self.classes.n_classes:,} classes adapted to {self.n_samples:,} samples in {self.rounds} rounds; they "
            f"moved by {self.moved.mean():.1f} degrees on average"
        )


def _counted(labels: Sequence[Label], n: int) -> str:
    """Return some labels, and how many of all they are where they are more."""
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
