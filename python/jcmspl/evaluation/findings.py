"""What an evaluation finds, as types. Accuracies are shares from 0 to 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: The paper's two directions of recognition, as they are called in print.
SPACE_NAMES = {"semantic": "semantic (V→S)", "visual": "visual (S→V)"}


def space_name(space: str) -> str:
    """Return how a space is called in print."""
    return SPACE_NAMES.get(space, space)


@dataclass(frozen=True)
class Bootstrap:
    """How intervals were found: the share of all draws that lies in them, how many draws, and of what."""

    level: float
    draws: int
    seed: int
    over: str = "classes"


@dataclass(frozen=True)
class Interval:
    """Where a figure lies in most draws of the bootstrap."""

    low: float
    high: float


@dataclass(frozen=True)
class HitRate:
    """How often the right class was among the k that were named: the mean over classes, and over samples."""

    per_class: float
    per_sample: float


@dataclass(frozen=True)
class Standard(HitRate):
    """Recognition of unseen samples among unseen classes; hits: hit@k by k."""

    hits: dict[int, HitRate]


@dataclass(frozen=True)
class Accuracies:
    """Generalized recognition, per class."""

    acc_seen: float
    acc_unseen: float
    harmonic_mean: float


@dataclass(frozen=True)
class BestOnTestData(Accuracies):
    """Generalized recognition with the bias that suits the test data best, which no model may use."""

    seen_bias: float


@dataclass(frozen=True)
class Generalized(Accuracies):
    """Recognition of seen and unseen samples among all classes, per class; accuracies with the bias of the model.

    Attributes
    ----------
    seen_bias : float
        That bias.
    uncalibrated : Accuracies
        Without a bias.
    best_on_test_data : BestOnTestData
    ausuc : float
        The area under the curve.
    curve : list of [float, float]
        Points (accuracy on unseen classes, accuracy on seen classes).
    """

    seen_bias: float
    uncalibrated: Accuracies
    best_on_test_data: BestOnTestData
    ausuc: float
    curve: list[list[float]]

    @property
    def places(self) -> list[tuple[str, str, Accuracies]]:
        """What is told of the curve: each with its name in a table, its name in a plot, and its accuracies."""
        best = self.best_on_test_data
        return [
            ("none", "no bias", self.uncalibrated),
            *([(f"{self.seen_bias:.3g} (the model's)", "the model", self)] if self.seen_bias else []),
            (f"{best.seen_bias:.3g} (best on test data)", "best harmonic mean", best),
        ]


@dataclass(frozen=True)
class OpenSet:
    """How well samples of unseen classes are told from strangers: the same samples, with their class left out.

    Attributes
    ----------
    auroc : float
        The area under the ROC curve of the best score, of known samples against strangers.
    threshold : float or None
        The least score of a name that the model has chosen for this space, on training classes; None: none.
    lost, rejected : float or None
        The shares of known samples and of strangers that score less.
    """

    auroc: float
    threshold: float | None = None
    lost: float | None = None
    rejected: float | None = None


@dataclass(frozen=True)
class SpaceResult:
    """What was found in one space; generalized is None without test samples of seen classes, open_set if not asked for.

    Transductive: after the model was adapted to the test samples, without their labels, among the candidates of each.
    Intervals: of per_class and per_sample of standard recognition, of acc_seen, acc_unseen and harmonic_mean of
    generalized recognition with the bias of the model, and, but for the first space, of per_class_difference, by which
    its per_class is above that of the first; those that there are.
    """

    space: str
    standard: Standard
    generalized: Generalized | None = None
    transductive: bool = False
    open_set: OpenSet | None = None
    intervals: dict[str, Interval] = field(default_factory=dict)

    @property
    def space_name(self) -> str:
        """How the space is called in print."""
        return space_name(self.space) + ", transductive" * self.transductive


@dataclass(frozen=True)
class ClassRow:
    """One class of the test data: its kind ("seen" or "unseen") and its accuracy among unseen and among all classes."""

    label: str
    kind: str
    samples: int
    standard: float | None
    generalized: float | None


@dataclass(frozen=True)
class Confusion:
    """A mistake: how many samples of a class, and which share of it, were taken for another one."""

    true: str
    predicted: str
    samples: int
    share: float


@dataclass(frozen=True)
class Reason:
    """The part of an attribute in the lead of a class over another one."""

    attribute: str
    value: float


@dataclass(frozen=True)
class Example:
    """A test sample of an unseen class, and what it was taken for among the unseen classes.

    Attributes
    ----------
    row : int
        Of the data set.
    id : str
        What the data set calls it.
    true, predicted : str
    picture : str or None
        The file that the id names, if it is that of a picture.
    against : str or None
        The class that the predicted one is compared with: the true one or, if that was predicted, the second best.
    spoke_for, spoke_against : list of Reason
        Attributes that spoke most for the predicted class, and against it; none if the model cannot tell.
    """

    row: int
    id: str
    true: str
    predicted: str
    picture: str | None = None
    against: str | None = None
    spoke_for: list[Reason] = field(default_factory=list)
    spoke_against: list[Reason] = field(default_factory=list)

    @property
    def right(self) -> bool:
        """Whether it was recognised."""
        return self.true == self.predicted


@dataclass(frozen=True)
class ConfusionMatrix:
    """How often each class was taken for each other: rows are true classes."""

    labels: list[str]
    counts: list[list[int]]

    def sorted(self) -> ConfusionMatrix:
        """Return the matrix with classes in the order of their names."""
        return self.of(self.most_confused(len(self.labels)))

    def of(self, order: Sequence[int]) -> ConfusionMatrix:
        """Return the matrix of some classes, given by their places."""
        return ConfusionMatrix([self.labels[i] for i in order], [[self.counts[i][j] for j in order] for i in order])

    def most_confused(self, most: int) -> list[int]:
        """Return the places of so many classes at most, in the order of names: all, or those most often confused."""
        chosen = set(range(len(self.labels)))
        if len(chosen) > most:
            chosen = set()
            for _, i, j in sorted((-count, i, j) for i, j, count in self.mistakes()):
                if len(chosen | {i, j}) <= most:
                    chosen |= {i, j}
        return sorted(chosen, key=lambda i: (self.labels[i], i))

    def mistakes(self) -> Iterator[tuple[int, int, int]]:
        """Give the places of a true class and of what it was taken for, and how often."""
        return ((i, j, count) for i, row in enumerate(self.counts) for j, count in enumerate(row) if count and i != j)


@dataclass(frozen=True)
class Objective:
    """The objective after each iteration; none for a model that is not found by a descent."""

    values: list[float]
    converged: bool


@dataclass(frozen=True)
class DatasetSummary:
    """What the model was trained and tested on; samples: their number in each part."""

    name: str
    source: str
    n_features: int
    n_attributes: int
    n_seen_classes: int
    n_unseen_classes: int
    samples: dict[str, int]
    chance: float


@dataclass(frozen=True)
class TrainedOn:
    """How many test samples of seen and of unseen classes are among the labelled samples that the model was given.

    Not exact: about so many, for the model knows a part of its training samples alone.
    """

    test_seen: int
    test_unseen: int
    is_exact: bool = True

    def sentences(self, n_samples: Mapping[str, int]) -> list[str]:
        """Return a clause for each test part, of so many samples, that has training samples in it."""
        about = "" if self.is_exact else "about "
        of_kinds = (("test_seen", "seen", self.test_seen), ("test_unseen", "unseen", self.test_unseen))
        return [
            f"{about}{count:,} of {n_samples[part]:,} test samples of {kind} classes were in the training data"
            for part, kind, count in of_kinds
            if count
        ]


@dataclass(frozen=True)
class ModelSummary:
    """The model and its parameters; numbers that its kind of model does not have are None."""

    name: str
    parameters: dict[str, Any]
    n_concepts: int | None
    n_iter: int | None
    alignment: str | None = None  # what was found of encoders that can be compared
    cosine_share: float | None = None  # of the score of new classes
