"""Adaptation: what became of the prototypes of classes that moved to where unlabelled samples are.

How they move is in :mod:`jcmspl.model.adaptation_rounds`, and whether to trust it in
:mod:`jcmspl.model.adaptation_check`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, LabelArray, some
from jcmspl.model.adaptation_check import Agreement
from jcmspl.model.adaptation_rounds import GUESS_WEIGHT as GUESS_WEIGHT
from jcmspl.model.adaptation_rounds import Moved
from jcmspl.model.scorers import LinearScorer
from jcmspl.support.arguments import Float64Array
from jcmspl.support.cards import Card, ShownAsCard
from jcmspl.support.shown import quoted, shown
from jcmspl.support.tables import Table, aligned

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
        """What a user should know of it, in sentences."""
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
        """Return the classes that moved most."""
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
