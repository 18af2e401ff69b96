"""How models read samples: looked at, weighed, and summed up in one pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy.typing as npt
from sklearn.base import BaseEstimator

from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import Collector, LabelledStatistics, gives_chunks
from jcmspl.data.labels import Label, as_targets
from jcmspl.data.normalisation import SHRINKAGE, parse_feature_normalisation, parse_normalisation
from jcmspl.data.on_dask import is_dask
from jcmspl.data.partitions import Parts, as_dask_array, collected_from
from jcmspl.data.sources import Sources, check_source_shares, column_scale
from jcmspl.data.weights import BALANCED, check_class_weight, weights_of
from jcmspl.model.checking import checked_samples
from jcmspl.model.fitted import Fitted
from jcmspl.model.parameters import FLAG, POSITIVE, check_parameters, checked_by, one_of_names
from jcmspl.support.arguments import Float64Array
from jcmspl.support.cards import FactsInNotebooks
from jcmspl.support.names import KERNELS


@dataclass(kw_only=True, eq=False, repr=False)
class Reader(Fitted, FactsInNotebooks, BaseEstimator):
    """The parameters of all models, and how these take samples in."""

    feature_normalisation: str = field(default="sample_l2+center", metadata=checked_by(parse_feature_normalisation))
    class_normalisation: str = field(default="sample_l2+center", metadata=checked_by(parse_normalisation))
    whitening_shrinkage: float = field(default=SHRINKAGE, metadata=POSITIVE)
    class_kernel: str = field(default="linear", metadata=one_of_names(KERNELS))
    kernel_width: float = field(default=1.0, metadata=POSITIVE)
    source_shares: Any = field(default=None, metadata=checked_by(check_source_shares))
    class_weight: Any = field(default=None, metadata=checked_by(check_class_weight))
    progress: bool = field(default=True, metadata=FLAG)

    #: What the method reads: "statistics" of the samples, or the "samples" themselves.
    NEEDS: ClassVar[str] = "statistics"
    #: Whether a method that reads samples reads their weights too, ``training.sample_weights``.
    READS_WEIGHTS: ClassVar[bool] = False
    #: Whether the method looks at one axis at a time, as those with a variance for each do, so that a rotation of the
    #: samples changes its answers: whitening is then the symmetric one (:mod:`jcmspl.data.whitening`).
    PER_AXIS: ClassVar[bool] = False

    @property
    def _per_axis(self) -> bool:
        """Whether it does so with its parameters as they are."""
        return self.PER_AXIS

    @property
    def _needs(self) -> str:
        """What the method reads with its parameters as they are, for one whose NEEDS is only true of the defaults."""
        return self.NEEDS

    def _check_parameters(self) -> None:
        """Refuse bad parameters before any data is read."""
        check_parameters(self)

    def _checked(self, X: Any, *, reset: bool = False, least: int = 1) -> npt.NDArray[Any]:
        """Return samples that were looked at; those of dask, as far as dask knows them, as an array of dask."""
        if is_dask(X):
            checked_samples(self, Parts.of(X).header, reset=reset, least=0)
            array: npt.NDArray[Any] = as_dask_array(X)
            return array
        return checked_samples(self, X, reset=reset, least=least)

    def _require_labels(self, y: Any) -> None:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None "
                "(only an iterator of (X, y) chunks comes without)"
            )

    def _require_statistics_enough(self, method: str) -> None:
        if self._needs == "samples":
            raise TypeError(
                f"{type(self).__name__} learns from the samples themselves, so {method} is not to be had: "
                "use fit with all samples"
            )

    def _require_weights_known(self, what: str) -> None:
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={BALANCED!r} takes all labels at once, so it is not supported with {what}: pass a dict "
                "of label -> weight, such as n_samples / (n_classes * count)"
            )

    def _weights_of(self, labels: list[Label], sample_weight: Any) -> Float64Array | None:
        """Return what samples weigh to this model; None if each counts once."""
        weights = weights_of(labels, sample_weight, self.class_weight)
        if weights is not None and self._needs == "samples" and not self.READS_WEIGHTS:
            raise ValueError(
                f"{type(self).__name__} cannot weigh samples: leave sample_weight and class_weight out, and repeat "
                "samples that are to count more than once"
            )
        return weights

    def _parts_of(self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = False) -> Parts:
        """Return samples that dask has, and their labels, of which the former were looked at as far as dask knows."""
        self._require_labels(y)
        parts = Parts.of(X, y, sample_weight)
        self._checked(parts.header, reset=reset, least=0)
        return parts

    def _normalisations(self, sources: Sources | None) -> tuple[str, str, float, str, float, Float64Array | None]:
        """Return what is to be done to samples, and to class vectors of these sources."""
        of_classes = self.class_kernel, self.kernel_width, column_scale(sources, self.source_shares)
        return self.feature_normalisation, self.class_normalisation, self.whitening_shrinkage, *of_classes

    def _collector(
        self, table: ClassTable | None, so_far: LabelledStatistics | None = None, declared: set[Label] | None = None
    ) -> Collector:
        power, unit_rows, *_ = parse_feature_normalisation(self.feature_normalisation)
        collector = Collector(
            table,
            unit_rows,
            power,
            progress=bool(self.progress),
            declared=declared,
            spares_aligned=isinstance(getattr(self, "cosine_share", 0), str),
        )
        return collector if so_far is None else collector.going_on_from(so_far)

    def _read(self, X: Any, y: Any, sample_weight: Any, collector: Collector, *, reset: bool) -> LabelledStatistics:
        """Return the statistics of the samples: the one pass over them."""
        if is_dask(X):
            parts = self._parts_of(X, y, sample_weight, reset=reset).weighed(self.class_weight)
            return collected_from(parts, collector, progress=bool(self.progress))
        chunked = gives_chunks(X)
        if y is None and chunked:
            self._require_weights_known("chunks of samples")
            if sample_weight is not None:
                raise TypeError("each chunk brings its weights, (X, y, sample_weight): leave sample_weight out")
            first = [reset]

            def validate(chunk: Any) -> npt.NDArray[Any]:
                return self._checked(chunk, reset=bool(first) and first.pop(), least=0)

            collector.add_chunks(X, validate, self._weights_of)
        else:
            if chunked and y is not None and not isinstance(X, (list, tuple)):
                raise TypeError("X is an iterator of chunks, so each chunk brings its labels, (X, y): leave y out")
            self._require_labels(y)
            samples, weights = self._checked(X, reset=reset), None
            if sample_weight is not None or self.class_weight is not None:
                y = as_targets(y)
                weights = self._weights_of(y, sample_weight)
            collector.add_array(samples, y, weights)
        return collector.result()
