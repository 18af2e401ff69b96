import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer

from jcmspl.methods import EXEM, ClassMeanRidge
from support.linear import (
    ZOO,
    ZOOS,
    assert_same_but_for_a_shared_term,
    class_means,
    explicit_data,
    fit,
    new_classes,
    new_samples,
)


def scores(model, zoo):
    return model.decision_function(zoo.X_new, candidates=zoo.unseen)


@ZOOS
@pytest.mark.parametrize("width", [0.5, 2.0])
def test_oracle_kernel_ridge_of_scikit_learn(zoo, width):
    """The kernel of classes is centred and of unit mean diagonal, by scikit-learn; samples are compared by SciPy."""
    X, _, S, codes = explicit_data(zoo)
    seen, new = S.T, new_classes(zoo)
    gamma = 1 / (2 * (width * np.median(pdist(seen))) ** 2)
    plain, of_new = (np.exp(-gamma * cdist(rows, seen, "sqeuclidean")) for rows in (seen, new))
    centerer = KernelCenterer().fit(plain)
    kernel, of_new = centerer.transform(plain), centerer.transform(of_new)
    scale = kernel.trace() / len(kernel)
    ridge = KernelRidge(alpha=0.2, kernel="precomputed").fit(kernel / scale, class_means(X, codes))
    predicted = ridge.predict(of_new / scale)
    expected = -cdist(new_samples(zoo), predicted, "sqeuclidean") / 2
    assert_same_but_for_a_shared_term(scores(fit(EXEM(0.2, kernel_width=width), zoo), zoo), expected)


def test_oracle_standardised_distances_of_scipy():
    X, _, _, codes = explicit_data(ZOO)
    model = fit(EXEM(distance="standardised"))
    within = X - class_means(X, codes).T[:, codes]
    variances = (within**2).mean(axis=1)
    predicted = model._means(model.class_normalisation_.of_rows(ZOO.table.select(ZOO.unseen).vectors))
    distances = cdist(new_samples(ZOO), predicted, "seuclidean", V=variances)
    expected = -(distances**2) / 2 * np.sqrt(variances).mean() ** 2
    assert_same_but_for_a_shared_term(scores(model, ZOO), expected)


@ZOOS
def test_the_linear_kernel_is_the_ridge_regression_of_means(zoo):
    model, ridge = fit(EXEM(0.5, class_kernel="linear"), zoo), fit(ClassMeanRidge(0.5), zoo)
    assert_allclose(model.arrays_["mean_map"], ridge.visual_projection_, atol=1e-12)
    assert_allclose(scores(model, zoo), scores(ridge, zoo), atol=1e-12)


@ZOOS
def test_without_a_penalty_the_means_of_seen_classes_are_met(zoo):
    X, _, _, codes = explicit_data(zoo)  # classes of one size: the mean of all means is zero, as the kernel's is
    model = fit(EXEM(1e-12), zoo)
    predicted = model._means(model.class_normalisation_.of_rows(zoo.table.select(zoo.seen).vectors))
    assert_allclose(predicted, class_means(X, codes), atol=1e-9)


@pytest.mark.filterwarnings("error")
def test_samples_of_a_class_that_do_not_differ():
    """In some dimensions, or in all: there is nothing to divide by."""
    X = ZOO.X.copy()
    for label in ZOO.seen:
        X[ZOO.y == label, 3] = X[ZOO.y == label, 3].mean()
    model = fit(EXEM(distance="standardised", feature_normalisation="none"), ZOO._replace(X=X))
    assert model.arrays_["scale"][3] == 1
    assert model.score(ZOO.X_new, ZOO.y_new) > 0.6
    one_each = [int(np.flatnonzero(ZOO.y == label)[0]) for label in ZOO.seen]
    alone = ZOO._replace(X=ZOO.X[one_each], y=ZOO.y[one_each])
    plain, standardised = (fit(EXEM(distance=name), alone) for name in ("euclidean", "standardised"))
    assert_array_equal(plain.decision_function(ZOO.X_new), standardised.decision_function(ZOO.X_new))


def test_samples_of_a_class_that_do_not_differ_and_are_far_from_the_origin():
    """Rounding errors that centring leaves of squares are no deviation."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y, means, vectors = np.arange(48) % 4, 50 + rng.standard_normal((4, 9)), rng.standard_normal((6, 3))
        options = {"feature_normalisation": "zscore", "distance": "standardised", "progress": False}
        model = EXEM(**options).fit(means[y], y, class_vectors=vectors)
        assert_array_equal(model.arrays_["scale"], 1)
