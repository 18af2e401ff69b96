"""What a fitted model has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from jcmspl.core.statistics import Statistics
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics
from jcmspl.data.labelled_sums import LabelledSums
from jcmspl.data.labels import Label, LabelArray, some
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.sample_digest import SampleDigest
from jcmspl.datasets.splits import HeldOut
from jcmspl.model.adaptation import Adaptation
from jcmspl.model.cache import Remembered
from jcmspl.model.named_arrays import NamedArrays
from jcmspl.model.open_set import Threshold
from jcmspl.support.arguments import Float64Array
from jcmspl.support.state import reads
from jcmspl.support.warn import OneWarning

if TYPE_CHECKING:
    from typing_extensions import Self

# Why a fitted model has no statistics.
HOW_LOST = "it was saved without them, or lost them with a class that was removed (remove_classes)"


class Fitted:
    """What a fitted model has; a class of its own because the fields of a dataclass are parameters."""

    arrays_: NamedArrays
    classes_: LabelArray
    class_table_: ClassTable
    class_means_: Float64Array
    feature_normalisation_: Normalisation
    class_normalisation_: Normalisation
    calibration_: dict[tuple[str, Any], float]
    rejection_: dict[tuple[str, Any, str], Threshold]
    adaptation_constants_: tuple[float, float]
    adapted_: Adaptation
    imputed_values_: Float64Array  # what took the place of missing values, if somebody has set it
    column_names_: tuple[str, ...]  # of the features in the table of training samples, if somebody has set it
    training_digest_: SampleDigest | None  # of all labelled samples so far; None where it is not known
    held_out_: HeldOut  # how test samples were drawn from the training data; set by the command line
    timings_: dict[str, float]
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    _collected: LabelledStatistics | None
    _samples: LabelledSums  # of all samples so far, whether the model was trained on them or not
    _sample_length: float
    _alignment: Alignment | None  # of bilinear methods
    _trained_vectors: Float64Array  # those of classes_
    _table: ClassTable | None
    _declared: set[Label] | None
    _remembered: Remembered
    _competition: OneWarning  # of seen and unseen classes, uncalibrated

    @property
    def statistics_(self) -> Statistics:
        """A copy of the statistics of all samples so far; their classes are sorted.

        They are those of classes_, and of classes that have got samples since without a solution.
        """
        so_far: LabelledStatistics | None = getattr(self, "_collected", None)
        if so_far is None:
            reason = HOW_LOST if hasattr(self, "arrays_") else "it is not fitted yet"
            raise AttributeError(f"this model has no statistics: {reason}")
        return so_far.statistics.copy()

    @property
    @reads
    def unseen_classes_(self) -> LabelArray:
        """The classes that the model knows but was not trained on."""
        return self.class_table_.labels[len(self.classes_) :]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "arrays_")

    def __copy__(self) -> Self:
        """Return a copy with statistics of its own, which are added to in place."""
        twin: Self = object.__new__(type(self))
        twin.__dict__.update(vars(self))
        collected: LabelledStatistics | None = getattr(self, "_collected", None)
        if collected is not None:
            twin._collected = LabelledStatistics(collected.labels, collected.statistics.copy())
        return twin

    def _digest_so_far(self) -> SampleDigest | None:
        """Return the digest of all samples so far; files and pickles of older versions have none."""
        return getattr(self, "training_digest_", None)

    def _array(self, name: str) -> npt.NDArray[Any]:
        """Return one of the arrays of the fit: for properties, which a model that is not fitted does not have."""
        if not hasattr(self, "arrays_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet, so it has no {name}_")
        return self.arrays_[name]

    def _size_so_far(self) -> str:
        """Return what the model has learnt from, for the log."""
        samples = self._samples
        return f"{samples.counts.sum():g} samples of {len(samples.labels)} classes"

    def _facts(self) -> dict[str, object]:
        """Return what a notebook tells of the fit."""
        if not self.__sklearn_is_fitted__():
            return {}
        table, unseen = self.class_table_, self.unseen_classes_.tolist()
        facts: dict[str, object] = {
            "trained on": f"{len(self.classes_):,} classes, {self.n_features_in_:,} features",
            "class vectors": "none" if self._table is None else f"{table.n_attributes:,} attributes",
            "knows besides": f"{len(unseen):,} unseen classes: {some(unseen)}" if unseen else "no unseen classes",
        }
        if hasattr(self, "n_iter_"):
            facts["iterations"] = f"{self.n_iter_}" + ("" if getattr(self, "converged_", True) else ", not converged")
        if hasattr(self, "adapted_"):
            facts["adapted to"] = (
                f"{self.adapted_.n_samples:,} samples among {self.adapted_.classes.n_classes:,} classes"
                + ("" if self.adapted_.is_trusted else ", but not used")
            )
        return facts
