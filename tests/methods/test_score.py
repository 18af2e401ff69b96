import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from jcmspl.data.training import TrainingData
from jcmspl.methods import SCoRe, SemanticSoftmax
from jcmspl.methods.semantic_softmax import SoftmaxObjective
from support.animals import make_zoo
from support.linear import ZOO, explicit_data, fit

EXACT = {"max_iter": 5000, "tol": 1e-9}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def value(T, C, X, S, codes, *, penalty, attribute_match, codeword_match, weights=None):
    """The published objective, sample by sample; a row of X, S for each sample, class."""
    weights = np.ones(len(X)) if weights is None else weights
    g, d = attribute_match / (1 + attribute_match), S.shape[1]
    labels = (S - S.min(axis=0)) / np.ptp(S, axis=0)
    total = 0.0
    for x, y, weight in zip(X, codes, weights, strict=True):
        of_class = -np.log(softmax(C @ T @ x)[y])
        of_attributes = -sum(
            a * np.log(expit(score)) + (1 - a) * np.log(expit(-score))
            for a, score in zip(labels[y], T @ x, strict=True)
        )
        total += weight * ((1 - g) * of_class + g * 10 / (d * np.sqrt(2)) * of_attributes)
    return total / weights.sum() + codeword_match * np.sum((C - unit(S)) ** 2) + penalty * np.sum(T**2)


class Blocks:
    """Samples in two blocks, as the objective reads them."""

    def __init__(self, X, S, codes, weights):
        self.class_vectors, self.n_features, self.total_weight = S, X.shape[1], weights.sum()
        self.mean_square = np.mean(X**2)
        self._parts = [(X[part], codes[part], weights[part]) for part in (slice(0, 7), slice(7, None))]

    def __iter__(self):
        return iter(self._parts)


@pytest.mark.parametrize("codeword_match", [0.5, np.inf])
@pytest.mark.parametrize("attribute_match", [0.0, 0.3])
def test_the_objective_and_its_gradient(attribute_match, codeword_match):
    rng = np.random.default_rng(0)
    X, S, codes = rng.standard_normal((20, 5)), rng.standard_normal((4, 3)), np.arange(20) % 4
    weights = rng.uniform(0.5, 2, 20)
    objective = SoftmaxObjective(Blocks(X, S, codes, weights), 0.01, attribute_match, codeword_match)
    point = objective.start() + rng.standard_normal(len(objective.start()))
    T, C = objective.parts(point)
    options = {"penalty": 0.01, "attribute_match": attribute_match, "weights": weights}
    options["codeword_match"] = codeword_match if np.isfinite(codeword_match) else 0.0
    assert objective(point)[0] == pytest.approx(value(T, C, X, S, codes, **options))
    error = check_grad(lambda p: objective(p)[0], lambda p: objective(p)[1], point)
    assert error < 1e-5 * np.linalg.norm(objective(point)[1])


def test_oracle_logistic_regression_of_scikit_learn():
    """Where each class has a dimension of its own, codewords are fixed and attributes do not count."""
    zoo, penalty = make_zoo(noise=2.0), 0.01
    plain = {"feature_normalisation": "none", "class_normalisation": "none", **EXACT}
    regression = LogisticRegression(C=1 / (2 * penalty * len(zoo.y)), fit_intercept=False, tol=1e-10, max_iter=5000)
    expected = regression.fit(zoo.X, zoo.y).predict_proba(zoo.X)
    model = SCoRe(penalty, attribute_match=0.0, codeword_match=np.inf)
    fitted = model.set_params(**plain, temperature=1.0).fit(zoo.X, zoo.y)
    assert_allclose(fitted.visual_projection_, regression.coef_, atol=1e-5)
    assert_allclose(fitted.predict_proba(zoo.X), expected, atol=1e-6)


def test_a_stationary_point_of_the_published_objective():
    X, _, S, codes = explicit_data(ZOO)
    options = {"attribute_match": 0.5, "codeword_match": 0.02}
    model = fit(SCoRe(1e-3, **options, **EXACT))
    T, C = model.visual_projection_, model.codewords_
    assert np.abs(C - unit(S.T)).max() > 1e-3

    def at(T, C):
        return value(T, C, X.T, S.T, codes, penalty=1e-3, **options)

    assert model.objective_[-1] == pytest.approx(at(T, C))
    rng = np.random.default_rng(0)
    for _ in range(5):
        of_T, of_C = 1e-3 * rng.standard_normal(T.shape), 1e-3 * rng.standard_normal(C.shape)
        slope = (at(T + of_T, C + of_C) - at(T - of_T, C - of_C)) / 2
        assert abs(slope) < 1e-7


def test_infinite_match_fixes_the_codewords():
    _, _, S, _ = explicit_data(ZOO)
    model = fit(SCoRe(codeword_match=np.inf))
    assert_allclose(model.codewords_, unit(S.T), atol=1e-15)
    near = fit(SCoRe(1e-2, codeword_match=1e6, attribute_match=0.0, **EXACT))
    assert_allclose(near.visual_projection_, fit(SemanticSoftmax(1e-2, **EXACT)).visual_projection_, atol=1e-3)


def test_scores_by_vectors_and_by_codewords():
    model = fit(SCoRe(codeword_match=1e-3))
    X, _, S, _ = explicit_data(ZOO)
    T = model.visual_projection_
    by_vectors = model.decision_function(ZOO.X, candidates="seen")
    assert_allclose(by_vectors, X.T @ T.T @ unit(S.T).T, atol=1e-8)
    by_codewords = model.transform(ZOO.X) @ model.codewords_.T
    assert_allclose(by_codewords, X.T @ T.T @ model.codewords_.T, atol=1e-8)
    assert not np.allclose(by_vectors, by_codewords)


def test_samples_are_read_again_where_they_are_many(monkeypatch):
    kept = fit(SCoRe())
    monkeypatch.setattr("jcmspl.model.iterations._KEPT", 0)
    reads = []
    read = TrainingData.samples
    monkeypatch.setattr(TrainingData, "samples", lambda self, *given: reads.append(1) or read(self, *given))
    assert_array_equal(fit(SCoRe()).visual_projection_, kept.visual_projection_)
    assert len(reads) >= kept.n_iter_


def test_the_course_of_the_descent():
    model = fit(SCoRe(1e-2))
    assert model.converged_
    assert len(model.objective_) == model.n_iter_ > 1
    assert (np.diff(model.objective_) <= 0).all()
    with pytest.warns(match="before it converged"):
        assert fit(SCoRe(max_iter=1)).n_iter_ == 1
