import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cosine

from jcmspl import ClassTable
from jcmspl.methods import ConSE
from jcmspl.methods.conse import _cosines
from support.linear import ZOO, ZOOS, fit
from support.posteriors import SHRINKAGE, TEMPERATURE, lda_posterior, normalised, of_logits, scores_of

RNG = np.random.default_rng(0)
LOGITS = 2 * RNG.standard_normal((30, 7))
P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
S, U = RNG.standard_normal((7, 4)), RNG.standard_normal((5, 4))


def scores(logits, n_likely, training=S, candidates=U):
    return _cosines(of_logits(len(training)), n_likely, training, candidates, logits)


@ZOOS
@pytest.mark.parametrize("n_likely", [1, 3, 100])
def test_oracle_definition_with_the_posterior_of_scikit_learn(zoo, n_likely):
    model = fit(ConSE(n_likely, shrinkage=SHRINKAGE, posterior_temperature=TEMPERATURE), zoo)
    Z, vectors = normalised(model, zoo)
    expected = []
    for p in lda_posterior(zoo, Z):
        likely = np.argsort(-p)[:n_likely]
        f = sum(p[k] * vectors[k] for k in likely) / p[likely].sum()
        expected.append([1 - cosine(f, vector) for vector in vectors])
    assert_allclose(scores_of(model, zoo), expected, atol=1e-7)


def test_with_one_class_only_that_counts():
    best = P.argmax(axis=1)
    expected = np.array([[1 - cosine(S[k], u) for u in U] for k in best])
    assert_allclose(scores(LOGITS, 1), expected)


def test_with_all_classes_it_is_the_mean_vector():
    expected = [[1 - cosine(p @ S, u) for u in U] for p in P]
    assert_allclose(scores(LOGITS, 7), expected)


@pytest.mark.parametrize("normalisation", ["none", "center", "sample_l2+center"])
def test_the_unit_of_class_vectors_does_not_matter(normalisation):
    larger = ZOO._replace(table=ClassTable(list(ZOO.table), 7.5 * ZOO.table.vectors))
    one, two = (scores_of(fit(ConSE(class_normalisation=normalisation), zoo), zoo) for zoo in (ZOO, larger))
    assert_allclose(one, two, atol=1e-12)


@pytest.mark.parametrize("n_likely", [1, 2, 4, 7])
def test_orthonormal_training_classes_are_named_by_the_posterior(n_likely):
    basis = np.linalg.qr(RNG.standard_normal((9, 9)))[0][:7]
    assert_array_equal(scores(LOGITS, n_likely, basis, basis).argmax(axis=1), P.argmax(axis=1))


def test_a_sure_posterior_leaves_no_choice():
    certain = 1e4 * np.eye(7)
    for n_likely in (2, 5, 7):
        assert_allclose(scores(certain, n_likely), scores(certain, 1), atol=1e-12)


def test_vectors_that_cancel_say_nothing():
    opposite = np.array([[1.0, 0], [-1.0, 0]])
    assert_array_equal(scores(np.zeros((1, 2)), 2, opposite, np.eye(2)), [[0, 0]])
