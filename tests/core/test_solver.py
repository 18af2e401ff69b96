"""The solver agrees with the textbook, whatever the weights and the data."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import jcmspl
from jcmspl.core import Spectrum, StartStatistics, Statistics
from support.descent import PLAIN, fit, relative_error, spectrum_of, textbook
from support.reference import PAPER_SETTINGS, class_codes, jcmspl_iterations
from support.samples import make_samples


def ablations(name):
    """The paper's ablations of one of its settings."""
    l1, l2, l3, l4 = PAPER_SETTINGS[name]
    return {"full": (l1, l2, l3, l4), "JCMSPL1": (l1, 0, l3, l4), "JCMSPL0": (l1, l2, 0, 0), "IPL": (l1, 0, 0, 0)}


def textbook_twice(samples, lambdas, start, n_iter):
    """Iterations of the reference, each with how far two correct float64 runs may be apart.

    The second run takes the samples in another order: in exact arithmetic nothing would change, so the difference is
    the rounding unit times the conditioning of the problem. With the paper's weights for AwA (1e7) and CUB (1e4) that
    can be more than the 1e-8 asked for everywhere else.
    """
    order = np.random.default_rng(2).permutation(len(samples.X))
    shuffled = samples._replace(X=samples.X[order], labels=samples.labels[order])
    runs = zip(textbook(samples, lambdas, start, n_iter), textbook(shuffled, lambdas, start, n_iter), strict=True)
    spread = 0.0
    for (A, B, C, terms), (other_A, other_B, _, _) in runs:
        spread = max(spread, relative_error(other_A, A), relative_error(other_B, B))
        yield A, B, C, terms, max(1e-8, 20 * spread)


@pytest.mark.parametrize("ablation", ["full", "JCMSPL1", "JCMSPL0", "IPL"])
@pytest.mark.parametrize("setting", PAPER_SETTINGS)
@pytest.mark.parametrize(
    "shape",  # with few attributes the descent keeps to the basis of H, else not
    [{"n": 400, "m": 40, "d": 12, "c": 8}, {"n": 300, "m": 20, "d": 30, "c": 10}, {"n": 400, "m": 40, "d": 3, "c": 12}],
    ids=["d > c", "d > m", "d < c"],
)
def test_equals_the_textbook_at_every_iteration(setting, ablation, shape):
    samples = make_samples(**shape)
    lambdas = ablations(setting)[ablation]
    start = np.random.default_rng(1).standard_normal((shape["c"], shape["c"]))
    spectrum = spectrum_of(samples)
    objective = fit(spectrum, lambdas, start=start, max_iter=35).objective
    for t, (A, B, _, terms, tolerance) in enumerate(textbook_twice(samples, lambdas, start, 35)):
        solution = fit(spectrum, lambdas, start=start, max_iter=t + 1)
        assert relative_error(solution.visual_projection, A) < tolerance, f"A in iteration {t + 1}"
        assert relative_error(solution.semantic_projection, B) < tolerance, f"B in iteration {t + 1}"
        assert objective[t] == pytest.approx(terms.sum(), rel=1e-9), f"objective in iteration {t + 1}"
        assert_allclose(solution.terms[t], terms, rtol=0, atol=1e-9 * terms.sum())


def test_the_tolerance_of_most_settings_is_tight():
    """Guards the test above: its derived tolerance must not swallow everything."""
    samples = make_samples(n=400, m=40, d=12, c=8)
    start = np.random.default_rng(1).standard_normal((8, 8))
    for lambdas in (PLAIN, PAPER_SETTINGS["SUN"], PAPER_SETTINGS["ImNet"]):
        *_, (A, B, _, _) = textbook(samples, lambdas, start, 20)
        solution = fit(spectrum_of(samples), lambdas, start=start, max_iter=20)
        assert relative_error(solution.visual_projection, A) < 1e-10
        assert relative_error(solution.semantic_projection, B) < 1e-10


exponents = st.one_of(st.just(None), st.floats(-8, 8))
weights = st.tuples(*[exponents.map(lambda e: 0.0 if e is None else 10.0**e)] * 4)


@given(lambdas=weights, seed=st.integers(0, 1000), extra=st.integers(0, 3), n=st.sampled_from([6, 15, 80]))
@example(lambdas=(0, 0, 1e5, 1e4), seed=0, extra=1, n=6)  # a concept with next to no weight in C and much in B
def test_the_objective_never_increases_beyond_rounding(lambdas, seed, extra, n):
    samples = make_samples(n=n, m=12, d=5, c=4, seed=seed)
    solution = fit(spectrum_of(samples), lambdas, n_concepts=4 + extra, max_iter=15)
    assert np.isfinite(solution.visual_projection).all()
    assert np.isfinite(solution.semantic_projection).all()
    # Rounding is relative to the largest of what is added up and cancels, not to the rest that is left.
    size = len(samples.X) * (1 + sum(lambdas)) + solution.objective
    # Without l1 nothing holds B where C is next to nothing, and CC' has lost what it was.
    tolerance = 1e-9 if lambdas[0] > 0 else 1e-7
    assert np.all(np.diff(solution.objective) <= tolerance * size[1:])


def test_converged_solution_is_stationary():
    solution = fit(spectrum_of(make_samples()), PLAIN, max_iter=2000, tol=1e-12)
    assert solution.converged
    assert solution.n_iter < 2000
    assert set(solution.stationarity) == {"visual", "semantic", "concepts"}
    assert max(solution.stationarity.values()) < 1e-6


def test_stationarity_is_the_relative_gradient():
    samples = make_samples()
    solution = fit(spectrum_of(samples), PLAIN, max_iter=3, return_codes=True)
    l1, l2, l3, l4 = PLAIN
    X, Y, H = samples.X.T, samples.class_vectors[samples.labels].T, class_codes(6, 6)[:, samples.labels]
    A, B = solution.visual_projection, solution.semantic_projection
    C = solution.codes_of_samples @ X + solution.codes_of_classes[:, samples.labels]

    def relative(*parts):
        return np.linalg.norm(sum(parts)) / sum(np.linalg.norm(part) for part in parts)

    expected = {
        "visual": relative(l3 * C @ C.T @ A, A @ X @ X.T, -(1 + l3) * C @ X.T),
        "semantic": relative(l4 * C @ C.T @ B, l1 * B @ Y @ Y.T, -(l1 + l4) * C @ Y.T),
    }
    assert solution.stationarity["visual"] == pytest.approx(expected["visual"], rel=1e-6)
    assert solution.stationarity["semantic"] == pytest.approx(expected["semantic"], rel=1e-6)
    assert solution.stationarity["concepts"] < 1e-13  # C is updated last
    K = (1 + l1 + l2) * np.eye(6) + l3 * A @ A.T + l4 * B @ B.T
    assert_allclose(K @ C, l2 * H + (1 + l3) * A @ X + (l1 + l4) * B @ Y, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n_attributes", [1, 5])
def test_codes_are_those_of_the_textbook(n_attributes):
    samples = make_samples(d=n_attributes)
    start = np.random.default_rng(0).standard_normal((8, 6))
    *_, (_, _, C, _) = textbook(samples, PLAIN, start, 5)
    solution = fit(spectrum_of(samples), PLAIN, start=start, n_concepts=8, max_iter=5, return_codes=True)
    actual = solution.codes_of_samples @ samples.X.T + solution.codes_of_classes[:, samples.labels]
    assert_allclose(actual, C, rtol=0, atol=1e-11 * np.abs(C).max())
    assert fit(spectrum_of(samples), PLAIN).codes_of_samples is None


@pytest.mark.parametrize("n_concepts", [6, 7, 12, 15])
def test_more_concepts_than_classes(n_concepts):
    # d < c: with k > c and d > c both coefficients of the equation for B are singular, which SciPy does not notice
    samples = make_samples(d=5)
    start = np.random.default_rng(0).standard_normal((n_concepts, 6))
    *_, (A, B, _, terms) = textbook(samples, PLAIN, start, 8)
    solution = fit(spectrum_of(samples), PLAIN, start=start, n_concepts=n_concepts, max_iter=8)
    assert relative_error(solution.visual_projection, A) < 1e-10
    assert relative_error(solution.semantic_projection, B) < 1e-10
    assert_allclose(solution.terms[-1], terms, rtol=0, atol=1e-10 * terms.sum())


@pytest.mark.parametrize("setting", [PLAIN, PAPER_SETTINGS["SUN"], PAPER_SETTINGS["CUB"]], ids=str)
@pytest.mark.parametrize("weakness", [1e-3, 1e-5, 1e-6])
def test_labels_in_the_weakest_directions_of_the_samples(weakness, setting):
    # XX' knows these directions to a few digits only, and all that tells the classes apart lies in them
    samples = make_samples(n=400, m=30, d=12, c=8)
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 30)))[0]
    X = samples.X * np.geomspace(1, weakness, 30)
    X[:, -8:] = weakness * np.eye(8)[samples.labels]
    samples = samples._replace(X=X @ rotation)
    start = np.random.default_rng(1).standard_normal((8, 8))
    *_, (A, B, _, terms) = textbook(samples, setting, start, 12)
    solution = fit(spectrum_of(samples), setting, start=start, max_iter=12)
    assert relative_error(solution.visual_projection, A) < 1e-8
    assert relative_error(solution.semantic_projection, B) < 1e-8
    assert_allclose(solution.terms[-1], terms, rtol=0, atol=1e-9 * terms.sum())


@pytest.mark.parametrize("lambdas", [(1e8, 1, 1e-3, 1e-3), (1, 1e8, 1e-3, 1e-3), (1e8, 1e8, 1, 1)], ids=str)
def test_terms_whose_products_cancel(lambdas):
    # d > c: C, B Y and H can all be nearly the same, and what is left of their distances has a large weight
    samples = make_samples(n=300, m=20, d=30, c=10)
    start = np.random.default_rng(1).standard_normal((10, 10))
    *_, (_, _, _, terms) = textbook(samples, lambdas, start, 12)
    solution = fit(spectrum_of(samples), lambdas, start=start, max_iter=12)
    assert_allclose(solution.terms[-1], terms, rtol=0, atol=1e-10 * terms.sum())


@pytest.mark.parametrize("weight", [1e-290, 1e-170, 1e155, 1e300])
def test_extreme_weights_of_one_equation(weight):
    # B follows from l1 : l4 alone
    spectrum = spectrum_of(make_samples(d=5))
    expected, actual = (fit(spectrum, (w, 1, 0.1, w), start="codes", max_iter=1) for w in (1e-20, weight))
    assert relative_error(actual.semantic_projection, expected.semantic_projection) < 1e-13
    assert all(0 < residual < 1 for residual in actual.stationarity.values())


@pytest.mark.parametrize("weight", [1e16, 1e18, 1e25])
def test_huge_weight_with_more_concepts_than_classes(weight):
    # AA' is singular, and all that makes K regular is lost beside it
    samples = make_samples(n=80, m=12, d=5, c=4)
    start = np.random.default_rng(0).standard_normal((6, 4))
    objective = fit(spectrum_of(samples), (1e-3, 0, weight, 1e2), n_concepts=6, start=start, max_iter=12).objective
    assert np.all(np.diff(objective) < 0)
    *_, (_, _, _, terms) = textbook(samples, (1e-3, 0, 1e6, 1e2), start, 12)
    # which directions of the concept space come first is left to rounding, and with it to the kernels of BLAS
    assert objective[-1] / weight == pytest.approx(terms.sum() / 1e6, rel=0.2)


@pytest.mark.parametrize("d", [30, 400])  # few attributes, and so many that the descent leaves the basis of H
def test_many_concepts(d):
    # enough of them for every level of every recursion in the core
    samples = make_samples(n=1200, m=350, d=d, c=260)
    for lambdas in (PLAIN, PAPER_SETTINGS["CUB"]):
        start = np.random.default_rng(0).standard_normal((260, 260))
        *_, (A, B, _, terms, tolerance) = textbook_twice(samples, lambdas, start, 3)
        solution = fit(spectrum_of(samples), lambdas, start=start, max_iter=3)
        assert relative_error(solution.visual_projection, A) < tolerance
        assert relative_error(solution.semantic_projection, B) < tolerance
        assert_allclose(solution.terms[-1], terms, rtol=0, atol=1e-9 * terms.sum())


def test_starts():
    samples = make_samples()
    spectrum = spectrum_of(samples)
    codes = fit(spectrum, PLAIN, start="codes", max_iter=4)
    given = fit(spectrum, PLAIN, start=class_codes(6, 6), max_iter=4)
    assert_array_equal(codes.visual_projection, given.visual_projection)
    assert_array_equal(jcmspl.core.solver.class_codes(8, 3), class_codes(8, 3))
    one, two, other = (fit(spectrum, PLAIN, random_state=seed, max_iter=4) for seed in (1, 1, 2))
    assert_array_equal(one.visual_projection, two.visual_projection)
    assert not np.allclose(one.visual_projection, other.visual_projection)


def test_start_given_per_sample():
    samples = make_samples()
    rng = np.random.default_rng(0)
    C0 = rng.standard_normal((len(samples.X), 7))
    start = StartStatistics(7, 24, 6)
    for part in (slice(0, 100), slice(100, None)):
        start.update(C0[part], samples.X[part], samples.labels[part])
    H, Y = class_codes(7, 6)[:, samples.labels], samples.class_vectors[samples.labels].T
    *_, (A, B, _, terms) = jcmspl_iterations(samples.X.T, Y, H, C0.T, PLAIN, 6)
    solution = fit(spectrum_of(samples), PLAIN, start=start, n_concepts=7, max_iter=6)
    assert relative_error(solution.visual_projection, A) < 1e-10
    assert relative_error(solution.semantic_projection, B) < 1e-10
    assert solution.objective[-1] == pytest.approx(terms.sum(), rel=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "layout",
    [np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2], lambda a: a[::-1].copy()[::-1], np.ndarray.tolist],
    ids=["fortran", "every second column", "reversed", "list"],
)
def test_start_given_per_sample_in_any_layout(layout, dtype):
    samples = make_samples()
    C0 = np.random.default_rng(0).standard_normal((len(samples.X), 7)).astype(dtype)
    X = samples.X.astype(dtype)
    spectrum = spectrum_of(samples)

    def from_start(codes, X):
        start = StartStatistics(7, 24, 6).update(codes, X, samples.labels)
        return fit(spectrum, PLAIN, start=start, n_concepts=7, max_iter=2)

    dense = from_start(C0.astype(float), X.astype(float))
    for codes, features in ((layout(C0), layout(X)), (C0, layout(X)), (layout(C0), X)):
        given = from_start(codes, features)
        assert_array_equal(given.visual_projection, dense.visual_projection)
        assert_array_equal(given.semantic_projection, dense.semantic_projection)


def test_start_given_per_sample_in_several_blocks():
    rng = np.random.default_rng(0)
    labels = np.arange(20000) % 3
    X, C0 = rng.standard_normal((20000, 4)), rng.standard_normal((20000, 3))
    spectrum = Spectrum(Statistics.from_samples(X, labels), rng.random((3, 2)))
    dense, copied = (
        fit(spectrum, PLAIN, start=StartStatistics(3, 4, 3).update(C0, layout(X), labels), max_iter=2)
        for layout in (np.ascontiguousarray, np.asfortranarray)
    )
    assert relative_error(copied.visual_projection, dense.visual_projection) < 1e-12


def minimum_norm_textbook(samples, lambdas, start, n_iter):
    """The reference in the range of X and of Y: outside them A and B are zero in the minimum-norm solution."""
    Ux, sx, _ = np.linalg.svd(samples.X.T, full_matrices=False)
    Ux = Ux[:, sx > 1e-7 * sx[0]]
    vectors = samples.class_vectors.T
    Uy, sy, _ = np.linalg.svd(vectors, full_matrices=False)
    Uy = Uy[:, sy > 1e-7 * sy[0]]
    inside = samples._replace(X=samples.X @ Ux, class_vectors=samples.class_vectors @ Uy)
    for A, B, C, terms in textbook(inside, lambdas, start, n_iter):
        yield A @ Ux.T, B @ Uy.T, C, terms


def rank_deficient(samples):
    """Duplicate, zero and combined columns."""
    X = samples.X
    return samples._replace(X=np.hstack([X, X[:, :3], np.zeros((len(X), 2)), X[:, :1] - 2 * X[:, 1:2]]))


DEGENERATE = {
    "n < m": make_samples(n=12, m=40, d=5, c=4),
    "one sample per class": make_samples(n=5, m=9, d=3, c=5),
    "rank-deficient X": rank_deficient(make_samples(n=90, m=10, d=5, c=4)),
    "d > c": make_samples(n=90, m=10, d=30, c=4),
    "one class": make_samples(n=30, m=6, d=4, c=1),
    "one feature": make_samples(n=30, m=1, d=4, c=3),
    "one attribute": make_samples(n=30, m=6, d=1, c=3),
    "equal class vectors": make_samples()._replace(class_vectors=np.ones((6, 10))),
}


@pytest.mark.parametrize(
    "lambdas",
    [PLAIN, (1, 1, 0, 0), (1, 0, 0, 0), (1, 0, 1, 1), (0, 1, 1, 1), (0, 0, 0, 1), (0, 1, 0, 0), (1, 1, 0, 1)],
    ids=str,
)
@pytest.mark.parametrize("samples", DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_data_gives_the_minimum_norm_solution(samples, lambdas):
    c = len(samples.class_vectors)
    start = np.random.default_rng(0).standard_normal((c, c))
    solution = fit(spectrum_of(samples), lambdas, start=start, max_iter=3)
    *_, (A, B, _, terms) = minimum_norm_textbook(samples, lambdas, start, 3)
    assert_allclose(solution.visual_projection, A, rtol=0, atol=1e-6 * np.abs(A).max())
    assert_allclose(solution.semantic_projection, B, rtol=0, atol=1e-6 * (np.abs(B).max() + 1e-12))
    # The objective is compared with that of the whole data: what lies outside the range adds to no term.
    assert solution.objective[-1] == pytest.approx(terms.sum(), rel=1e-7, abs=1e-10)


@pytest.mark.parametrize("lambdas", [PLAIN, (1, 1, 1e4, 1e2), (0, 1, 1, 1)], ids=str)
def test_singular_code_gram_and_singular_data_at_once(lambdas):
    # The start H with k > c has equal rows: CC' is singular, and so is XX' when n < m, and YY' when d > c.
    samples = make_samples(n=10, m=30, d=8, c=3)
    first, later = (
        fit(spectrum_of(samples), lambdas, n_concepts=7, start="codes", max_iter=n).visual_projection for n in (1, 10)
    )
    assert_allclose(first[0], first[1], rtol=1e-8, atol=1e-10)  # equal rows give equal rows
    projector = np.linalg.pinv(samples.X) @ samples.X
    for A in (first, later):
        assert np.isfinite(A).all()
        assert_allclose(A @ projector, A, rtol=0, atol=1e-8 * np.abs(A).max())  # nothing leaves the range of X


def test_zero_class_vectors():
    samples = make_samples()
    solution = fit(spectrum_of(samples._replace(class_vectors=np.zeros((6, 4)))), PLAIN)
    assert not solution.semantic_projection.any()
    assert np.isfinite(solution.visual_projection).all()
