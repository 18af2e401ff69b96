"""Explanations: which attributes spoke for a class and which against it, and how a class vector becomes scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, as_label_list
from jcmspl.support.arguments import Float64Array
from jcmspl.support.shown import Card, ShownAsCard, Table, shown

_MOST_NEAREST = 5


@dataclass(frozen=True, eq=False)
class Explanation(ShownAsCard):
    """Why a sample was named as it was.

    Printed, it shows the attributes that counted most. The dimensions of an embedding have no names: if no attribute
    has one, the nearest classes are shown, and an unnamed source of joined class vectors is shown as a whole.

    Attributes
    ----------
    label : label
        The class that is explained.
    score : float
        Its score.
    against : label or None
        The class it is compared with, and
    against_score : float or None
        the score of that.
    attributes : tuple of str
    contributions : ndarray of shape (n_attributes,)
        The part of each attribute in the score or, in a comparison, in the difference of the two scores. They sum up to
        it, but for the calibration of generalized recognition.
    nearest : tuple of (label, float)
        The candidates with the highest scores, the best first.
    is_named : bool
        Whether attributes have names, or class vectors are joined of several sources: if not, the nearest classes are
        shown.
    nameless : tuple of (str, int, int)
        Sources without names of attributes: name, first attribute and end.
    """

    label: Label
    score: float
    against: Label | None
    against_score: float | None
    attributes: tuple[str, ...] = field(repr=False)
    contributions: Float64Array = field(repr=False)
    nearest: tuple[tuple[Label, float], ...] = field(default=(), repr=False)
    is_named: bool = field(default=True, repr=False)
    nameless: tuple[tuple[str, int, int], ...] = field(default=(), repr=False)

    def top(self, n: int = 5) -> list[tuple[str, float]]:
        """Return the n parts that spoke most for the class: attributes, or a source without names of attributes."""
        parts = sorted(self.parts(), key=lambda part: -part[1])
        return [part for part in parts[:n] if part[1] > 0]

    def bottom(self, n: int = 5) -> list[tuple[str, float]]:
        """Return the n parts that spoke most against the class."""
        parts = sorted(self.parts(), key=lambda part: part[1])
        return [part for part in parts[:n] if part[1] < 0]

    def parts(self) -> list[tuple[str, float]]:
        """Return all parts of the score: each attribute, but a source without names of attributes as a whole."""
        pairs = list(zip(self.attributes, self.contributions.tolist(), strict=True))
        if not self.is_named:
            return pairs
        for source, first, end in reversed(self.nameless):
            pairs[first:end] = [(f"{source}: {end - first:,} dimensions", sum(value for _, value in pairs[first:end]))]
        return pairs

    def __str__(self) -> str:
        rival = "" if self.against is None else f" rather than {shown(self.against)} ({self.against_score:.3g})"
        lines = [f"{shown(self.label)} ({self.score:.3g}){rival}"]
        if not self.is_named:
            return f"{lines[0]}\n  nearest: " + ", ".join(f"{shown(name)} {score:.3g}" for name, score in self.nearest)
        for heading, pairs in (("for", self.top()), ("against", self.bottom())):
            parts = ", ".join(f"{shown(name)} {value:+.2g}" for name, value in pairs) or "nothing"
            lines.append(f"  {heading + ':':8} {parts}")
        return "\n".join(lines)

    def _card(self) -> Card:
        title = str(self).splitlines()[0]
        if not self.is_named:
            longest = max((abs(score) for _, score in self.nearest), default=0.0) or 1.0
            nearest: list[list[Any]] = [[str(label), f"{score:.3g}", score / longest] for label, score in self.nearest]
            return Card(title, tables=[Table("", ["nearest class", "score", ""], nearest)])
        top, bottom = self.top(), self.bottom()[::-1]
        both = [*top, *bottom]
        longest = max((abs(value) for _, value in both), default=0.0) or 1.0
        rows: list[list[Any]] = [[name, f"{value:+.3g}", value / longest] for name, value in both]
        if others := len(self.parts()) - len(rows):
            rest = self.contributions.sum() - sum(value for _, value in both)
            rows.insert(len(top), [f"({others} others together)", f"{rest:+.3g}", ""])
        return Card(title, tables=[Table("", ["attribute", "contribution", ""], rows)])


def attribute_parts(
    A: Float64Array, B: Float64Array, vectors: Float64Array, *, space: str, metric: str
) -> tuple[Float64Array, npt.NDArray[Any]]:
    """Split the scores of candidate classes over the attributes: into B'Ax times the first result, minus the second.

    In every space the inner product of a sample and a class is ``(B'Ax) . y``, a sum over attributes. The cosine
    divides it by the length of the class there; the euclidean score subtracts half the square of that length,
    ``|Fy|^2 = y . F'Fy``, again a sum over attributes.
    """
    mapped = vectors  # to the space of comparison and back: F'F y
    if space != "semantic":
        concepts = vectors @ B.T
        mapped = (concepts if space == "concept" else (concepts @ A) @ A.T) @ B
    squares = vectors * mapped
    lengths = np.sqrt(np.maximum(squares.sum(axis=1, keepdims=True), 0))
    factors = vectors / np.where(lengths > 0, lengths, 1) if metric == "cosine" else vectors
    return factors, squares / 2 if metric == "euclidean" else np.zeros(())


@dataclass(frozen=True, eq=False)
class Explainer:
    """Explains samples among the same candidates.

    ``bias`` is the part of the scores of candidates that no attribute has; ``factors`` and ``halves`` are those of
    :func:`attribute_parts`. ``shares`` are the parts of the scores that come from attributes, where ``rest`` names the
    other part.
    """

    table: ClassTable
    bias: Float64Array
    scores: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    readout: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    factors: Float64Array
    halves: npt.NDArray[Any]
    shares: Float64Array
    rest: str | None

    def __call__(self, X: npt.NDArray[Any], *, label: Label | None, against: Label | None) -> list[Explanation]:
        """Return the explanation of each sample."""
        explanations, labels = [], list(self.table)
        for scores, row in zip(self.scores(X), self.readout(X).astype(np.float64), strict=True):
            parts, names = row * self.factors - self.halves, self.table.attribute_names
            if self.rest is not None:
                parts, names = self.shares[:, None] * parts, (*names, self.rest)
                lacking = np.where(self.shares == 1, 0.0, scores - self.bias - parts.sum(axis=1))
                parts = np.column_stack([parts, lacking])
            order = np.argsort(-scores, kind="stable")
            this, rivals = self._compared(order, label, against)
            explanations.append(
                Explanation(
                    label=labels[this],
                    score=float(scores[this]),
                    against=labels[rivals[0]] if rivals else None,
                    against_score=float(scores[rivals[0]]) if rivals else None,
                    attributes=names,
                    contributions=parts[this] - sum(parts[rival] for rival in rivals),
                    nearest=tuple((labels[i], float(scores[i])) for i in order[:_MOST_NEAREST]),
                    is_named=self.table.is_named or len(self.table.nameless) > 1,
                    nameless=self.table.nameless,
                )
            )
        return explanations

    def _compared(self, order: npt.NDArray[Any], label: Label | None, against: Label | None) -> tuple[int, list[int]]:
        """Return the number of the class to explain, and of the one to compare it with, if there is one."""
        positions = self.table.positions
        this = int(order[0]) if label is None else int(positions(as_label_list([label], "label"), "label")[0])
        if isinstance(against, str) and against == "runner-up":
            return this, [int(i) for i in order[:2] if i != this][:1]
        return this, positions([] if against is None else as_label_list([against], "against"), "against").tolist()


@dataclass(frozen=True, eq=False)
class ClassMap:
    """The score of a class with the normalised vector v for the normalised sample z is ``(Qv) . (Pz)``, and more.

    P is ``of_samples``, Q ``of_classes`` and F ``lengths``; None stands for the identity. By ``metric`` the score is
    divided by ``|Fv|`` ("cosine", and 0 where that is 0), or ``|Fv|^2 / 2`` is taken off ("euclidean"), or neither
    ("dot").
    """

    of_samples: Float64Array
    of_classes: Float64Array | None
    lengths: Float64Array | None
    metric: str

    @classmethod
    def of_projections(cls, A: Float64Array, B: Float64Array, space: str, metric: str) -> ClassMap:
        """Return the map of two projections, of samples and of class vectors, in one of the three spaces."""
        if metric == "dot" or space == "semantic":
            lengths = None
        else:  # |A'Bv| is |RBv| for A' = QR
            lengths = B if space == "concept" else np.linalg.qr(A.T, mode="r") @ B
        if len(A) > B.shape[1]:
            return cls(B.T @ A, None, lengths, metric)
        return cls(A, B, lengths, metric)

    @property
    def size(self) -> int:
        """The count of its numbers."""
        return sum(part.size for part in (self.of_samples, self.of_classes, self.lengths) if part is not None)
