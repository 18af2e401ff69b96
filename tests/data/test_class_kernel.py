"""Kernels of class vectors: against kernels themselves, and kernel ridge regression."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import KernelCenterer

from jcmspl import JCMSPL, JCMSPLCV, ClassSearchCV, load
from jcmspl.data.class_kernel import ClassKernel
from jcmspl.data.normalisation import Normalisation
from jcmspl.methods import ESZSL, RPL, SAE
from support.animals import make_zoo

ZOO = make_zoo(noise=1.0)
KERNELS = ("poly2", "rbf")


def scikit_learns(name, width, one, two):
    if name == "poly2":
        return polynomial_kernel(one, two, degree=2, gamma=1, coef0=1)
    return rbf_kernel(one, two, gamma=1 / (2 * width**2))


@given(
    st.sampled_from(KERNELS),
    st.sampled_from([0.3, 1.0, 3.0]),
    st.integers(2, 12),
    st.integers(1, 5),
    st.integers(0, 99),
)
def test_inner_products_are_the_centred_kernel(name, width, n, d, seed):
    rng = np.random.default_rng(seed)
    anchors = rng.standard_normal((n, d))
    kernel = ClassKernel.fitted(name, width, anchors)
    expected = KernelCenterer().fit_transform(scikit_learns(name, kernel.width, anchors, anchors))
    expected /= np.trace(expected) / n
    mapped = kernel.of(anchors)
    assert_allclose(mapped @ mapped.T, expected, atol=1e-6)
    assert_allclose(np.mean(np.sum(mapped**2, axis=1)), 1)
    assert_allclose(mapped.mean(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_a_ridge_regression_with_a_kernel_is_kernel_ridge_regression(name):
    model = RPL(alpha=0.7, class_kernel=name, metric="dot").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    kernel = model.class_normalisation_.kernel
    plain = Normalisation.from_rows("sample_l2+center", ZOO.table.select(model.classes_.tolist()).vectors)
    Z = model.feature_normalisation_.of_rows(ZOO.X)
    y = plain.of_rows(ZOO.table.vectors[ZOO.table.positions(list(ZOO.y), "y")])
    new = plain.of_rows(ZOO.table.select(ZOO.unseen).vectors)
    # the kernel, centred on the training classes (of which there are as many samples each or not) and scaled as ours
    gram, cross = (kernel.of(rows) @ kernel.of(y).T for rows in (y, new))
    by_scikit_learn = KernelRidge(alpha=0.7, kernel="precomputed").fit(gram, Z).predict(cross)
    assert_allclose(
        model.reconstruct_visual(ZOO.table.select(ZOO.unseen)),
        model.feature_normalisation_.undone(by_scikit_learn),
        rtol=1e-6,
        atol=1e-9,
    )


@pytest.mark.parametrize("method", [JCMSPL, RPL, SAE, ESZSL])
@pytest.mark.parametrize("name", KERNELS)
def test_every_method_takes_it(method, name, tmp_path):
    model = method(class_kernel=name).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    mapped = model.class_normalisation_.of_rows(ZOO.table.vectors)
    by_hand = method(class_normalisation="none").fit(
        ZOO.X, ZOO.y, class_vectors=dict(zip(ZOO.table, mapped, strict=True))
    )
    scores = model.decision_function(ZOO.X_new, candidates="unseen")
    assert_allclose(scores, by_hand.decision_function(ZOO.X_new, candidates="unseen"), rtol=1e-9, atol=1e-12)
    new = {"one": ZOO.table.vectors[0], "two": ZOO.table.vectors[-1]}  # classes named at the call
    assert model.decision_function(ZOO.X_new, class_vectors=new).shape[0] == len(ZOO.X_new)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert_array_equal(again.decision_function(ZOO.X_new, candidates="unseen"), scores)
    assert again.class_kernel == name
    parts = method(class_kernel=name)
    for rows in np.array_split(np.arange(len(ZOO.X)), 2):
        parts.partial_fit(ZOO.X[rows], np.asarray(ZOO.y)[rows], class_vectors=ZOO.table)
    assert_allclose(parts.decision_function(ZOO.X_new, candidates="unseen"), scores, rtol=1e-5, atol=1e-8)


def test_what_a_kernel_cannot_tell():
    model = JCMSPL(class_kernel="poly2").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    with pytest.raises(ValueError, match="explain needs class_kernel='linear'"):
        model.explain(ZOO.X_new[:1], candidates="unseen")
    with pytest.raises(ValueError, match="cannot be had back from class_kernel='poly2'"):
        model.reconstruct_semantic(ZOO.X_new)


def test_a_search_over_kernels_equals_plain_fits():
    axes = {"class_kernel": ["linear", "poly2", "rbf"], "kernel_width": [0.5, 1.0]}
    search = ClassSearchCV(RPL(), axes, cv=3, random_state=0).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert len(search.cv_results_["params"]) == 6
    best = RPL(**search.best_params_).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert_allclose(search.best_estimator_.visual_projection_, best.visual_projection_, rtol=1e-9)
    tuned = JCMSPLCV(
        class_match=1.0, semantic_match=0.01, class_kernel=("linear", "poly2"), space="visual", cv=3, extend=0
    )
    assert tuned.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).best_params_["class_kernel"] in ("linear", "poly2")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"class_kernel": "cubic"}, "class_kernel must be one of 'linear', 'poly2', 'rbf'"),
        ({"kernel_width": -1}, "kernel_width must be above 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        JCMSPL(**parameters).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def test_equal_vectors_and_two_classes():
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.repeat([0, 1], 10)
    for vectors in (np.ones((2, 2)), np.eye(2)):
        for name in KERNELS:
            kernel = ClassKernel.fitted(name, 1.0, vectors)
            assert np.isfinite(kernel.of(vectors)).all()
    model = RPL(class_kernel="rbf").fit(X, y, class_vectors=np.eye(2))
    assert np.isfinite(model.visual_projection_).all()


@pytest.mark.parametrize("name", KERNELS)
def test_what_all_seen_classes_share_is_no_difference_between_them(name):
    for seed in range(30):
        n = 2 + seed
        anchors = np.random.default_rng(seed).standard_normal((2, 3)) if seed % 2 else np.eye(n)
        anchors = anchors - anchors.mean(axis=0)  # the kernel treats them all alike, and 1 is an eigenvector
        kernel = ClassKernel.fitted(name, 1.0, anchors)
        mapped, new = kernel.of(anchors), kernel.of(np.zeros_like(anchors))
        shared = np.abs(mapped).max(axis=0) < 1e-9
        assert shared.sum() == 1
        assert not mapped[:, shared].any()
        assert (np.abs(new[:, shared]) > 1e-3).all()  # in which other classes differ from them
