"""Means that are predicted: with an intercept where nothing else predicts the overall mean."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import load
from jcmspl.methods import EXEM, GDA, GFZSL, ClassMeanRidge
from support.animals import make_zoo
from support.linear import assert_same_but_for_a_shared_term

ZOO = make_zoo(n_seen=8, noise=0.5)
METHODS = [GFZSL(), GFZSL(class_kernel="linear"), EXEM(), EXEM(distance="standardised"), GDA(), ClassMeanRidge()]
UNEVEN = np.arange(len(ZOO.X)) % 7 > np.arange(len(ZOO.X)) // (len(ZOO.X) // 3)  # classes of different sizes


def fitted(model, X, **parameters):
    model.set_params(**parameters)
    return model.fit(X[UNEVEN], np.asarray(ZOO.y)[UNEVEN], class_vectors=ZOO.table)


@pytest.mark.parametrize("method", METHODS, ids=lambda model: type(model).__name__)
def test_samples_need_not_be_centred(method):
    far = 3 * np.abs(ZOO.X).max()
    centred = fitted(method, ZOO.X, feature_normalisation="center").decision_function(ZOO.X_new, candidates="all")
    plain = fitted(method, ZOO.X + far, feature_normalisation="none")
    found = plain.decision_function(ZOO.X_new + far, candidates="all")
    assert_same_but_for_a_shared_term(found, centred, rtol=1e-7)


def test_by_cosine_the_mean_is_part_of_the_direction():
    model = fitted(ClassMeanRidge(metric="cosine"), ZOO.X + 1, feature_normalisation="none")
    expected = model.reconstruct_visual()
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert_allclose(model.decision_function(ZOO.X_new, candidates="all"), ZOO.X_new @ expected.T, atol=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [
        {"feature_normalisation": "sample_l2+center"},
        {"feature_normalisation": "zscore_unit"},
        {"feature_normalisation": "none", "class_normalisation": "none", "class_kernel": "linear"},
    ],
)
@pytest.mark.parametrize("method", METHODS[::2], ids=lambda model: type(model).__name__)
def test_where_the_mean_is_predicted_already_there_is_no_intercept(method, parameters):
    model = fitted(type(method)(), ZOO.X, **parameters)
    assert not model.arrays_["intercept"].any()


@pytest.mark.parametrize("method", [GFZSL(), EXEM(), GDA(), ClassMeanRidge()])
def test_files_from_before_there_was_an_intercept(method, tmp_path):
    model = fitted(method, ZOO.X, feature_normalisation="sample_l2")
    for name in method.ADDED_ARRAYS:
        model.arrays_[name] = np.zeros_like(model.arrays_[name])  # as it was
    scores = model.decision_function(ZOO.X_new, candidates="unseen")
    for name in method.ADDED_ARRAYS:
        del model.arrays_[name]
    model.save(tmp_path / "m")
    assert_array_equal(load(tmp_path / "m").decision_function(ZOO.X_new, candidates="unseen"), scores)


def test_attributes_have_no_share_in_the_mean():
    model = fitted(ClassMeanRidge(), ZOO.X, feature_normalisation="none")
    with pytest.raises(ValueError, match="explain needs samples that are centred"):
        model.explain(ZOO.X_new)
    model.set_params(space="semantic").explain(ZOO.X_new)
    fitted(model, ZOO.X, feature_normalisation="center", space="visual").explain(ZOO.X_new)
