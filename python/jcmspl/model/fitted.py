"""The state of a fitted model: one frozen object, replaced as a whole by every change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics, LabelledSums
from jcmspl.data.labels import Label, LabelArray, some
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.reading import Columns
from jcmspl.data.sample_digest import SampleDigest
from jcmspl.datasets.splits import HeldOut
from jcmspl.model.parameters import NamedArrays
from jcmspl.support.arguments import Float64Array, as_real_array, require_finite
from jcmspl.support.names import SPACES

if TYPE_CHECKING:
    from jcmspl.model.adaptation import Adaptation
    from jcmspl.model.classifier import ZeroShotClassifier
    from jcmspl.model.prediction_sets import SetCalibration
    from jcmspl.model.threshold import Threshold

T = TypeVar("T")

# Why a fitted model has no statistics.
HOW_LOST = "it was saved without them, or lost them with a class that was removed (remove_classes)"

#: Parameters that replace a calibrated value when they are set.
REPLACES_CALIBRATED = frozenset({"seen_penalty", "adaptation_pull", "adaptation_temperature"})

# The value of a field that no fit has set yet. Fields are declared with the type that they have after a fit.
_NOT_YET: Any = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedModel:
    """All that a model has besides its parameters.

    A change of the model makes a new object (``dataclasses.replace``) and assigns it in one step, so that a thread that
    reads the old one is not disturbed, and a change that fails leaves no trace. Nothing in it is changed in place.
    """

    #: The solution of the method; None while samples have only been read (``partial_fit(refit=False)``).
    arrays: NamedArrays = _NOT_YET
    #: The training classes.
    classes: LabelArray = _NOT_YET
    #: All known classes, the training classes first.
    class_table: ClassTable = _NOT_YET
    #: The mean sample (scaled) and the vector of each training class.
    class_means: Float64Array = _NOT_YET
    trained_vectors: Float64Array = _NOT_YET
    feature_normalisation: Normalisation = _NOT_YET
    class_normalisation: Normalisation = _NOT_YET
    #: The root mean square length of normalised training samples.
    sample_length: float = _NOT_YET
    alignment: Alignment | None = None
    #: Seconds per stage of the fit.
    timings: dict[str, float] = _NOT_YET
    #: The class vectors the user gave; None where each class has a dimension of its own.
    given_table: ClassTable | None = None
    #: Statistics of all samples so far, unless they were lost (``HOW_LOST``).
    collected: LabelledStatistics | None = None
    #: The sum and number of all samples so far of each class.
    samples: LabelledSums = _NOT_YET
    #: The classes that may occur, if a call of partial_fit named them.
    declared: set[Label] | None = None
    #: Of all samples so far; None where it is not known.
    digest: SampleDigest | None = None
    columns: Columns = _NOT_YET
    #: Biases by (space, metric), and thresholds by (space, metric, group of candidates).
    calibration: dict[tuple[str, Any], float] = _NOT_YET
    rejection: dict[tuple[str, Any, str], Threshold] = _NOT_YET
    #: Temperatures in units of the spread of scores, and prediction sets, by the same.
    temperatures: dict[tuple[str, Any, str], float] = field(default_factory=dict)
    set_calibration: dict[tuple[str, Any, str], SetCalibration] = field(default_factory=dict)
    adaptation_constants: tuple[float, float] | None = None
    adaptation: Adaptation | None = None
    #: How the table of training samples was read: replacements of missing values, names of its columns, and the test
    #: samples that were drawn from it.
    imputed_values: Float64Array | None = None
    column_names: tuple[str, ...] | None = None
    held_out: HeldOut | None = None
    #: The warnings that were given once and are not repeated. Shared with later states, until one clears it.
    warned: set[str] = field(default_factory=set)
    #: Results for earlier calls (:func:`jcmspl.model.recogniser.cached`); copies and pickles start empty.
    cache: dict[str, Any] = field(init=False, default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "cache": {}}

    @property
    def is_solved(self) -> bool:
        """Whether the model can recognise."""
        return self.arrays is not None

    @property
    def unseen_classes(self) -> LabelArray:
        """The known classes without the training classes."""
        return self.class_table.labels[len(self.classes) :]

    @property
    def n_training_samples(self) -> float:
        """The number of samples of the training classes, or the sum of their weights."""
        return float(self.samples.without(self.unseen_classes.tolist()).counts.sum())

    @property
    def size(self) -> str:
        """The numbers of samples and classes so far, for the log."""
        return f"{self.samples.counts.sum():g} samples of {len(self.samples.labels)} classes"

    def recalibrated(self, biases: dict[tuple[str, Any], float], **changes: Any) -> FittedModel:
        """Return the state with other biases: thresholds and sets among all classes were for the old ones and go."""
        return replace(
            self,
            calibration=biases,
            rejection=_not_among_all(self.rejection),
            set_calibration=_not_among_all(self.set_calibration),
            warned=set(),
            **changes,
        )

    def without_calibrated(self, name: str) -> FittedModel:
        """Return the state after a parameter in REPLACES_CALIBRATED was set: without the value that it replaces."""
        return self.recalibrated({}) if name == "seen_penalty" else replace(self, adaptation_constants=None)


def _not_among_all(found: dict[tuple[str, Any, str], T]) -> dict[tuple[str, Any, str], T]:
    return {key: one for key, one in found.items() if key[2] != "all"}


class FittedAttribute(Generic[T]):
    """A public attribute that reads a field of the fitted state; there is none before a fit.

    Setting it replaces the state, as every change does. ``may_be_none``: None is a value of a fitted model.
    """

    def __init__(self, name: str, doc: str, *, may_be_none: bool = False) -> None:
        self._name, self._may_be_none = name, may_be_none
        self.__doc__ = doc

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.__name__ = name

    @overload
    def __get__(self, model: None, owner: Any) -> FittedAttribute[T]: ...
    @overload
    def __get__(self, model: Any, owner: Any) -> T: ...
    def __get__(self, model: Any, owner: Any) -> Any:
        if model is None:
            return self
        state: FittedModel = model._fitted
        value = getattr(state, self._name)
        if value is None and not (self._may_be_none and state.is_solved):
            kind, lacks = type(model).__name__, f"so it has no {self.__name__}"
            raise AttributeError(
                f"this {kind} is not fitted yet, {lacks}" if not state.is_solved else f"{kind}: {lacks}"
            )
        return value

    def __set__(self, model: Any, value: Any) -> None:
        model._fitted = replace(model._fitted, **{self._name: value})


def described(
    fitted: FittedModel, column_names: Any = None, imputed_values: Any = None, held_out: HeldOut | None = None
) -> FittedModel:
    """Return the state with facts about the table of training samples; those not given stay as they are."""
    m = fitted.columns.n_features
    facts: dict[str, Any] = {} if held_out is None else {"held_out": held_out}
    if column_names is not None:
        facts["column_names"] = tuple(checked_names(list(column_names), m))
    if imputed_values is not None:
        facts["imputed_values"] = as_real_array(imputed_values, "imputed_values", ndim=1).astype(np.float64)
        require_finite(facts["imputed_values"], "imputed_values")
        if len(facts["imputed_values"]) != m:
            raise ValueError(f"there are {len(facts['imputed_values'])} imputed_values, but {m} features")
    return replace(fitted, **facts)


def checked_names(names: Any, n_features: int) -> list[str]:
    """Return the names of features; refuse any that are not a list of so many texts."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the names of features are not a list of texts")
    if len(names) != n_features:
        raise ValueError(f"there are {len(names)} feature names, but {n_features} features")
    return names


def facts_of(model: ZeroShotClassifier) -> dict[str, object]:
    """Return the facts of a fit that a notebook shows; none before a fit."""
    fitted = model.state
    if not fitted.is_solved:
        return {}
    unseen = fitted.unseen_classes.tolist()
    facts: dict[str, object] = {
        "trained on": f"{len(fitted.classes):,} classes, {fitted.columns.n_features:,} features",
        "class vectors": "none" if fitted.given_table is None else f"{fitted.class_table.n_attributes:,} attributes",
        "knows besides": f"{len(unseen):,} unseen classes: {some(unseen)}" if unseen else "no unseen classes",
    }
    if hasattr(model, "n_iter_"):
        facts["iterations"] = f"{model.n_iter_}" + ("" if getattr(model, "converged_", True) else ", not converged")
    if fitted.adaptation is not None:
        adapted = fitted.adaptation
        facts["adapted to"] = f"{adapted.n_samples:,} samples among {adapted.classes.n_classes:,} classes" + (
            "" if adapted.is_trusted else ", but not used"
        )
    if model.own_space in SPACES:
        facts["compares in"] = f"the {model.own_space} space"
    if unseen:
        known = model._is_biased_in(model.own_space)
        facts["bias on seen classes"] = f"{model.seen_penalty_:.3g}" if known else "none: not calibrated"
    if fitted.timings:
        facts["fitted in"] = f"{sum(fitted.timings.values()):.2f} s"
    return facts | model._more_facts()
