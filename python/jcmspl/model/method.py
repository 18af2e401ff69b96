"""Methods: their common parameters, the facts that they declare, and the steps that they implement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from jcmspl.core.statistics import Statistics
from jcmspl.data.alignment import Alignment
from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import check_class_weight
from jcmspl.data.normalisation import SHRINKAGE, parse_feature_normalisation, parse_normalisation
from jcmspl.data.reading import SampleReader
from jcmspl.data.sources import Sources, check_source_shares, column_scale
from jcmspl.data.training import OfClasses, OfSamples, TrainingData
from jcmspl.model import registry
from jcmspl.model.explanation import ClassMap
from jcmspl.model.fitted import FittedAttributes
from jcmspl.model.parameters import (
    FLAG,
    NUMBER,
    OPTIONAL_COUNT,
    POSITIVE,
    Check,
    NamedArrays,
    Shape,
    as_temperature,
    checked_by,
    one_of_names,
)
from jcmspl.model.prototypes import Evidence
from jcmspl.model.recogniser import Scorer
from jcmspl.support.arguments import Float64Array
from jcmspl.support.calls import alias
from jcmspl.support.names import KERNELS

if TYPE_CHECKING:
    from typing_extensions import Self

    from jcmspl.model.adapting import AdaptationTrials
    from jcmspl.model.learning import Monitor
    from jcmspl.model.prediction_sets import SetCalibration

    _State = FittedAttributes
else:
    _State = object  # a mixin before FittedAttributes


@dataclass(kw_only=True, eq=False, repr=False)
class Method(_State):
    """A method of recognition, as the classifier sees it; a mixin.

    A method says how it learns in two steps, so that a search over its parameters can share the first:
    :meth:`_prepare` does all that depends on the data alone, and :meth:`_fit` the rest. :meth:`_scorer` says how it
    compares samples with candidate classes.
    """

    feature_normalisation: str = field(default="sample_l2+center", metadata=checked_by(parse_feature_normalisation))
    class_normalisation: str = field(default="sample_l2+center", metadata=checked_by(parse_normalisation))
    whitening_shrinkage: float = field(default=SHRINKAGE, metadata=POSITIVE)
    whitening_components: Any = field(default=None, metadata=OPTIONAL_COUNT)
    class_kernel: str = field(default="linear", metadata=one_of_names(KERNELS))
    kernel_width: float = field(default=1.0, metadata=POSITIVE)
    source_shares: Any = field(default=None, metadata=checked_by(check_source_shares))
    class_weight: Any = field(default=None, metadata=checked_by(check_class_weight))
    progress: bool = field(default=True, metadata=FLAG)
    seen_penalty: float = field(default=0.0, metadata=NUMBER)
    temperature: Any = field(default="auto", metadata=checked_by(as_temperature))

    # Facts that a method states about itself.
    #: Where the method was published: a class with its own PAPER is a method, and registered.
    PAPER: ClassVar[str]
    #: The parameters of the example in the docstring, which is otherwise the same for all methods.
    EXAMPLE: ClassVar[str | None] = None
    #: The kind of method; None: the class that it derives from tells.
    KIND: ClassVar[str | None] = None
    #: The data that the method reads: "statistics" of the samples, or the "samples" themselves.
    NEEDS: ClassVar[str] = "statistics"
    #: Whether a method that reads samples reads their weights too, ``training.sample_weights``.
    READS_WEIGHTS: ClassVar[bool] = False
    #: Whether the method treats each axis separately, as those with a variance per axis do, so that a rotation of the
    #: samples changes its answers: whitening is then the symmetric one (:mod:`jcmspl.data.whitening`).
    PER_AXIS: ClassVar[bool] = False
    #: Whether the method trains a neural network, so that it is compared only where it is named.
    NETWORK: ClassVar[bool] = False
    #: The type of the numbers in ARRAYS.
    PRECISION: ClassVar[type[np.floating[Any]]] = np.float64
    #: The duration of a fit in units of ridge regression, about; None: by what it reads. The cheap are compared first.
    COST: ClassVar[float | None] = None
    #: The arrays of the solution and their shapes (:mod:`jcmspl.model.parameters`).
    ARRAYS: ClassVar[dict[str, Shape]] = {}
    #: Those that files of earlier versions lack: a model from such a file has zeros for them.
    ADDED_ARRAYS: ClassVar[tuple[str, ...]] = ()
    #: The spaces in which the method can compare samples and classes.
    SPACES: ClassVar[tuple[str, ...]] = ("own",)
    #: Whether scores are one linear layer, unless the metric is a function.
    LINEAR: ClassVar[bool] = False
    #: Parameters that say how samples and classes are compared: one fit serves all of their values.
    COMPARISON: ClassVar[tuple[str, ...]] = ()
    #: Those of them that a fit looks at as well, so that a search fits each of their values.
    FITTED_FOR: ClassVar[tuple[str, ...]] = ()
    #: The default grid of a search: a few values of each parameter.
    GRID: ClassVar[dict[str, tuple[Any, ...]]] = {}
    #: Whether large weights make the simpler model, as penalties do, or small ones, as those of further terms do.
    HEAVY_IS_SIMPLE: ClassVar[bool] = True
    #: Reduced forms of the method that have a name: the parameters that make them.
    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "PAPER" in vars(cls):
            registry.register(cls)

    # Hooks: what a method implements, or may change.
    def _prepare(self, training: TrainingData) -> Any:
        """Return the data that fits with any parameters to the same normalised samples share."""
        return training

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        """Return the arrays of the solution, ARRAYS."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it learns")

    def _scorer(self, class_vectors: Float64Array, space: str) -> Scorer:
        """Return the scorer of normalised samples for candidate classes with the given normalised vectors."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it recognises")

    def _scorer_of(self, table: ClassTable, space: str) -> Scorer:
        """Return the scorer of normalised samples for candidate classes; a kind of model may use more than vectors."""
        return self._scorer(np.ascontiguousarray(self.class_normalisation_.of_rows(table.vectors)), space)

    def _vectors_of_none(self, statistics: Statistics) -> Float64Array:
        """Return class vectors where the user gives none: by default each class has a dimension of its own."""
        return np.eye(statistics.n_classes)

    def _check_parameters(self) -> None:
        """Refuse bad parameters before any data is read."""
        check_parameters(self)

    def _warn_of_alignment(self, alignment: Alignment, raw: Statistics) -> None:
        """Warn of class vectors that could be compared with samples, or cannot, given statistics of raw samples."""

    def _warn_of_result(self) -> None:
        """Warn of the result of a fit whose array "converged" is not 1, or that has no such array."""

    def _class_map(self, space: str) -> ClassMap | None:
        """Return the map of the normalised vector of a new class to its scores, if the method has one."""
        return None

    def _makes_up_for_seen(self, table: ClassTable, space: str) -> bool:
        """Whether the scores of these candidates prefer no seen class, so that no bias is to be subtracted."""
        return False

    def _is_biased_in(self, space: str) -> bool:
        """Whether a bias was calibrated, or given, so that predictions need no warning."""
        return (space, self.own_metric) in self._fitted.calibration or self.seen_penalty != 0

    def _adaptation_trials(self) -> AdaptationTrials:
        """Return the search for the constants of an adaptation, for a model that can be adapted."""
        raise TypeError(f"a {type(self).__name__} cannot be adapted to samples: leave adaptation=True out")

    def _for_other_classes(self) -> Self:
        """Return an unfitted copy that can be fitted to other classes than these."""
        twin: Self = clone(self)
        return twin

    def _warm_start(self, prepared: Any, class_means: Float64Array) -> dict[str, Any]:
        """Return parameters that start other fits to the same data near the result of a fit, if there are any."""
        return {}

    def _more_facts(self) -> dict[str, object]:
        """Return facts of the fit that a kind of model shows in a notebook besides those of all models."""
        return {}

    @property
    def _per_axis(self) -> bool:
        """PER_AXIS with the present parameters."""
        return self.PER_AXIS

    @property
    def _needs(self) -> str:
        """NEEDS with the present parameters, for methods whose NEEDS is that of the default parameters."""
        return self.NEEDS

    # For the classifier, its parts, and later layers of the package.
    @property
    def own_space(self) -> str:
        """The space in which the model compares: its parameter ``space``, if it has one."""
        return str(getattr(self, "space", self.SPACES[0]))

    @property
    def own_metric(self) -> Any:
        """The metric by which the model compares: its parameter ``metric``, if it has one."""
        return getattr(self, "metric", None)

    @property
    def needs(self) -> str:
        """The data that the method reads with its present parameters: "statistics" or "samples"."""
        return self._needs

    def normalisations(self, sources: Sources | None) -> tuple[OfSamples, OfClasses]:
        """Return how samples, and class vectors of these sources, are normalised."""
        columns = None if self.source_shares is None else column_scale(sources, self.source_shares)
        whitening = self.whitening_shrinkage, self._per_axis, self.whitening_components
        of_classes = OfClasses(self.class_normalisation, self.class_kernel, self.kernel_width, columns)
        return OfSamples(self.feature_normalisation, *whitening), of_classes

    @property
    def treats_axes_separately(self) -> bool:
        """Whether the method, with its present parameters, treats each axis separately: PER_AXIS."""
        return self._per_axis

    @property
    def reader(self) -> SampleReader:
        """The reader of samples, by the parameters of the model."""
        return SampleReader(type(self).__name__, self._needs, self.READS_WEIGHTS, self.class_weight)

    def bias_in(self, space: str) -> float:
        """Return the bias on seen classes in a space: the calibrated one, or else ``seen_penalty``."""
        if self._fitted.calibration is None:
            raise AttributeError("the model is not fitted yet")
        return float(self._fitted.calibration.get((space, self.own_metric), self.seen_penalty))

    @property
    def seen_penalty_(self) -> float:
        """The number that is subtracted from scores of training classes, as calibrated or as given."""
        return self.bias_in(self.own_space)

    seen_bias_ = alias("seen_penalty_")

    @property
    def set_calibration_(self) -> dict[str, SetCalibration]:
        """The calibration of prediction sets in the model's space, by group of candidates."""
        own = self.own_space, self.own_metric
        found = {key[2]: one for key, one in self._fitted.set_calibration.items() if key[:2] == own}
        if not found:
            raise AttributeError("prediction sets are not calibrated: call calibrate_sets(X, y)")
        return found

    def _evidence_for(self, table: ClassTable) -> Evidence | None:
        """Return the labelled samples of candidate classes; None for the model of a fold, which keeps none."""
        fitted = self._fitted
        if fitted.samples is None:
            return None
        return Evidence.of(table, fitted.samples, fitted.class_table, fitted.classes.tolist())


def check_parameters(model: Any, names: Sequence[str] | None = None) -> None:
    """Refuse values of all parameters, or of those named, that the declared checks refuse; defaults are good."""
    for parameter in fields(model):
        check: Check | None = parameter.metadata.get("check")
        value = getattr(model, parameter.name)
        if check is not None and value is not parameter.default and (names is None or parameter.name in names):
            check(value, parameter.name)


def check_arrays(
    arrays: Mapping[str, npt.NDArray[Any]],
    shapes: Mapping[str, Shape],
    sizes: Mapping[str, int],
    *,
    precision: type[np.floating[Any]] = np.float64,
) -> dict[str, int]:
    """Refuse arrays that are not those declared, or not finite; return the numbers that the letters stand for.

    ``sizes`` holds the numbers that are known before.
    """
    for name in [*shapes, *arrays]:
        if (name in shapes) != (name in arrays):
            raise ValueError(f"the array {name!r} {'is missing' if name in shapes else 'belongs to no such model'}")
    known = dict(sizes)
    for name, shape in shapes.items():
        array = arrays[name]
        if array.ndim == len(shape):
            known = {
                size: found for size, found in zip(shape, array.shape, strict=True) if isinstance(size, str)
            } | known
        expected = tuple(known.get(size, 0) if isinstance(size, str) else size for size in shape)
        if array.shape != expected or 0 in expected or array.dtype != precision:
            raise ValueError(f"the array {name!r} has the wrong type or shape ({array.dtype}, {array.shape})")
        if not np.isfinite(array).all():
            raise ValueError(f"the array {name!r} holds NaN or infinity")
    return known
