"""Where the codes of the classes are a saddle, the descent leaves it in the same direction on every CPU."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl import JCMSPL
from support.animals import make_zoo

ZOO = make_zoo(noise=0.9)  # classes of one size
UNSTABLE = {"semantic_match": 0.1, "class_match": 0.1, "max_iter": 20, "tol": 0, "progress": False}
FEW = np.arange(len(ZOO.X)) > 5  # of classes of different sizes


def scores(model, rows=slice(None)):
    model.fit(ZOO.X[rows], ZOO.y[rows], class_vectors=ZOO.table)
    return model.decision_function(ZOO.X_new, candidates="unseen")


def rounding(model):
    """By how much scores differ between two orders of the samples."""
    order = np.random.default_rng(0).permutation(len(ZOO.X))
    return np.abs(scores(model) - scores(model, order)).max()


@pytest.mark.parametrize(
    "change",
    [{}, {"semantic_reconstruction": 100.0}, {"visual_reconstruction": 1000.0}, {"n_concepts": 9}, {"max_iter": 100}],
    ids=str,
)
def test_rounding_errors_stay_small(change, monkeypatch):
    model = JCMSPL(**UNSTABLE | change)
    assert rounding(model) < 1e-6
    monkeypatch.setattr("jcmspl.model.concept_codes._VISIBLE", np.inf)
    assert rounding(model) > 1e-4, "there is no saddle"


def test_it_ends_where_other_starts_end():
    model = JCMSPL(**UNSTABLE | {"max_iter": 3000})
    expected = scores(model.set_params(init="random", random_state=0))
    assert_allclose(scores(model.set_params(init="codes")), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("parameters", "rows"),
    [
        ({"progress": False}, slice(None)),
        (UNSTABLE, FEW),
        (UNSTABLE | {"max_iter": 2}, slice(None)),
        (UNSTABLE | {"feature_normalisation": "none"}, slice(None)),
        (UNSTABLE | {"class_normalisation": "none"}, slice(None)),
    ],
    ids=["default weights", "other counts", "few iterations", "samples not centred", "class vectors not centred"],
)
def test_other_fits_start_at_the_codes_themselves(parameters, rows, monkeypatch):
    def refuse(*shape):
        raise AssertionError("noise is added to the codes")

    monkeypatch.setattr("jcmspl.model.concept_codes.class_codes", refuse)
    scores(JCMSPL(**parameters), rows)
    with pytest.raises(AssertionError, match="noise is added"):
        scores(JCMSPL(**UNSTABLE))
