"""Ridge regression of mean samples on class vectors."""

from typing import Any

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.explanation import ClassMap
from jcmspl.model.kinds import map_to_means
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import Moments, one_map
from jcmspl.model.parameters import WEIGHT, NamedArrays, estimator, field
from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import unit_length


@estimator
class ClassMeanRidge(Bilinear):
    """Ridge regression of the mean samples of classes on class vectors, ``min |M - W'S|^2 + alpha |W|^2``.

    M holds a column for each class, its mean sample, and S its vector: each class counts once, however many samples it
    has. Where all have b samples this is :class:`RPL` with b times the penalty. It is also the predictor of
    :class:`EXEM`, which has other distances. Where samples are not centred and class vectors are, means are predicted
    with an intercept, the overall mean, in the visual space.
    """

    alpha: float = field(default=0.3, kw_only=False, metadata=WEIGHT)
    space: str = "visual"
    metric: Any = "euclidean"

    ARRAYS = {**Bilinear.ARRAYS, "intercept": ("m",)}
    ADDED_ARRAYS = ("intercept",)
    EXAMPLE = "1.0"
    ONE_MAP = True
    PAPER = "ridge regression from class vectors to mean samples; a baseline of the field"
    GRID = {"alpha": (1e-3, 1e-2, 0.1, 1.0, 10.0), "metric": ("euclidean", "cosine")}

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        return one_map(map_to_means(moments, self.alpha))

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        return {**super()._fit(prepared, monitor), "intercept": prepared.intercept}

    def _require_explainable(self) -> None:
        super()._require_explainable()
        if self._adds_mean(self.space):
            raise ValueError(
                "explain needs samples that are centred, such as by feature_normalisation='center', where means are "
                "predicted: the overall mean is part of these, and no attribute has a share in it"
            )

    def _adds_mean(self, space: str) -> bool:
        return space == "visual" and bool(self.arrays_["intercept"].any())

    def _predicted(self, vectors: Float64Array) -> Float64Array:
        if not self._adds_mean("visual"):
            return super()._predicted(vectors)
        means = self._expected(self.class_normalisation_.of_rows(vectors))
        return unit_length(means) if self.metric == "cosine" else means

    def _expected(self, class_vectors: Float64Array) -> Float64Array:
        return super()._expected(class_vectors) + self.arrays_["intercept"]

    def _class_map(self, space: str) -> ClassMap | None:
        return None if self._adds_mean(space) else super()._class_map(space)
