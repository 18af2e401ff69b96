"""Methods with two projections: three spaces, explanations, reconstructions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from jcmspl.methods import IdentityRidge
from jcmspl.model import registry
from jcmspl.model.bilinear import Bilinear
from support.animals import make_zoo
from support.linear import ZOO, fit

ALIGNED = make_zoo(n_attributes=20, aligned=True)
MODELS = [method() for method in registry.methods().values() if issubclass(method, Bilinear)]
EACH = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def zoo_of(model):
    return ALIGNED if isinstance(model, IdentityRidge) else ZOO


@EACH
@pytest.mark.parametrize("space", ["semantic", "visual", "concept"])
def test_recognition_in_every_space(model, space):
    zoo = zoo_of(model)
    fitted = fit(model, zoo).set_params(space=space, metric="cosine")
    A, B = fitted.visual_projection_, fitted.semantic_projection_
    Z = fitted.feature_normalisation_.of_rows(zoo.X_new)
    Y = fitted.class_normalisation_.of_rows(zoo.table.select(zoo.unseen).vectors)
    pairs = {"semantic": (Z @ A.T @ B, Y), "visual": (Z, Y @ B.T @ A), "concept": (Z @ A.T, Y @ B.T)}
    nearest = cdist(*pairs[space], "cosine").argmin(axis=1)
    assert_array_equal(fitted.predict(zoo.X_new, candidates="unseen"), np.array(zoo.unseen)[nearest])


@EACH
def test_explanations_add_up(model):
    zoo = zoo_of(model)
    fitted = fit(model, zoo)
    scores = fitted.decision_function(zoo.X_new, candidates="unseen")
    for explanation, row in zip(fitted.explain(zoo.X_new, candidates="unseen"), scores, strict=True):
        top = np.sort(row)[::-1]
        assert explanation.contributions.sum() == pytest.approx(top[0] - top[1], abs=1e-9)


@EACH
def test_maps(model):
    zoo = zoo_of(model)
    fitted = fit(model, zoo)
    A, B = fitted.visual_projection_, fitted.semantic_projection_
    Z = fitted.feature_normalisation_.of_rows(zoo.X_new)
    assert_allclose(fitted.transform(zoo.X_new), Z @ A.T, atol=1e-10)
    expected = fitted.class_normalisation_.undone(Z @ A.T @ B)
    assert_allclose(fitted.reconstruct_semantic(zoo.X_new), expected, atol=1e-9)
    assert fitted.reconstruct_visual().shape == (zoo.table.n_classes, zoo.X.shape[1])
