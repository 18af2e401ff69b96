"""The deep visual-semantic embedding model."""

from __future__ import annotations

from typing import ClassVar

from jcmspl.model.bilinear_ranker import BilinearRanker
from jcmspl.model.parameters import estimator


@estimator
class DeViSE(BilinearRanker):
    r"""Deep visual-semantic embedding (Frome et al., 2013), on given features.

    ``min over W of the sum over samples x and other classes j of max(0, margin - s_y'Wx + s_j'Wx)``, y the class of x.
    Samples come one at a time; W moves against the first class in random order that violates the margin. Loss and steps
    are as published; the authors go on to train the network that makes the features, which is left out here. Constants,
    the start (W = 0, so that nothing but the ratio of margin and learning_rate matters) and the way to stop are ours.

    Parameters
    ----------
    learning_rate : float, default 1.0
        W changes by ``learning_rate (s_y - s_j) x'`` in a step.
    margin : float, default 1.0
    average : bool, default True
        Whether the model is the mean of W over all steps and not the last one.
    max_iter : int, default 20
        At most so many epochs. One in which no class violates the margin is the last.
    tol, n_iter_no_change : float, default 1e-3, and int, default 5
        The number of epochs is found out by holding out classes: it is that after which they are recognised best, where
        no n_iter_no_change further ones were better by more than tol. All classes are then learnt from for so many.
    validation_fraction : float, default 0.2
        The share of classes that is held out for that, at least two and less than half of them. With 0, or fewer than
        five classes, there are max_iter epochs.
    random_state : int, Generator, RandomState or None, default 0
        It says which classes are held out, and the order of steps. Other names for classes, or samples in another
        order, change nothing but rounding.
    space : {"semantic", "visual", "concept"}, default "semantic"
        Compare Wx with s (as does "concept"), or x with W's.
    metric : {"cosine", "dot", "euclidean"} or callable, default "cosine"
        "dot" compares as the training does. The authors search for the nearest class vector.
    feature_normalisation, class_normalisation, whitening_shrinkage
    class_kernel, kernel_width, source_shares, class_weight, prediction_count, cosine_share
    seen_penalty, temperature, adaptation_pull, adaptation_temperature, progress
        As for :class:`RidgeVS`; the step for a sample is multiplied by its weight.
    seen_mean_share : float, default 0
        As for :class:`jcmspl.JCMSPL`, too.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        W.
    losses_ : ndarray of shape (n_iter\_,)
        The mean loss of a sample in each epoch, before the step for it.
    n_iter_ : int

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
