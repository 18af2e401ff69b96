"""The deep visual-semantic embedding model."""

from __future__ import annotations

from typing import ClassVar

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.bilinear_ranker import Ranker
from jcmspl.model.parameters import estimator


@estimator
class DeViSE(Ranker, Bilinear):
    r"""Deep visual-semantic embedding (Frome et al., 2013), on given features.

    ``min over W of the sum over samples x and other classes j of max(0, margin - s_y'Wx + s_j'Wx)``, y the class of x.
    Samples come one at a time; W moves against the first class in random order that violates the margin. Loss and steps
    are as published; the authors go on to train the network that makes the features, which is left out here. Constants,
    the start (W = 0, so that nothing but the ratio of margin and learning_rate matters) and the way to stop are ours.

    Parameters
    ----------
    space
        Compare Wx with s (as does "concept"), or x with W's.
    metric : {"cosine", "dot", "euclidean"} or callable
        "dot" compares as the training does. The authors search for the nearest class vector.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        W.

    Examples
    --------
    >>> from jcmspl.methods import DeViSE
    >>> from jcmspl.datasets import make_zsl
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = DeViSE(max_iter=10).fit(*data.part("train"), class_vectors=data.classes)
    >>> model.score(*data.part("test_unseen")) > 0.2  # chance
    True
    """

    PAPER: ClassVar[str] = "Frome et al. (2013): DeViSE: A deep visual-semantic embedding model"
    VIOLATORS: ClassVar[str] = "any"
