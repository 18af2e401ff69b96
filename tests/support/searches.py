"""Searches that are small enough to be repeated by a plain loop."""

import numpy as np

from jcmspl import JCMSPLCV
from support.animals import make_zoo

ZOO = make_zoo(n_seen=10, noise=0.9, per_class=12)
# Large visual reconstructions make the descent leave saddle points along rounding errors: nothing to compare.
SMALL = {
    "semantic_match": (0.01, 1.0),
    "class_match": (0.1, 10.0),
    "visual_reconstruction": (0.01, 0.1),
    "semantic_reconstruction": (0.01,),
    "feature_normalisation": "sample_l2+center",
    "class_normalisation": "sample_l2+center",
    "prediction_count": 1.0,
    "cosine_share": 0.0,
    "cv": 5,
    "choose": "best",  # what is chosen with few classes is tested on its own, in test_search.py
}
BEST = {"cv": 5, "choose": "best"}


def tuned(zoo=ZOO, model=None, **parameters):
    given = {**SMALL, "extend": 0, **parameters}
    return (model or JCMSPLCV(**given)).fit(zoo.X, zoo.y, class_vectors=zoo.table)


def split_scores(model):
    n = sum(name.startswith("split") for name in model.cv_results_)
    return np.column_stack([model.cv_results_[f"split{i}_test_score"] for i in range(n)])
