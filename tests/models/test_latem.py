import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import LATEM, DeViSE, SSVoc
from support.linear import ZOO, explicit_data, fit, refuses
from support.normalised import explicit
from support.ranking import textbook_fit

FEW = {"max_iter": 3, "validation_fraction": 0.0}


@pytest.mark.parametrize("n_maps", [2, 3])
def test_oracle_one_sample_after_the_other(n_maps):
    X, _, S, codes = explicit_data(ZOO)
    model = fit(LATEM(2.0, margin=0.3, n_maps=n_maps, random_state=5, feature_normalisation="sample_l2+center", **FEW))
    expected = textbook_fit(model, X.T, S.T, codes, n_maps)
    assert_allclose(model.maps_, expected, atol=1e-10)
    scores = np.max([X.T @ W.T @ S for W in expected], axis=0)
    assert_allclose(model.decision_function(ZOO.X, candidates="seen"), scores, atol=1e-9)


def test_one_map_is_devise():
    one, devise = fit(LATEM(n_maps=1, feature_normalisation="sample_l2+center")), fit(DeViSE(metric="dot"))
    assert_array_equal(one.maps_[0], devise.visual_projection_)
    for candidates in ("seen", "unseen"):
        found = (model.decision_function(ZOO.X_new, candidates=candidates) for model in (one, devise))
        assert_allclose(*found, atol=1e-10)


def test_the_highest_map_counts():
    model = fit(LATEM(n_maps=4, feature_normalisation="sample_l2+center"))
    vectors = model.class_normalisation_.of_rows(ZOO.table.vectors)
    Z = explicit("sample_l2+center", ZOO.X)
    expected = np.max([Z @ W.T @ vectors.T for W in model.maps_], axis=0)
    assert_allclose(model.decision_function(ZOO.X, candidates=list(ZOO.table)), expected, atol=1e-9)
    assert len({W.tobytes() for W in model.maps_}) == 4


def test_bad_parameters():
    refuses(LATEM(n_maps=0), "n_maps must be from 1")


@pytest.mark.parametrize("model", [LATEM(), SSVoc(metric="cosine")])
def test_samples_that_lie_close_together_are_told_apart(model):
    far = ZOO._replace(X=ZOO.X + 300)
    fitted = fit(model, far)
    assert np.mean(fitted.predict(far.X, candidates="seen") == far.y) > 0.8
