"""The state of a fitted model: one frozen object, replaced as a whole by every change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.statistics import Statistics
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


_UNFITTED = FittedModel()


class FittedAttributes:
    """The fitted attributes of a classifier: read-only views of its state; a mixin."""

    _fitted = _UNFITTED

    arrays_ = FittedAttribute[NamedArrays]("arrays", "The arrays of the solution.")
    classes_ = FittedAttribute[LabelArray]("classes", "The labels of the training classes, sorted.")
    class_table_ = FittedAttribute[ClassTable]("class_table", "All known classes, the training classes first.")
    class_means_ = FittedAttribute[Float64Array]("class_means", "The mean sample of each training class, scaled.")
    feature_normalisation_ = FittedAttribute[Normalisation]("feature_normalisation", "The normalisation of samples.")
    class_normalisation_ = FittedAttribute[Normalisation]("class_normalisation", "The normalisation of class vectors.")
    calibration_ = FittedAttribute[dict[tuple[str, Any], float]]("calibration", "Biases by space and metric.")
    rejection_ = FittedAttribute[dict[tuple[str, Any, str], "Threshold"]](
        "rejection", "Thresholds by space, metric and group of candidates."
    )
    temperatures_ = FittedAttribute[dict[tuple[str, Any, str], float]](
        "temperatures", "Calibrated temperatures, in units of the spread of scores, by space, metric and group."
    )
    adaptation_constants_ = FittedAttribute[tuple[float, float]](
        "adaptation_constants", "The pull and the temperature of adaptation that calibrate chose."
    )
    imputed_values_ = FittedAttribute[Float64Array]("imputed_values", "The replacements of missing values.")
    column_names_ = FittedAttribute[tuple[str, ...]]("column_names", "The feature columns of the training table.")
    held_out_ = FittedAttribute[HeldOut]("held_out", "How test samples were drawn from the training table.")
    training_digest_ = FittedAttribute[SampleDigest | None](
        "digest", "The digest of all labelled samples so far; None where it is not known.", may_be_none=True
    )
    timings_ = FittedAttribute[dict[str, float]]("timings", "Seconds per stage of the fit; they add up to its time.")
    _trained_vectors = FittedAttribute[Float64Array]("trained_vectors", "The vectors of classes_.")

    @property
    def state(self) -> FittedModel:
        """The fitted state, which is frozen: a change of the model replaces it."""
        return self._fitted

    @state.setter
    def state(self, fitted: FittedModel) -> None:
        self._fitted = fitted

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self._columns.n_features

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the features, if the training samples were a DataFrame."""
        if self._columns.names is None:
            raise AttributeError("the training samples had no names of features")
        return self._columns.names

    @property
    def _columns(self) -> Columns:
        if self._fitted.columns is None:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet, so it has no features")
        return self._fitted.columns

    @property
    def statistics_(self) -> Statistics:
        """A copy of the statistics of all samples so far; their classes are sorted.

        They are those of classes_, and of classes that have got samples since without a solution.
        """
        fitted = self._fitted
        if fitted.collected is None:
            reason = HOW_LOST if fitted.is_solved else "it is not fitted yet"
            raise AttributeError(f"this model has no statistics: {reason}")
        return fitted.collected.statistics.copy()

    @property
    def unseen_classes_(self) -> LabelArray:
        """The classes that the model knows but was not trained on."""
        check_is_fitted(self)
        return self._fitted.unseen_classes

    def _array(self, name: str) -> npt.NDArray[Any]:
        """Return an array of the solution, for properties: a model that is not fitted does not have them."""
        if not self._fitted.is_solved:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet, so it has no {name}_")
        return self._fitted.arrays[name]


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
