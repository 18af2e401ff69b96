"""Fits to animals that are hard to tell apart, for the tests of recognition."""

from jcmspl import JCMSPL
from support.animals import make_zoo

ZOO = make_zoo(noise=1.0)
SPACES = ("semantic", "visual", "concept")
METRICS = ("cosine", "euclidean", "dot")


def fitted(**parameters):
    """Return a model that places all classes, also those with samples, where it predicts them."""
    return JCMSPL(**{"seen_mean_share": 0, **parameters}).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


MODEL = fitted()
