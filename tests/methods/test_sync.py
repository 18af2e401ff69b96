import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.linear_model import Ridge

from jcmspl.methods import SynC
from support.linear import WIDE, ZOO, ZOOS, fit
from support.normalised import explicit


def classifiers(zoo, penalty):
    """One ridge regression on labels of 1 and -1 for each seen class."""
    X, codes = explicit("sample_l2", zoo.X), np.array([zoo.seen.index(label) for label in zoo.y])
    labels = np.where(codes[:, None] == np.arange(len(zoo.seen)), 1.0, -1.0)
    return Ridge(alpha=penalty / 2 * labels.size, fit_intercept=False, solver="svd").fit(X, labels).coef_


def parts(zoo, tau):
    """The shares of seen classes in seen and in unseen ones."""
    seen, new = (explicit("sample_l2", zoo.table.select(names).vectors) for names in (zoo.seen, zoo.unseen))
    unit = np.median(pdist(seen))
    kernels = [np.exp(-tau * cdist(rows, seen) ** 2 / unit**2) for rows in (seen, new)]
    return [kernel / kernel.sum(axis=1, keepdims=True) for kernel in kernels]


def scores(model, zoo, candidates):
    return model.decision_function(zoo.X_new, candidates=candidates)


@ZOOS
@pytest.mark.parametrize(("penalty", "tau"), [(2.0**-16, 1.0), (1e-3, 0.5), (0.1, 4.0)])
def test_oracle_ridge_of_scikit_learn_and_combinations_of_it(zoo, penalty, tau):
    of_seen, of_new = parts(zoo, tau)
    base = np.linalg.solve(of_seen, classifiers(zoo, penalty))
    expected = explicit("sample_l2", zoo.X_new) @ (of_new @ base).T
    model = fit(SynC(penalty, tau=tau), zoo)
    assert_allclose(scores(model, zoo, zoo.unseen), expected, atol=1e-8 * np.abs(expected).max())


@ZOOS
def test_classifiers_of_seen_classes_are_those_that_were_learnt(zoo):
    expected = explicit("sample_l2", zoo.X_new) @ classifiers(zoo, 1e-3).T
    for tau in (0.5, 2.0):
        found = scores(fit(SynC(1e-3, tau=tau), zoo), zoo, "seen")
        assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


def test_a_large_tau_makes_a_class_its_nearest_seen_one():
    model = fit(SynC(1e-3, tau=1e5))
    seen, new = (explicit("sample_l2", ZOO.table.select(names).vectors) for names in (ZOO.seen, ZOO.unseen))
    nearest = cdist(new, seen).argmin(axis=1)
    assert_allclose(scores(model, ZOO, "unseen"), scores(model, ZOO, "seen")[:, nearest], atol=1e-12)


def test_without_tau_all_candidates_are_alike():
    found = scores(fit(SynC(tau=0)), ZOO, "unseen")
    assert_allclose(found, found[:, :1] * np.ones(3), atol=1e-12)


def test_tau_may_be_changed_after_a_fit():
    model = fit(SynC(tau=0.5))
    assert_array_equal(scores(model.set_params(tau=2.0), ZOO, "unseen"), scores(fit(SynC(tau=2.0)), ZOO, "unseen"))
    with pytest.raises(ValueError, match="tau must be"):
        model.set_params(tau=-1.0).predict(ZOO.X_new)


def test_the_gradient_of_the_squared_loss_vanishes():
    X, codes = explicit("sample_l2", WIDE.X), np.array([WIDE.seen.index(label) for label in WIDE.y])
    W = fit(SynC(1e-3), WIDE).arrays_["classifiers"]
    labels = np.where(codes[:, None] == np.arange(len(W)), 1.0, -1.0)
    gradient = 2 / labels.size * (X @ W.T - labels).T @ X + 1e-3 * W
    assert np.abs(gradient).max() < 1e-14


@pytest.mark.filterwarnings("ignore:.*have the same class vector")
def test_equal_class_vectors():
    """The unit of distances is a median of those that are not zero; classes that are the same share a classifier."""
    table = {name: ZOO.table[ZOO.seen[0]] if name in ZOO.seen[:4] else ZOO.table[name] for name in ZOO.table}
    model = SynC().fit(ZOO.X, ZOO.y, class_vectors=table)
    found = scores(model, ZOO, "seen")
    assert_allclose(found[:, :4], found[:, :1] * np.ones(4), atol=1e-10)
    assert np.isfinite(scores(model, ZOO, "unseen")).all()
