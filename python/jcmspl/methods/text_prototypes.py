"""No training: samples are compared with class vectors as they are."""

from typing import Any

import numpy as np

from jcmspl.core.statistics import Statistics
from jcmspl.data.training import TrainingData
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.explanation import ClassMap
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import NamedArrays, estimator
from jcmspl.model.recogniser import LinearScorer
from jcmspl.support.arguments import Float64Array
from jcmspl.support.scaling import unit_length


@estimator
class TextPrototypes(ZeroShotClassifier):
    """The cosine of a sample and the vector of a class, with no training: for encoders that are aligned.

    Samples and class vectors must come from one encoder, or from two that were trained to agree, as CLIP's for images
    and for texts: class vectors are then embeddings of the names or descriptions of classes. The baseline for
    any training there; ``cosine_share`` of :class:`jcmspl.JCMSPL` combines both. Only the normalisation is fitted.
    Without class vectors the mean sample of a class takes the place of its vector.

    Examples
    --------
    >>> from jcmspl.methods import TextPrototypes
    >>> vectors = {"cat": [1.0, 0.2, 0], "dog": [0, 1.0, 0.2], "owl": [0.2, 0, 1.0]}
    >>> model = TextPrototypes().fit([[0.9, 0.1, 0], [0.1, 0.8, 0]], ["cat", "dog"], class_vectors=vectors)
    >>> model.predict([[0.3, 0.1, 0.9]], seen_penalty=0.0)
    array(['owl'], dtype='<U3')
    """

    feature_normalisation: str = "sample_l2"
    class_normalisation: str = "sample_l2"

    PER_AXIS = True  # class vectors are compared with samples axis by axis
    LINEAR = True
    PAPER = "Radford et al. (2021): Learning Transferable Visual Models From Natural Language Supervision"

    def _vectors_of_none(self, statistics: Statistics) -> Float64Array:
        return statistics.class_sums / statistics.counts[:, None]

    def _prepare(self, training: TrainingData) -> Any:
        m, d = training.statistics.n_features, training.class_vectors.shape[1]
        if m != d:
            raise ValueError(
                f"TextPrototypes compares samples with class vectors themselves, but samples have {m} features and "
                f"class vectors {d} dimensions (class_kernel={self.class_kernel!r}): take both from one encoder, or "
                "use another method"
            )
        return training

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        return {}

    def _scorer(self, class_vectors: Float64Array, space: str) -> LinearScorer:
        return LinearScorer(unit_length(class_vectors), np.zeros(len(class_vectors)))

    def _class_map(self, space: str) -> ClassMap:
        return ClassMap(np.eye(self.n_features_in_), None, None, "cosine")
