import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.kernel_ridge import KernelRidge
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import KernelCenterer

from jcmspl.methods import EXEM, GFZSL
from support.linear import ZOO, ZOOS, class_means, explicit_data, fit, new_classes, new_samples


def variances_of(X, codes):
    return np.array([X[:, codes == number].var(axis=1) for number in range(codes.max() + 1)])


@ZOOS
@pytest.mark.parametrize(("penalty", "floor"), [(100.0, 0.05), (0.1, 1.0)])
def test_oracle_kernel_ridge_of_scikit_learn_and_densities_of_scipy(zoo, penalty, floor):
    X, _, S, codes = explicit_data(zoo)
    seen, new = S.T, new_classes(zoo)
    centerer = KernelCenterer().fit((1 + seen @ seen.T) ** 2)
    kernel, of_new = (centerer.transform((1 + rows @ seen.T) ** 2) for rows in (seen, new))
    scale = kernel.trace() / len(kernel)
    variances = variances_of(X, codes)
    unit = variances.mean()
    logarithms = np.log(variances / unit + 0.001)

    def predicted(targets, alpha):
        return KernelRidge(alpha=alpha, kernel="precomputed").fit(kernel / scale, targets).predict(of_new / scale)

    means = predicted(class_means(X, codes), 0.3)
    shared = logarithms.mean(axis=0)
    spreads = np.sqrt(unit * (np.exp(shared + predicted(logarithms - shared, penalty)) + floor))
    expected = norm.logpdf(new_samples(zoo)[:, None], means, spreads).sum(axis=2)
    model = fit(GFZSL(0.3, variance_penalty=penalty, variance_floor=floor), zoo)
    found = model.decision_function(zoo.X_new, candidates=zoo.unseen)
    assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


def test_without_penalties_seen_classes_are_those_of_naive_bayes():
    """Of scikit-learn, with the same variances but for what is added to them."""
    plain = GFZSL(1e-12, variance_penalty=1e-12, variance_floor=1e-9)
    X, _, _, codes = explicit_data(ZOO)
    bayes = GaussianNB(var_smoothing=0).fit(X.T, codes)
    Z = new_samples(ZOO)
    found = fit(plain).decision_function(ZOO.X_new, candidates="seen")
    bayes.var_ = bayes.var_ + 0.001 * variances_of(X, codes).mean()
    expected = bayes.predict_joint_log_proba(Z) + np.log(len(ZOO.seen))
    assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_a_large_floor_means_the_nearest_mean():
    model, nearest = fit(GFZSL(variance_floor=1e9)), fit(EXEM(class_kernel="poly2"))
    assert_array_equal(model.predict(ZOO.X_new), nearest.predict(ZOO.X_new))


def test_a_large_penalty_makes_variances_those_that_all_classes_share():
    model = fit(GFZSL(variance_penalty=1e12))
    variances = model._variances(model.class_normalisation_.of_rows(ZOO.table.vectors))
    assert_allclose(variances, np.ones((len(variances), 1)) * variances[0], rtol=1e-9)


def test_weights_are_repetitions():
    weights = np.arange(len(ZOO.X)) % 3
    weighed = GFZSL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table, sample_weight=weights)
    repeated = GFZSL().fit(np.repeat(ZOO.X, weights, axis=0), np.repeat(ZOO.y, weights), class_vectors=ZOO.table)
    for name, array in weighed.arrays_.items():
        assert_allclose(array, repeated.arrays_[name], atol=1e-9)


def test_one_sample_of_each_class_has_no_variance():
    one_each = [int(np.flatnonzero(ZOO.y == label)[0]) for label in ZOO.seen]
    alone = ZOO._replace(X=ZOO.X[one_each], y=ZOO.y[one_each])
    nearest = fit(EXEM(class_kernel="poly2"), alone)
    assert_array_equal(fit(GFZSL(), alone).predict(ZOO.X_new), nearest.predict(ZOO.X_new))


def test_classes_far_from_the_seen_ones_have_finite_scores():
    model = fit(GFZSL(variance_penalty=0.0, class_normalisation="none"))
    far = {"far": 1e3 * ZOO.table[ZOO.seen[0]], "farther": -1e3 * ZOO.table[ZOO.seen[1]]}
    assert np.isfinite(model.decision_function(ZOO.X_new, class_vectors=far)).all()
