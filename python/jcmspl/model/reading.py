"""Samples as users pass them to a model: validated against its features, weighed, and summed up in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy.typing as npt
from sklearn.base import BaseEstimator

from jcmspl.data.collect import Collector, LabelledStatistics, gives_chunks
from jcmspl.data.labels import Label
from jcmspl.data.reading import checked_samples, samples_of, unlabelled_samples
from jcmspl.data.samples import Samples
from jcmspl.data.weights import BALANCED, weights_of
from jcmspl.model.fitted import Columns
from jcmspl.support.arguments import Float64Array


class Features:
    """The features that samples must have, for scikit-learn: it reads and sets them as attributes of an estimator.

    A stand-in for the model, whose own state must not change while samples are read, and which it is named after. By
    default the first samples decide.
    """

    def __init__(self, name: str, columns: Columns | None = None) -> None:
        self.is_open, self.estimator = columns is None, _class_named(name)()
        if columns is not None:
            self.estimator.n_features_in_ = columns.n_features
            if columns.names is not None:
                self.estimator.feature_names_in_ = columns.names

    @property
    def columns(self) -> Columns:
        """The features, once samples have been read."""
        return Columns(self.estimator.n_features_in_, getattr(self.estimator, "feature_names_in_", None))


@lru_cache
def _class_named(name: str) -> type[Any]:
    return type(name, (BaseEstimator,), {})


@dataclass(frozen=True)
class SampleReader:
    """Reads samples for a model, by its name and parameters.

    ``needs`` is "statistics" or "samples"; ``reads_weights``: whether a method that learns from samples accepts
    weights.
    """

    name: str
    needs: str = "statistics"
    reads_weights: bool = True
    class_weight: Any = None
    progress: bool = False

    def without_balance(self) -> SampleReader:
        """Return a reader without class_weight="balanced", which depends on all labels of a call."""
        return replace(self, class_weight=None) if isinstance(self.class_weight, str) else self

    def unweighted(self) -> SampleReader:
        """Return a reader without weights of classes, and for any sample weights: a model is tested with them."""
        return replace(self, class_weight=None, needs="statistics")

    def checked(self, X: Any, columns: Columns) -> npt.NDArray[Any]:
        """Return samples that have the features of the model; those of dask as an array of dask."""
        return checked_samples(Features(self.name, columns).estimator, X)

    def samples(
        self, X: Any, y: Any, sample_weight: Any = None, columns: Columns | None = None
    ) -> tuple[Samples, Features]:
        """Return samples with their labels and weights, and their features; ``columns``: those that X must have."""
        if y is None and gives_chunks(X):
            self.require_weights_known("chunks of samples")
        features = Features(self.name, columns)
        found = samples_of(
            features.estimator,
            X,
            y,
            sample_weight,
            self.class_weight,
            reset=features.is_open,
            weigh=self.weights_of,
        )
        return found, features

    def unlabelled(self, X: Any, columns: Columns) -> Samples:
        """Return samples without labels, an array or chunks of it."""
        return unlabelled_samples(Features(self.name, columns).estimator, X)

    def read(
        self, X: Any, y: Any, sample_weight: Any, collector: Collector, columns: Columns | None = None
    ) -> tuple[LabelledStatistics, Columns]:
        """Return the statistics of samples, read in one pass, and their features; parameters as of :meth:`samples`."""
        samples, features = self.samples(X, y, sample_weight, columns)
        return samples.collected(collector, progress=self.progress), features.columns

    def weights_of(self, labels: list[Label], sample_weight: Any) -> Float64Array | None:
        """Return the weight of each sample, class_weight included; None if each counts once."""
        weights = weights_of(labels, sample_weight, self.class_weight)
        if weights is not None and self.needs == "samples" and not self.reads_weights:
            raise ValueError(
                f"{self.name} cannot weigh samples: leave sample_weight and class_weight out, and repeat samples that "
                "are to count more than once"
            )
        return weights

    def require_statistics_enough(self, method: str) -> None:
        """Refuse a call that has statistics alone, where the method learns from samples."""
        if self.needs == "samples":
            raise TypeError(
                f"{self.name} needs all samples at once and does not support {method}: use fit with all samples"
            )

    def require_weights_known(self, what: str) -> None:
        """Refuse weights that depend on all labels where only some are at hand."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={BALANCED!r} takes all labels at once, so it is not supported with {what}: pass a dict "
                "of label -> weight, such as n_samples / (n_classes * count)"
            )
