"""Types of results. Accuracies are shares from 0 to 1."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
import sklearn

from jcmspl.evaluation.accuracy import harmonic_mean
from jcmspl.evaluation.probabilities import ProbabilityErrors, ReliabilityCurve
from jcmspl.io.json_text import plain
from jcmspl.support.version import __version__

#: The names of spaces in print: the paper's two directions of recognition.
SPACE_NAMES = {"semantic": "semantic (V→S)", "visual": "visual (S→V)"}


def space_name(space: str) -> str:
    """Return the name of a space in print."""
    return SPACE_NAMES.get(space, space)


@dataclass(frozen=True)
class Bootstrap:
    """Settings of the bootstrap: level of the intervals, number of draws, seed, and the units drawn."""

    level: float
    draws: int
    seed: int
    over: str = "classes"


@dataclass(frozen=True)
class Interval:
    """An interval of the bootstrap."""

    low: float
    high: float


@dataclass(frozen=True)
class HitRate:
    """hit@k: the share of samples whose class is among the k best; the mean over classes, and over samples."""

    per_class: float
    per_sample: float


@dataclass(frozen=True)
class Standard(HitRate):
    """Accuracy on samples of unseen classes among these, or of seen ones if no unseen are tested, and hit@k by k."""

    hits: dict[int, HitRate]


@dataclass(frozen=True)
class Accuracies:
    """Per-class accuracies of generalized recognition."""

    acc_seen: float
    acc_unseen: float
    harmonic_mean: float

    @classmethod
    def of(cls, acc_seen: Any, acc_unseen: Any) -> Accuracies:
        """Return two accuracies with their harmonic mean."""
        return Accuracies(float(acc_seen), float(acc_unseen), harmonic_mean(float(acc_seen), float(acc_unseen)))


@dataclass(frozen=True)
class BestOnTestData(Accuracies):
    """Generalized recognition with the best bias for the test data, which no model may use."""

    seen_bias: float


@dataclass(frozen=True)
class Generalized(Accuracies):
    """Per-class accuracies on seen and unseen samples among all classes, with the model's bias and without one.

    ``curve`` has points (accuracy on unseen classes, accuracy on seen classes), ``ausuc`` is the area under it.
    """

    seen_bias: float
    uncalibrated: Accuracies
    best_on_test_data: BestOnTestData
    ausuc: float
    curve: list[list[float]]

    @property
    def places(self) -> list[tuple[str, str, Accuracies]]:
        """The points of the curve in tables and plots: name in a table, name in a plot, accuracies."""
        best = self.best_on_test_data
        return [
            ("none", "no bias", self.uncalibrated),
            *([(f"{self.seen_bias:.3g} (the model's)", "the model", self)] if self.seen_bias else []),
            (f"{best.seen_bias:.3g} (best on test data)", "best harmonic mean", best),
        ]


@dataclass(frozen=True)
class OpenSet:
    """Detection of strangers: samples of unseen classes against the same samples with their class left out.

    ``auroc`` is the area under the ROC curve of the numbers that are compared with the rejection threshold of the model
    in this space, or of the best score if there is no threshold. ``lost`` and ``rejected`` are the shares of known
    samples and of strangers that it rejects, all None without one. ``kinds`` is for recognition among all classes: the
    shares of samples of seen classes, of unseen ones and of strangers that are named a seen class, an unseen class, or
    none.
    """

    auroc: float
    threshold: float | None = None
    lost: float | None = None
    rejected: float | None = None
    kinds: dict[str, list[float]] | None = None


@dataclass(frozen=True)
class Sets:
    """Prediction sets: coverage asked for, promised, and reached on test samples (the mean over classes), and size."""

    asked: float
    promised: float
    covered: float
    size: float
    promise: str


@dataclass(frozen=True)
class Trust:
    """Errors of probabilities on test samples among candidates ("seen", "unseen" or "all"), and prediction sets.

    ``is_calibrated``: whether the temperature was calibrated. ``sets`` are None if no sets were calibrated.
    """

    group: str
    n_candidates: int
    temperature: float
    is_calibrated: bool
    errors: ProbabilityErrors
    reliability: ReliabilityCurve
    sets: Sets | None = None


@dataclass(frozen=True)
class SpaceResult:
    """The results in one space.

    There are ``intervals`` of per_class and per_sample (standard), of acc_seen, acc_unseen and harmonic_mean
    (generalized, with the bias of the model) and, except in the first space, of per_class_difference, the gain in
    per_class over the first space.
    """

    space: str
    standard: Standard
    generalized: Generalized | None = None  #: None without test samples of seen classes
    transductive: bool = False  #: whether the model was adapted to the test samples, without their labels
    open_set: OpenSet | None = None  #: None if not requested
    intervals: dict[str, Interval] = field(default_factory=dict)

    @property
    def space_name(self) -> str:
        """The name of the space in print."""
        return space_name(self.space) + ", transductive" * self.transductive


@dataclass(frozen=True)
class Mistake:
    """The class most often predicted instead of another one, and its share of the samples of that."""

    predicted: str
    share: float


@dataclass(frozen=True)
class ClassRow:
    """One class of the test data: its kind ("seen" or "unseen") and its accuracy among tested and among all classes.

    ``taken_for`` is the commonest mistake among tested classes, or else among all classes; None without mistakes.
    """

    label: str
    kind: str
    samples: int
    standard: float | None
    generalized: float | None
    taken_for: Mistake | None = None
    coverage: float | None = None  # of prediction sets, among unseen classes or, of a seen class, among all
    set_size: float | None = None


@dataclass(frozen=True)
class Confusion:
    """A mistake: the number and the share of samples of a class that were predicted as another one."""

    true: str
    predicted: str
    samples: int
    share: float


@dataclass(frozen=True)
class Reason:
    """The part of an attribute in the lead of a class over another class."""

    attribute: str
    value: float


@dataclass(frozen=True)
class Candidate:
    """A candidate class and its score."""

    label: str
    score: float


@dataclass(frozen=True)
class Example:
    """A test sample of a tested class, by row and id in the data set, and its prediction among the tested classes.

    ``picture`` is the file that the id names. ``against`` is the class compared with the predicted one: the true class
    or, if the prediction is right, the second best. ``spoke_for`` and ``spoke_against`` are the attributes that
    contributed most for and against the predicted class; empty if the model cannot explain or attributes have no names.
    ``nearest`` has the best candidates then, the best first.
    """

    row: int
    id: str
    true: str
    predicted: str
    picture: str | None = None
    against: str | None = None
    spoke_for: list[Reason] = field(default_factory=list)
    spoke_against: list[Reason] = field(default_factory=list)
    nearest: list[Candidate] = field(default_factory=list)

    @property
    def right(self) -> bool:
        """Whether the prediction is right."""
        return self.true == self.predicted


@dataclass(frozen=True)
class ConfusionMatrix:
    """Counts of predictions: rows are true classes, columns predicted ones."""

    labels: list[str]
    counts: list[list[int]]

    def sorted(self) -> ConfusionMatrix:
        """Return the matrix with classes ordered by name."""
        return self.of(self.most_confused(len(self.labels)))

    def of(self, order: Sequence[int]) -> ConfusionMatrix:
        """Return the matrix of the classes with these numbers."""
        return ConfusionMatrix([self.labels[i] for i in order], [[self.counts[i][j] for j in order] for i in order])

    def most_confused(self, most: int) -> list[int]:
        """Return the numbers of all classes, or of the ``most`` most often confused ones, ordered by name."""
        chosen = set(range(len(self.labels)))
        if len(chosen) > most:
            chosen = set()
            for _, i, j in sorted((-count, i, j) for i, j, count in self.mistakes()):
                if len(chosen | {i, j}) <= most:
                    chosen |= {i, j}
        return sorted(chosen, key=lambda i: (self.labels[i], i))

    def mistakes(self) -> Iterator[tuple[int, int, int]]:
        """Yield (number of the true class, number of the predicted class, count) of each mistake."""
        return ((i, j, count) for i, row in enumerate(self.counts) for j, count in enumerate(row) if count and i != j)


@dataclass(frozen=True)
class Objective:
    """The objective after each iteration; empty for a model without a descent."""

    values: list[float]
    converged: bool


@dataclass(frozen=True)
class DatasetSummary:
    """The training and test data; samples: the number of samples in each part.

    The tested classes are the unseen ones or, if the test data have none, the seen ones.
    """

    name: str
    source: str
    n_features: int
    n_attributes: int
    n_seen_classes: int
    n_unseen_classes: int
    samples: dict[str, int]
    chance: float

    @property
    def tested(self) -> str:
        """The kind of the tested classes: "unseen", or "seen" if there are no unseen ones."""
        return "unseen" if self.n_unseen_classes else "seen"

    @property
    def n_tested_classes(self) -> int:
        """The number of tested classes, which are the candidates."""
        return self.n_unseen_classes or self.n_seen_classes


@dataclass(frozen=True)
class TrainedOn:
    """Numbers of test samples of seen and of unseen classes among the training samples of the model.

    They are estimates (``is_exact`` is False) if the model remembers only a part of its training samples.
    """

    test_seen: int
    test_unseen: int
    is_exact: bool = True

    def sentences(self, n_samples: Mapping[str, int]) -> list[str]:
        """Return a clause for each test part with training samples in it; n_samples are the sizes of the parts."""
        about = "" if self.is_exact else "about "
        of_kinds = (("test_seen", "seen", self.test_seen), ("test_unseen", "unseen", self.test_unseen))
        return [
            f"{about}{count:,} of {n_samples[part]:,} test samples of {kind} classes were in the training data"
            for part, kind, count in of_kinds
            if count
        ]


@dataclass(frozen=True)
class ModelSummary:
    """The model and its parameters; numbers that this kind of model does not have are None."""

    name: str
    parameters: dict[str, Any]
    n_concepts: int | None
    n_iter: int | None
    alignment: str | None = None  # the detected alignment of the encoders
    cosine_share: float | None = None  # of the score of new classes


def parameters_of(model: Any) -> dict[str, Any]:
    """Return the parameters of a model in types of JSON."""
    values = {name: plain(value) for name, value in model.get_params(deep=False).items()}
    return {
        name: value if value is None or isinstance(value, (str, int, float)) else repr(value)
        for name, value in values.items()
    }


def versions() -> dict[str, str]:
    """Return the versions of this package, of Python and of the libraries that results depend on."""
    libraries = {"numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__}
    return {"jcmspl": __version__, "python": platform.python_version(), **libraries}
