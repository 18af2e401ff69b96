"""Codes pinned to those of the classes: the limit of the descent, and ridge regression."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import solve_sylvester
from sklearn.linear_model import Ridge

from jcmspl import JCMSPL, load
from support.animals import make_zoo

ZOO = make_zoo(n_seen=7, per_class=6, noise=0.5)
UNEVEN = np.flatnonzero(np.arange(len(ZOO.y)) % 5 != (ZOO.y == "animal 0") * 2)  # classes of several sizes


def fit(zoo=ZOO, rows=slice(None), **parameters):
    model = JCMSPL(class_match=np.inf, progress=False, **parameters)
    return model.fit(zoo.X[rows], zoo.y[rows], class_vectors=zoo.table)


def normalised(model, rows=slice(None)):
    """Return X and Y as the paper has them, columns of normalised samples and class vectors, and the class numbers."""
    X = model.feature_normalisation_.of_rows(ZOO.X[rows]).T
    numbers = np.searchsorted(model.classes_, ZOO.y[rows])
    vectors = model.class_normalisation_.of_rows(model.class_table_.vectors[: len(model.classes_)])
    return X, vectors[numbers].T, numbers


@pytest.mark.parametrize("n_concepts", [None, 12])
@pytest.mark.parametrize("weights", [(1.0, 10.0, 1.0), (0.3, 2.0, 5.0), (2.0, 0.0, 1.0)])
def test_is_the_limit_of_the_descent(n_concepts, weights):
    names = ("semantic_match", "visual_reconstruction", "semantic_reconstruction")
    parameters = dict(zip(names, weights, strict=True)) | {"n_concepts": n_concepts}
    limit = fit(**parameters, rows=UNEVEN)
    distances = []
    for weight in (1e2, 1e4, 1e6):
        near = JCMSPL(class_match=weight, progress=False, **parameters)
        near.fit(ZOO.X[UNEVEN], ZOO.y[UNEVEN], class_vectors=ZOO.table)
        both = (
            (limit.visual_projection_, near.visual_projection_),
            (limit._expected(np.eye(8)), near._expected(np.eye(8))),
        )
        distances.append(max(np.abs(one - other).max() for one, other in both))
    assert distances[1] < 0.02 * distances[0]
    assert distances[2] < 0.02 * distances[1]
    # all terms but that of the codes, which is 0 here and vanishes there
    terms = [0, 1, 3, 4]
    assert_allclose(limit.objective_terms_[-1][terms], near.objective_terms_[-1][terms], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("n_concepts", [None, 7, 17])
def test_solves_the_equations_of_a_and_b(n_concepts):
    model = fit(rows=UNEVEN, n_concepts=n_concepts, semantic_match=0.7, visual_reconstruction=3.0)
    X, Y, numbers = normalised(model, UNEVEN)
    k = len(model.visual_projection_)
    c = len(model.classes_)
    sizes = [k // c + (i < k % c) for i in range(c)]
    H = np.repeat(np.eye(c), sizes, axis=0)[:, numbers]
    A, B = model.visual_projection_, model.semantic_projection_
    assert_allclose(3 * H @ H.T @ A + A @ X @ X.T, 4 * H @ X.T, atol=1e-9)
    assert_allclose(H @ H.T @ B + 0.7 * B @ Y @ Y.T, 1.7 * H @ Y.T, atol=1e-9)
    if k == c:  # else the equations are singular, and one of their solutions is as good as the other
        assert_allclose(A, solve_sylvester(3 * H @ H.T, X @ X.T, 4 * H @ X.T), atol=1e-9)
        assert_allclose(B, solve_sylvester(H @ H.T, 0.7 * Y @ Y.T, 1.7 * H @ Y.T), atol=1e-9)
    terms = [np.sum((A @ X - H) ** 2), 0.7 * np.sum((B @ Y - H) ** 2), 0]
    terms += [3 * np.sum((X - A.T @ H) ** 2), np.sum((Y - B.T @ H) ** 2)]
    assert_allclose(model.objective_terms_[0], np.array(terms) / 2, rtol=1e-8)


@settings(max_examples=20, deadline=None)
@given(penalty=st.floats(1e-3, 1e3))
def test_with_infinite_reconstruction_it_is_ridge_regression_of_mean_samples(penalty):
    model = fit(visual_reconstruction=np.inf, semantic_reconstruction=penalty)
    X, _, numbers = normalised(model)
    means = np.array([X[:, numbers == number].mean(axis=1) for number in range(7)])
    vectors = model.class_normalisation_.of_rows(model.class_table_.vectors)
    ridge = Ridge(alpha=penalty, fit_intercept=False).fit(vectors[:7], means)  # classes are of one size here
    expected, found = ridge.predict(vectors), model._expected(vectors)
    for one, other in zip(expected, found, strict=True):
        assert one @ other / np.linalg.norm(one) / np.linalg.norm(other) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("name", ["visual_reconstruction", "semantic_reconstruction"])
def test_infinite_weights_are_limits(name):
    limit, near = (fit(**{name: weight}) for weight in (np.inf, 1e12))
    assert_allclose(limit.visual_projection_, near.visual_projection_, atol=1e-8)
    assert_allclose(limit.semantic_projection_, near.semantic_projection_, atol=1e-8)
    with pytest.raises(ValueError, match=f"{name} can be infinite only where class_match is"):
        JCMSPL(**{name: np.inf}).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def test_there_is_nothing_to_iterate():
    model = fit()
    assert (model.n_iter_, model.converged_) == (1, True)
    assert set(model.stationarity_.values()) == {0.0}


def test_without_any_weight_of_class_vectors_nothing_is_known_of_them():
    assert not fit(semantic_match=0, semantic_reconstruction=0).semantic_projection_.any()


def test_too_few_concepts():
    with pytest.raises(ValueError, match="n_concepts must be at least the number of classes, 7"):
        fit(n_concepts=3)


def test_samples_and_statistics_and_files_give_the_same(tmp_path):
    model = fit()
    again = JCMSPL(class_match=np.inf, progress=False)
    for rows in (slice(0, 20), slice(20, None)):
        again.partial_fit(ZOO.X[rows], ZOO.y[rows], class_vectors=ZOO.table)
    assert_allclose(again.visual_projection_, model.visual_projection_, atol=1e-10)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").class_match == np.inf


class TestAveraging:
    """ensemble_factors: the mean of the predictions of several fits."""

    def test_prediction_is_the_mean(self):
        factors = (0.1, 1.0, 10.0)
        model = fit(ensemble_factors=factors, semantic_reconstruction=2.0)
        vectors = model.class_normalisation_.of_rows(ZOO.table.vectors)
        seen = model.class_normalisation_.of_rows(model.class_table_.vectors[:7])
        expected = 0
        for factor in factors:
            one = fit(semantic_reconstruction=2.0 * factor)
            expected += one._expected(vectors) / np.sqrt(np.mean(np.sum(one._expected(seen) ** 2, axis=1))) / 3
        assert_allclose(model._expected(vectors), expected, atol=1e-10)

    def test_one_factor_recognises_as_one_fit(self):
        one, other = fit(ensemble_factors=(3.0,)), fit(semantic_reconstruction=3.0)
        assert_allclose(one.decision_function(ZOO.X), other.decision_function(ZOO.X), atol=1e-9)

    def test_files_and_later_samples(self, tmp_path):
        model = fit(ensemble_factors=(1.0, 5.0), rows=slice(0, 30))
        model.save(tmp_path / "model", statistics=True)
        again = load(tmp_path / "model").partial_fit(ZOO.X[30:], ZOO.y[30:])
        assert again.ensemble_factors == (1.0, 5.0)
        whole = fit(ensemble_factors=(1.0, 5.0))
        assert_allclose(again.decision_function(ZOO.X), whole.decision_function(ZOO.X), atol=1e-8)

    def test_an_array_of_factors(self):
        assert fit(ensemble_factors=np.array([1.0, 2.0])).visual_projection_.shape[0] == 14

    def test_with_a_descent(self):
        model = JCMSPL(ensemble_factors=(0.5, 2.0), max_iter=5, tol=0, progress=False)
        model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert model.visual_projection_.shape == (14, ZOO.X.shape[1])
        assert model.n_iter_ == 5

    @pytest.mark.parametrize("factors", [(), (1.0, -1.0), (np.nan,), "many", (0.0,)])
    def test_bad_factors(self, factors):
        with pytest.raises((ValueError, TypeError), match="ensemble_factors"):
            fit(ensemble_factors=factors)
