"""What all models of this package have in common."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.statistics import Statistics
from jcmspl.data.normalisation import parse_normalisation
from jcmspl.models.calibration import CalibrationMixin
from jcmspl.models.fitting import FittingMixin
from jcmspl.models.insight import InsightMixin
from jcmspl.models.recognising import RecognisingMixin, as_bias
from jcmspl.support.arguments import Float64Array, FloatArray, as_weight

#: Called with the number and the objective of each iteration; what it raises stops a fit.
OnIteration = Callable[[int, float], None]


class ZeroShotModel(
    FittingMixin,
    CalibrationMixin,
    RecognisingMixin,
    InsightMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """A model with a visual and a semantic projection, A and B, learnt from sufficient statistics.

    A class that derives from it says in two steps how to learn, so that a search over its parameters can share the
    first: :meth:`_shared`, all that depends on the (normalised) data alone, and :meth:`_learnt`, the rest.
    """

    # With metadata routing enabled: class vectors belong to fit and to the predictions they are given for. The score of
    # a fold in cross-validation is not to take them for its candidates.
    __metadata_request__fit = {"class_vectors": True}  # noqa: RUF012 - how scikit-learn wants it
    __metadata_request__partial_fit = {"class_vectors": True}  # noqa: RUF012
    __metadata_request__predict = {"class_vectors": True, "candidates": True}  # noqa: RUF012
    __metadata_request__predict_proba = {"class_vectors": True, "candidates": True}  # noqa: RUF012
    __metadata_request__decision_function = {"class_vectors": True, "candidates": True}  # noqa: RUF012
    __metadata_request__score = {"class_vectors": False}  # noqa: RUF012

    #: Parameters that are weights: numbers of at least 0, sensibly varied by factors.
    _PENALTIES: ClassVar[tuple[str, ...]] = ()
    #: Whether large weights make the simpler model, as penalties do, or small ones, as those of further terms do.
    _HEAVY_IS_SIMPLE: ClassVar[bool] = True
    #: What a search tries where it is not told: a few values of each parameter.
    _GRID: ClassVar[dict[str, tuple[Any, ...]]] = {}

    def transform(self, X: Any) -> FloatArray:
        """Project samples into the concept space.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_concepts)
            The paper's Ax, a row for each sample.
        """
        check_is_fitted(self, "visual_projection_")
        return self._affine(self.visual_projection_).scores(self._samples(X))

    def save(self, path: str | Path, *, statistics: bool = False, overwrite: bool = False) -> None:
        """Write the fitted model to a safetensors file, whole or not at all.

        Parameters
        ----------
        path : str or Path
        statistics : bool, default False
            Whether to include the statistics of the samples, (n_features, n_features), which :meth:`partial_fit` needs
            to go on.
        overwrite : bool, default False
            Whether an existing file may be replaced.
        """
        from jcmspl.models.persistence import save_model

        save_model(self, Path(path), statistics=statistics, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Any:
        """Read a model that was written by :meth:`save`. No code in the file is ever run."""
        from jcmspl.models.persistence import load_model

        model = load_model(Path(path))
        if not isinstance(model, cls):
            raise ValueError(f"{path} holds a {type(model).__name__}, not a {cls.__name__}: use jcmspl.load")
        return model

    @property
    def _n_features_out(self) -> int:
        return len(self.visual_projection_)

    def _check_parameters(self) -> None:
        self._check_recognition_parameters()
        for name in ("feature_normalisation", "class_normalisation"):
            parse_normalisation(getattr(self, name), name)
        for name in self._PENALTIES:
            as_weight(getattr(self, name), name)
        as_bias(self.seen_bias)

    def _shared(self, statistics: Statistics, class_vectors: Float64Array) -> Any:
        """Return what fits with any parameters to the same normalised data have in common."""
        raise NotImplementedError

    def _learnt(self, shared: Any, on_iteration: OnIteration | None = None) -> dict[str, Any]:
        """Return the fitted attributes, visual_projection_ and semantic_projection_ among them."""
        raise NotImplementedError

    def _learn(self, statistics: Statistics, class_vectors: Float64Array) -> dict[str, float]:
        started = time.perf_counter()
        shared = self._shared(statistics, class_vectors)
        self.__dict__.update(self._learnt(shared))
        return {"solve": time.perf_counter() - started}
