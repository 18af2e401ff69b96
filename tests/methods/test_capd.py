import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.base import clone

from jcmspl.methods import CAPD
from jcmspl.methods.capd import mixtures
from support.animals import make_zoo
from support.linear import ZOO, explicit_data, fit

PLAIN = {"feature_normalisation": "sample_l2+center", "class_normalisation": "sample_l2+center"}


def disagreement(S, j, k):
    """The directions that a sample of class k must not agree with, by the map of class j; a row of S for each."""
    if k == j:
        return np.delete(S, j, axis=0).mean(axis=0) - S[j]
    return S[j] - S[k]


def objective(W, j, X, S, codes, penalty):
    """The value and the gradient, sample by sample; a row of X for each."""
    value, gradient = penalty / 2 * np.sum(W**2), penalty * W
    for x, k in zip(X, codes, strict=True):
        v = disagreement(S, j, k)
        value += np.logaddexp(0, v @ W @ x) / len(X)
        gradient = gradient + np.outer(v, x) / (1 + np.exp(-(v @ W @ x))) / len(X)
    return value, gradient


def maps_of(model, S):
    """W_j, from what the model stores."""
    means, c = model.arrays_["means"], len(S)
    return [
        sum(model.coefficients_[j, k] * np.outer(disagreement(S, j, k), means[k]) for k in range(c)) for j in range(c)
    ]


@pytest.mark.parametrize("penalty", [1e-3, 0.1])
def test_oracle_a_general_minimiser(penalty):
    """Of samples that do not differ within their class, so that it is no matter that means take their place."""
    zoo = make_zoo(n_seen=4, n_features=5, n_attributes=3, per_class=3, noise=0.0)
    keep = np.arange(len(zoo.y)) != np.flatnonzero(zoo.y == zoo.seen[0])[0]  # classes of different sizes
    zoo = zoo._replace(X=zoo.X[keep], y=zoo.y[keep])
    X, _, S, codes = explicit_data(zoo)
    found = maps_of(fit(CAPD(penalty, **PLAIN), zoo), S.T)
    for j, W in enumerate(found):
        value, gradient = objective(W, j, X.T, S.T, codes, penalty)
        assert np.abs(gradient).max() < 1e-9

        def at(flat, j=j, shape=W.shape):
            value, gradient = objective(flat.reshape(shape), j, X.T, S.T, codes, penalty)
            return value, gradient.ravel()

        expected = minimize(at, np.zeros(W.size), jac=True, method="BFGS", options={"gtol": 1e-8})
        assert value == pytest.approx(expected.fun)
        assert_allclose(W.ravel(), expected.x, atol=1e-4 * np.abs(expected.x).max())


def test_means_count_for_as_many_as_they_stand_for():
    X, _, S, codes = explicit_data(ZOO)
    model = fit(CAPD(0.01, **PLAIN))
    means = np.array([X.T[codes == k].mean(axis=0) for k in range(S.shape[1])])
    assert_allclose(model.arrays_["means"], means, atol=1e-12)
    for j, W in enumerate(maps_of(model, S.T)):
        assert np.abs(objective(W, j, means[codes], S.T, codes, 0.01)[1]).max() < 1e-9


def test_scores_of_training_classes():
    X, _, S, _ = explicit_data(ZOO)
    model = fit(CAPD(**PLAIN))
    expected = [X.T @ W.T @ s for W, s in zip(maps_of(model, S.T), S.T, strict=True)]
    assert_allclose(model.decision_function(ZOO.X, candidates="seen"), np.transpose(expected), atol=1e-9)


def test_scores_of_other_classes():
    """They are those of the combination of maps whose weights make the class vector."""
    X, _, S, _ = explicit_data(ZOO)
    model = fit(CAPD(**PLAIN))
    vectors = model.class_normalisation_.of_rows(ZOO.table.select(ZOO.unseen).vectors)
    maps, weights = np.array(maps_of(model, S.T)), mixtures(vectors, S.T)
    expected = [X.T @ np.tensordot(w, maps, axes=1).T @ u for w, u in zip(weights, vectors, strict=True)]
    assert_allclose(model.decision_function(ZOO.X, candidates="unseen"), np.transpose(expected), atol=1e-9)


def test_weights_are_the_nearest_of_the_simplex():
    """By the conditions of a least one: all slopes are the same where a weight is not 0, and higher elsewhere."""
    rng = np.random.default_rng(0)
    S, others = rng.standard_normal((6, 4)), rng.standard_normal((20, 4))
    weights = mixtures(others, S)
    assert weights.min() >= 0
    assert_allclose(weights.sum(axis=1), 1)
    for w, slope in zip(weights, (weights @ S - others) @ S.T, strict=True):
        assert_allclose(slope[w > 1e-9], slope.min(), atol=1e-6)


def test_mixtures_of_classes_are_found():
    S = np.random.default_rng(0).standard_normal((5, 8))
    weights = np.random.default_rng(1).dirichlet(np.ones(5), 7)
    assert_allclose(mixtures(weights @ S, S), weights, atol=1e-7)
    assert_allclose(mixtures(S, S), np.eye(5), atol=1e-7)


def test_a_class_made_of_one_other(monkeypatch):
    """A candidate whose weights are those of one training class is scored by that class's map."""
    model = fit(CAPD(**PLAIN))
    _, _, S, _ = explicit_data(ZOO)
    monkeypatch.setattr("jcmspl.methods.capd.mixtures", lambda others, vectors: np.eye(len(vectors))[[2]])
    given = ZOO.table[ZOO.unseen[0]]
    found = model.decision_function(ZOO.X, class_vectors={"another": given})[:, 0]
    u = model.class_normalisation_.of_rows(given[None])[0]
    Z = model.feature_normalisation_.of_rows(ZOO.X)
    assert_allclose(found, Z @ maps_of(model, S.T)[2].T @ u, atol=1e-9)


def test_every_class_is_told_of_and_may_be_the_last(monkeypatch):
    told = []

    def update(self, done, note=""):
        if self.what == "fitting":
            told.append(done)
            if done == 3:
                raise KeyboardInterrupt

    monkeypatch.setattr("jcmspl.support.progress.Progress.update", update)
    with pytest.raises(KeyboardInterrupt):
        CAPD().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert told == [1, 2, 3]


def test_no_map_is_stored():
    zoo = make_zoo(n_seen=12, n_features=100, n_attributes=30)
    assert sum(array.size for array in fit(CAPD(), zoo).arrays_.values()) == 12 * (12 + 100 + 30)


def test_extreme_penalties():
    for penalty in (1e-12, 1e12):
        model = clone(CAPD(penalty)).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert np.isfinite(model.coefficients_).all()
