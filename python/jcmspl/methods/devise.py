"""The deep visual-semantic embedding model."""

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
    metric : {"cosine", "dot", "euclidean"} or callable
        "dot" compares as the training does. The authors search for the nearest class vector.
    """

    EXAMPLE = "max_iter=10"
    ONE_MAP = True
    PAPER = "Frome et al. (2013): DeViSE: A deep visual-semantic embedding model"
    VIOLATORS = "any"
