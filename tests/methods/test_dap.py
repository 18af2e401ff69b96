import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from jcmspl import ClassTable
from jcmspl.methods import DAP
from jcmspl.model.posteriors import Signatures
from support.linear import WIDE, ZOO, explicit_data, fit, refuses
from support.posteriors import normalised, scores_of

RNG = np.random.default_rng(0)


def by_hand(S, U, p, use_prior=True):
    """The published rule as a product: candidates U, training classes S (binary, rows), p of each sample."""
    prior = S.mean(axis=0)
    scores = np.ones((len(p), len(U)))
    for i, j in np.ndindex(*scores.shape):
        for a in range(S.shape[1]):
            if prior[a] in (0, 1):
                continue
            has = U[j, a]
            scores[i, j] *= p[i, a] if has else 1 - p[i, a]
            if use_prior:
                scores[i, j] /= prior[a] if has else 1 - prior[a]
    return scores


def signatures(n_classes=6, n_attributes=8):
    return Signatures.fitted(RNG.random((n_classes, n_attributes)), "attribute_mean")


@pytest.mark.parametrize("use_prior", [True, False])
@pytest.mark.parametrize("normalisation", ["sample_l2+center", "none"])
def test_oracle_product_of_the_posteriors_of_scikit_learn(normalisation, use_prior):
    X, _, S, codes = explicit_data(ZOO, normalisation)
    options = {"feature_normalisation": normalisation, "class_normalisation": normalisation}
    model = fit(DAP(shrinkage=0.0, use_prior=use_prior, **options))
    Z, vectors = normalised(model, ZOO)
    binary = vectors > S.mean(axis=1)
    p = []
    for attribute in binary[:6].T:
        lda = LinearDiscriminantAnalysis(solver="lsqr").fit(X.T, attribute[codes])
        p.append(np.clip(lda.predict_proba(Z)[:, 1], 1e-6, 1 - 1e-6))
    expected = by_hand(binary[:6], binary, np.array(p).T, use_prior)
    assert_allclose(scores_of(model, ZOO), np.log(expected), atol=1e-6)


@pytest.mark.parametrize("shrinkage", [1e-3, 0.4, 1.0])
def test_the_covariance_is_that_within_the_two_groups_and_is_shrunk(shrinkage):
    X, _, S, codes = explicit_data(WIDE)
    model = fit(DAP(shrinkage=shrinkage), WIDE)
    level = np.mean(np.var(X, axis=1))
    for attribute, row in enumerate(S.mean(axis=1, keepdims=True) < S):
        has = row[codes]
        one, other = X[:, has].mean(axis=1), X[:, ~has].mean(axis=1)
        within = X - np.where(has, one[:, None], other[:, None])
        shrunk = (1 - shrinkage) * within @ within.T / X.shape[1] + shrinkage * level * np.eye(len(X))
        weights = np.linalg.solve(shrunk, one - other)
        offset = np.log(has.mean() / (1 - has.mean())) - weights @ (one + other) / 2
        assert_allclose(model.arrays_["weights"][attribute], weights, atol=1e-8 * np.abs(weights).max())
        assert_allclose(model.arrays_["offsets"][attribute], offset, atol=1e-7 * np.abs(weights).max())


def test_what_is_as_likely_as_before_scores_zero():
    known = signatures()
    prior = np.repeat(known.prior[None], 3, axis=0)
    assert_array_equal(known.scores(prior, known.training, use_prior=True), np.zeros((3, 6)))


def test_an_attribute_and_its_opposite_are_the_same():
    flipped = ClassTable(list(ZOO.table), ZOO.table.vectors * np.where(np.arange(8) % 3, 1, -1))
    options = {"class_normalisation": "center"}
    one, two = (scores_of(fit(DAP(**options), zoo), zoo) for zoo in (ZOO, ZOO._replace(table=flipped)))
    assert_allclose(one, two, atol=1e-8 * np.abs(one).max())


def test_sure_attributes_name_the_class():
    binary = np.array([[i >> bit & 1 for bit in range(4)] for i in range(16)], dtype=float)
    known = Signatures.fitted(binary[[1, 2, 4, 8, 15]], "attribute_mean")
    found = known.scores(binary, known.of(binary), use_prior=True)
    assert_array_equal(found.argmax(axis=1), np.arange(16))


@pytest.mark.parametrize("use_prior", [True, False])
@pytest.mark.parametrize("n_attributes", [8, 20, 312])
def test_equal_signatures_tie(n_attributes, use_prior):
    """To the last digit, whatever BLAS makes of columns at the edge, and whether or not others are among them."""
    plain = signatures(n_attributes=n_attributes)
    known = Signatures.above(plain.thresholds, plain.training * (np.arange(n_attributes) > 0))
    assert not known.varies[0]
    for n in range(2, 20):
        candidates = np.repeat(known.training[:1], n + 1, axis=0)
        candidates[0] = 1 - candidates[0]
        candidates[-1, 0] = 1  # of an attribute that does not count
        found = known.scores(RNG.random((45, n_attributes)), candidates, use_prior=use_prior)
        assert_array_equal(found[:, 1:], np.repeat(found[:, 1:2], n, axis=1))
        assert not np.allclose(found[:, 0], found[:, 1])


@pytest.mark.parametrize("use_prior", [True, False])
def test_logarithms_are_those_of_the_product(use_prior):
    known, p, candidates = signatures(n_attributes=20), RNG.random((5, 20)), RNG.integers(0, 2, (4, 20)).astype(float)
    assert known.varies.all()
    expected = by_hand(known.training, candidates, p, use_prior)
    assert_allclose(np.exp(known.scores(p, candidates, use_prior=use_prior)), expected, rtol=1e-10)


def test_attributes_that_do_not_vary_do_not_count():
    vectors = np.hstack([ZOO.table.vectors, np.full((9, 1), 0.1)])
    vectors[list(ZOO.table).index(ZOO.unseen[0]), -1] = 5.0  # of an unseen class
    more = ZOO._replace(table=ClassTable(list(ZOO.table), vectors))
    one, two = (scores_of(fit(DAP(class_normalisation="none"), zoo), zoo) for zoo in (ZOO, more))
    assert_allclose(one, two)


def test_thresholds():
    vectors = np.array([[0.0, 10.0], [1.0, 20.0]])
    assert_array_equal(Signatures.fitted(vectors, "attribute_mean").training, [[0, 0], [1, 1]])
    assert_array_equal(Signatures.fitted(vectors, "overall_mean").training, [[0, 1], [0, 1]])
    binary = RNG.integers(0, 2, (9, 5)).astype(float)
    assert_array_equal(Signatures.fitted(binary, "attribute_mean").training, binary)


def test_what_was_fitted_counts():
    model = fit(DAP(class_normalisation="none"))
    before = scores_of(model, ZOO)
    assert_array_equal(scores_of(model.set_params(threshold="overall_mean"), ZOO), before)
    other = fit(DAP("overall_mean", class_normalisation="none"))
    assert not np.allclose(scores_of(other, ZOO), before)


def test_groups_that_never_mix_have_finite_odds():
    X = np.array([[0.0, 1], [0, 1], [1, 0], [1, 0]])
    model = DAP(shrinkage=0.0, feature_normalisation="center").fit(X, [0, 0, 1, 1], class_vectors=np.eye(2))
    assert_array_equal(model.predict(X), [0, 0, 1, 1])


def test_vectors_that_cannot_be_made_binary():
    same = ZOO._replace(table=ClassTable(list(ZOO.table), np.tile([1.0, 5.0, 9.0], (9, 1))))
    with pytest.warns(RuntimeWarning, match="have the same class vector"):
        refuses_on(same, DAP(class_normalisation="none"), "DAP asks which training classes have an attribute")
    refuses(DAP("median"), "threshold must be one of")


def refuses_on(zoo, model, message):
    with pytest.raises(ValueError, match=message):
        fit(model, zoo)
