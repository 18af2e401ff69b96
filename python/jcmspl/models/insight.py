"""What a fitted model can tell beside names: reconstructions and explanations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.search import AffineScorer
from jcmspl.data.class_table import ClassTable
from jcmspl.data.normalisation import Normalisation
from jcmspl.models.explanation import AttributeParts, Explanation, explained
from jcmspl.models.recogniser import Recogniser
from jcmspl.support.arguments import Float64Array, FloatArray


class InsightMixin:
    """reconstruct_semantic, reconstruct_visual and explain, for estimators that recognise."""

    class_table_: ClassTable
    visual_projection_: Float64Array
    semantic_projection_: Float64Array
    feature_normalisation_: Normalisation
    class_normalisation_: Normalisation

    def reconstruct_semantic(self, X: Any) -> FloatArray:
        """Return the class vector that the model reads out of each sample, B'Ax, in the units of the class vectors.

        Class vectors that are scaled to length one stay so, about.
        """
        check_is_fitted(self, "visual_projection_")
        readout = self.semantic_projection_.T @ self.visual_projection_
        return self.class_normalisation_.undone(self._affine(readout).scores(self._samples(X)))

    def reconstruct_visual(self, class_vectors: Any = None) -> Float64Array:
        """Return the sample that the model expects of each class, A'By, in the units of the features.

        Features that are scaled to length one stay so, about.

        Parameters
        ----------
        class_vectors : ClassTable, dict, DataFrame or array_like, optional
            By default all classes that the model knows.
        """
        check_is_fitted(self, "visual_projection_")
        table = ClassTable.of(self.class_table_ if class_vectors is None else class_vectors)
        table = table.aligned_with(self.class_table_)
        vectors = self.class_normalisation_.of_rows(table.vectors)
        expected = (vectors @ self.semantic_projection_.T) @ self.visual_projection_
        return np.asarray(self.feature_normalisation_.undone(expected), dtype=np.float64)

    def explain(
        self,
        X: Any,
        *,
        label: Any = None,
        against: Any = "runner-up",
        class_vectors: Any = None,
        candidates: Any = None,
        seen_bias: float | None = None,
    ) -> list[Explanation]:
        """Tell which attributes spoke for and against the chosen class of each sample.

        The score of a class is a sum over the attributes (dimensions of its vector). An explanation holds the parts of
        that sum, by default the difference to the parts of the second-best class.

        Parameters
        ----------
        X, class_vectors, candidates, seen_bias
            As for predict.
        label : label, optional
            The class to explain, if not the chosen one.
        against : "runner-up", label or None
            The class to compare it with; None: none.

        Returns
        -------
        list of Explanation, one for each sample
        """
        check_is_fitted(self, "visual_projection_")
        if callable(self._settings.metric):
            raise ValueError("explain needs a metric by name: the score of a function does not split over attributes")
        samples = self._samples(X)
        table, bias = self._candidates(class_vectors, candidates, seen_bias)
        recogniser = self._recogniser(table, bias, None)
        vectors = self.class_normalisation_.of_rows(table.vectors)
        A, B = self.visual_projection_, self.semantic_projection_
        split = AttributeParts(A, B, vectors, space=self._settings.space, metric=self._settings.metric)
        readout = self._affine(B.T @ A)
        out = []
        for number in range(len(samples)):
            sample = samples[number : number + 1]
            parts = split.of(readout.scores(sample)[0])
            out.append(explained(table, recogniser.scores(sample)[0], parts, label=label, against=against))
        return out

    # What other parts of an estimator provide.
    @property
    def _settings(self) -> Any:
        raise NotImplementedError

    def _samples(self, X: Any, *, reset: bool = False) -> npt.NDArray[Any]:
        raise NotImplementedError

    def _affine(self, weights: Float64Array) -> AffineScorer:
        raise NotImplementedError

    def _candidates(
        self, class_vectors: Any, candidates: Any, seen_bias: float | None, space: str | None = None
    ) -> tuple[ClassTable, Float64Array]:
        raise NotImplementedError

    def _recogniser(
        self, table: ClassTable, bias: Float64Array, space: str | None, *, unit_rows: bool | None = None
    ) -> Recogniser:
        raise NotImplementedError
