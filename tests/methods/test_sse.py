"""Classes as mixtures of seen classes, margins of intersections."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, nnls

from jcmspl.methods import SSE
from jcmspl.methods.sse import _Margins, missing
from support.animals import make_zoo
from support.linear import refuses

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ZOO = make_zoo(n_seen=5, n_attributes=6, n_features=7, per_class=6, rectified=True)


def fit(model, zoo=ZOO, **options):
    return model.set_params(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table, **options)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def shares_of(a, S, ridge):
    """As the sum is one, what is least is the length of sum_y p_y (s_y - a): a ray that NNLS finds."""
    around = S - a
    R = np.linalg.cholesky(around @ around.T + ridge * np.eye(len(S))).T
    ray, _ = nnls(R, np.linalg.solve(R.T, np.ones(len(S))))
    return ray / ray.sum()


def objective_of(w, V, zoo, model):
    """The objective, sample by sample and pair by pair."""
    X = unit(zoo.X)
    S = unit(zoo.table.select(zoo.seen).vectors)
    shares = np.array([shares_of(s, S, model.mixture_ridge) for s in S])
    y = np.array([zoo.seen.index(label) for label in zoo.y])

    def f(x, s):
        return sum(shares[s, c] * (w @ np.minimum(x, V[c])) for c in range(len(S)))

    total = w @ w / 2 + model.threshold_penalty * (V**2).sum() / 2
    scores = np.array([[f(x, s) for s in range(len(S))] for x in X])
    for i, row in enumerate(scores):
        total += sum(
            model.sample_margin / len(X) * max(0, 1 - row[y[i]] + row[s]) ** 2 for s in range(len(S)) if s != y[i]
        )
    for c in range(len(S)):
        row = scores[y == c].mean(axis=0)
        total += sum(model.class_margin / len(S) * max(0, 1 - row[c] + row[s]) ** 2 for s in range(len(S)) if s != c)
    return total


class Recorded(SSE):
    margins: ClassVar[list] = []  # of each fit: a model does not change itself while it is fitted

    def _fit(self, prepared, monitor):
        self.margins.append(_Margins(self, prepared))
        return super()._fit(prepared, monitor)


def test_oracle_of_the_objective_and_its_gradient():
    model = Recorded(mixture_ridge=0.05, threshold_penalty=0.3, class_margin=20.0, sample_margin=30.0)
    fit(model)
    margins, rng = model.margins[-1], np.random.default_rng(0)
    w, V = rng.standard_normal(14), rng.random((5, 14)) / 2
    place = np.concatenate([w, V.ravel()])
    value, gradient = margins(place)
    assert value == pytest.approx(objective_of(w, V, ZOO, model), rel=1e-9)
    expected = approx_fprime(place, lambda p: margins(p)[0], 1e-7)
    assert_allclose(gradient, expected, atol=1e-4 * np.abs(expected).max())
    at_end = objective_of(model.weights_, model.thresholds_, ZOO, model)
    assert model.objective_[-1] == pytest.approx(at_end, rel=1e-9)


def test_oracle_of_the_scores():
    model = fit(SSE(mixture_ridge=0.05))
    S = unit(ZOO.table.select(ZOO.seen).vectors)
    names = list(ZOO.table)
    similar = np.minimum(unit(ZOO.X_new)[:, None], model.thresholds_) @ model.weights_
    expected = similar @ np.array([shares_of(a, S, 0.05) for a in unit(ZOO.table.select(names).vectors)]).T
    assert_allclose(model.decision_function(ZOO.X_new, candidates=names), expected, atol=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_the_objective_never_rises(ridge):
    model = fit(SSE(mixture_ridge=ridge, max_iter=25, tol=0))
    assert model.n_iter_ == 25
    assert (np.diff(model.objective_) <= 1e-12 * model.objective_[0]).all()
    assert model.objective_[-1] < 0.5 * model.objective_[0]


def test_a_seen_class_is_itself_without_a_ridge():
    zoo = make_zoo(n_seen=5, n_attributes=12, n_features=7, rectified=True)
    model = fit(SSE(mixture_ridge=0), zoo)
    X = unit(zoo.X_new)
    own = np.minimum(X[:, None], model.thresholds_) @ model.weights_
    assert_allclose(model.decision_function(zoo.X_new, candidates="seen"), own, atol=1e-6 * np.abs(own).max())


def test_where_thresholds_do_not_matter_all_classes_tie():
    model = fit(SSE())
    model.arrays_ = model.arrays_ | {"thresholds": np.full((5, 14), 1e3)}
    scores = model.decision_function(ZOO.X_new, candidates="all", seen_penalty=0)
    assert_allclose(scores, np.repeat(scores[:, :1], scores.shape[1], axis=1), atol=1e-12)
    assert_allclose(scores[:, 0], unit(ZOO.X_new) @ model.weights_, atol=1e-12)


def test_rectified_differences_are_the_same_model_with_the_opposite_weights():
    """And so what is added to the similarities of all classes does not change who is best."""
    model = fit(SSE(mixture_ridge=0.05))
    S = unit(ZOO.table.select(ZOO.seen).vectors)
    X, w, V = unit(ZOO.X_new), model.weights_, model.thresholds_
    shares = np.array([shares_of(a, S, 0.05) for a in unit(ZOO.table.select(ZOO.unseen).vectors)])
    relu = np.maximum(0, X[:, None] - V) @ -w @ shares.T
    scores = model.decision_function(ZOO.X_new, candidates="unseen")
    assert_allclose(relu, scores - (X @ w)[:, None], atol=1e-9)


def test_margins():
    similar = np.array([[3.0, 0.0, 2.5]])
    value, slopes = missing(similar, np.array([0]), np.eye(3), np.array([2.0]))
    assert value == pytest.approx(2 * 0.5**2)
    assert_allclose(slopes, [[-2.0, 0, 2.0]])
    assert missing(similar + 7, np.array([0]), np.eye(3), np.array([2.0]))[0] == pytest.approx(value)


def test_samples_that_weigh_twice_are_there_twice():
    weights = np.where(np.arange(len(ZOO.X)) % 3 == 0, 2, 1)
    one = fit(SSE(max_iter=10), sample_weight=weights)
    twice = ZOO._replace(X=np.repeat(ZOO.X, weights, axis=0), y=np.repeat(ZOO.y, weights))
    two = fit(SSE(max_iter=10), twice)
    assert_allclose(one.objective_, two.objective_, rtol=1e-6)


def test_blocks_do_not_matter(monkeypatch):
    whole = fit(SSE(max_iter=8))
    monkeypatch.setattr("jcmspl.methods.sse._BLOCK", 7)
    assert_allclose(fit(SSE(max_iter=8)).objective_, whole.objective_, rtol=1e-8)


def test_what_was_fitted_counts():
    model = fit(SSE())
    before = model.decision_function(ZOO.X_new)
    assert_array_equal(model.set_params(mixture_ridge=5.0).decision_function(ZOO.X_new), before)


@pytest.mark.parametrize("normalisation", ["none", "power+sample_l2", "feature_l2", "auto_power+none"])
def test_normalisations_that_keep_signs(normalisation):
    assert fit(SSE(feature_normalisation=normalisation, class_kernel="rbf")).score(ZOO.X_new, ZOO.y_new) > 0.4


def test_negative_features_are_refused():
    refuses(SSE(), "Negative values in data passed to SSE")  # an ordinary zoo
    with pytest.raises(ValueError, match=r"feature_normalisation='sample_l2\+center'.*such as 'sample_l2'"):
        fit(SSE(feature_normalisation="sample_l2+center"))
    with pytest.raises(ValueError, match="Negative values in data passed to SSE"):
        fit(SSE(feature_normalisation="center+whiten"))
