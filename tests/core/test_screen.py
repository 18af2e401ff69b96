"""Searches large enough for candidates to be screened by bounds: the answers must not show it."""

import numpy as np
import pytest
import scipy.spatial.distance
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from jcmspl import _core
from jcmspl.core import AffineScorer, nearest
from jcmspl.support.machine import blas_threads
from support.threads import most_blas_threads

KERNELS = ["avx512_vnni", "avx_vnni", "avx2", "neon", "portable", "portable_runs", "portable_signed"]


@pytest.fixture(autouse=True, scope="module", params=KERNELS)
def screen(request):
    """Search by all instructions of the CPU, and by their twins in plain C++, which test the bounds on any CPU."""
    if not _core.use_byte_products(request.param):
        pytest.skip(f"this CPU has no {request.param}")
    yield
    _core.use_byte_products("fastest")


def test_byte_products_are_chosen_by_name():
    chosen = _core.byte_products()
    assert not _core.use_byte_products("unknown")
    assert _core.byte_products() == chosen


def features(rng, n, m):
    """As image features are: correlated, not negative, far from the origin for their spread."""
    mixing = rng.standard_normal((m, m)) * np.arange(1, m + 1) ** -0.7
    return np.maximum(rng.standard_normal((n, m)) @ mixing, 0) + 0.1


def check(indices, values, scores, tolerance):
    """Check the best of all scores; which comes first of two that differ by rounding is open."""
    k = indices.shape[1]
    assert_allclose(values, -np.sort(-scores, axis=1)[:, :k], rtol=0, atol=tolerance)
    assert_allclose(np.take_along_axis(scores, indices, 1), values, rtol=0, atol=tolerance)
    assert all(len(set(row)) == k for row in indices.tolist())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "m", "c", "k"), [(512, 32, 1000, 1), (600, 67, 1500, 5), (1001, 33, 1007, 31), (530, 513, 1021, 10)]
)
def test_inner_products_equal_brute_force(n, m, c, k, dtype):
    rng = np.random.default_rng(0)
    X, prototypes = features(rng, n, m).astype(dtype), features(rng, c, m).astype(dtype)
    indices, values = nearest(X, prototypes, k, metric="dot")
    scores = X.astype(np.float64) @ prototypes.T.astype(np.float64)
    check(indices, values, scores, 1e3 * np.finfo(dtype).eps * np.abs(scores).max())
    if dtype == np.float64:
        assert_array_equal(indices, np.argsort(-scores, axis=1, kind="stable")[:, :k])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0, 1e3])
def test_cosines_and_distances_equal_brute_force(dtype, offset):
    rng = np.random.default_rng(0)
    X, prototypes = ((features(rng, count, 48) + offset).astype(dtype) for count in (600, 1200))
    wide_X, wide = X.astype(np.float64), prototypes.astype(np.float64)
    cosines = wide_X @ wide.T / np.linalg.norm(wide_X, axis=1)[:, None] / np.linalg.norm(wide, axis=1)
    check(*nearest(X, prototypes, 4, metric="cosine"), cosines, 20 * np.finfo(dtype).eps)
    indices, distances = nearest(X, prototypes, 4, metric="euclidean")
    expected = scipy.spatial.distance.cdist(wide_X, wide)
    assert_allclose(distances, np.sort(expected, axis=1)[:, :4], rtol=2 * np.finfo(dtype).eps, atol=1e-9)
    assert_array_equal(indices, np.argsort(expected, axis=1, kind="stable")[:, :4])


@pytest.mark.parametrize("far", [1e4, 1e9, 1e13])
def test_far_prototypes_do_not_spoil_distances(far):
    rng = np.random.default_rng(0)
    X, prototypes = rng.standard_normal((600, 40)), rng.standard_normal((1200, 40))
    prototypes[:5] *= far
    prototypes[5:200] += 1e3
    expected = scipy.spatial.distance.cdist(X, prototypes)
    indices, distances = nearest(X, prototypes, 3, metric="euclidean")
    assert_array_equal(indices, np.argsort(expected, axis=1, kind="stable")[:, :3])
    assert_allclose(distances, np.sort(expected, axis=1)[:, :3], rtol=1e-14)


# Where a bound that is a little too low, or lost to over- or underflow, would drop a candidate. Each makes samples,
# weights and a bias.
HOSTILE = {
    "one huge feature": lambda X, W: (X * np.r_[1e6, np.ones(39)], W * np.r_[1e6, np.ones(39)], 0),
    "one huge candidate": lambda X, W: (X, W * np.r_[1e9, np.ones(1099)][:, None], 0),
    "candidates of all sizes": lambda X, W: (X, W * np.logspace(-30, 30, 1100)[:, None], 0),
    "samples of all sizes": lambda X, W: (X * np.logspace(-60, 60, 600)[:, None], W, 1),
    "tiny": lambda X, W: (X * 1e-120, W * 1e-120, 0),
    "too tiny": lambda X, W: (X * 1e-150, W * 1e-150, 0),
    "huge": lambda X, W: (X * 1e120, W * 1e120, 0),
    "too huge": lambda X, W: (X * 1e150, W * 1e150, 0),
    "far away": lambda X, W: (X + 1e7, W + 1e7, 0),
    "samples far away": lambda X, W: (X + 1e9, W, 0),
    "all samples the same": lambda X, W: (np.tile(X[0], (600, 1)), W, 0),
    "zero samples": lambda X, W: (X * (np.arange(600) % 2)[:, None], W, 0),
    "zero candidates": lambda X, W: (X, W * (np.arange(1100) % 2)[:, None], 0),
    "all candidates the same": lambda X, W: (X, np.tile(W[0], (1100, 1)), 0),
    "all candidates zero": lambda X, W: (X, 0 * W, 1),
    "duplicates": lambda X, W: (np.round(3 * X), np.tile(np.round(3 * W[:5]), (220, 1)), 0),
    "nearly duplicates": lambda X, W: (X, np.tile(W[:50], (22, 1)) * (1 + 1e-12 * np.arange(1100))[:, None], 0),
    "one-hot": lambda X, W: (np.eye(40)[np.arange(600) % 40], np.eye(40)[np.arange(1100) % 40], 0),
    "small integers": lambda X, W: (np.round(X), np.round(W), 0),
    "large bias": lambda X, W: (X, W, 1e8),
    "small bias": lambda X, W: (X, W, 1e-8),
}


@pytest.mark.parametrize("unit_rows", [False, True])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_data(name, unit_rows):
    rng = np.random.default_rng(0)
    X, weights, bias_size = HOSTILE[name](rng.standard_normal((600, 40)), rng.standard_normal((1100, 40)))
    bias = bias_size * rng.standard_normal(1100)
    scorer = AffineScorer(weights, bias, unit_rows=unit_rows)
    indices, values = scorer.top_k(X, 7)
    if unit_rows:
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        X = np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)
    expected = X @ weights.T + bias
    # rounding is relative to the sizes of what is added up, sample by sample
    sizes = np.abs(X) @ np.abs(weights).T + np.abs(bias)
    order = np.argsort(-expected, axis=1, kind="stable")[:, :7]
    for i in range(len(X)):
        tolerance = 1e-14 * sizes[i][np.r_[indices[i], order[i]]].max()
        assert_allclose(expected[i][indices[i]], values[i], rtol=0, atol=tolerance)
        assert_allclose(expected[i][order[i]], values[i], rtol=0, atol=tolerance)
    if name in ("duplicates", "one-hot", "small integers") and not unit_rows:  # whole numbers: ties are ties
        assert_array_equal(indices, order)


def with_negatives(vectors, count):
    """Let each be followed by its negative, and all by zeros: the mean is zero, so that centring changes nothing."""
    pairs = np.stack([vectors, -vectors], axis=1).reshape(-1, vectors.shape[1])
    return np.concatenate([pairs, np.zeros((count - len(pairs), vectors.shape[1]))])


def test_rounded_candidates_that_mislead():
    # With steps of one, which the first feature sees to, the best candidate of each sample is rounded down and another
    # one up, in the direction of the sample: the bytes prefer the wrong one.
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (255, 64))
    right, wrong = np.tile([101.49, 100.49], 32), np.full(64, 100.51)
    anchor = np.full((510, 1), 127.0)
    candidates = with_negatives(np.hstack([anchor, np.concatenate([signs * right, signs * wrong])]), 1020)
    samples = with_negatives(np.hstack([np.zeros((255, 1)), signs]), 512)
    indices, values = nearest(samples, candidates, metric="dot")
    assert_array_equal(indices[:510, 0], np.arange(510))
    assert_allclose(values[:510], 64 * right.mean())


def test_rounded_samples_that_mislead():
    signs, down = np.random.default_rng(0).choice([-1.0, 1.0], (255, 64)), np.arange(64) < 32
    anchor = np.full((255, 1), 127.0)
    samples = with_negatives(np.hstack([anchor, signs * np.where(down, 100.49, 100.51)]), 512)
    right, wrong = 1.005 * signs * down, signs * ~down
    candidates = with_negatives(np.hstack([np.zeros((510, 1)), np.concatenate([right, wrong])]), 1020)
    indices, values = nearest(samples, candidates, metric="dot")
    assert_array_equal(indices[:510, 0], np.arange(510))
    assert_allclose(values[:510], 32 * 1.005 * 100.49)


def test_ties_beyond_the_precision_of_bounds():
    # Nothing is lost to bytes here, and thirty scores are equal. Their bounds, in float, are not: the steps differ.
    rng = np.random.default_rng(0)
    steps = rng.choice([step for step in range(1, 121) if 7560 % step == 0], 30)
    codes = np.full((30, 63), (7560 // steps // 63)[:, None])
    codes[:, 62] += 7560 // steps % 63
    equal = steps[:, None] * np.hstack(
        [np.full((30, 1), 127.0), codes]
    )  # the first feature, which samples lack, is 127
    samples = with_negatives(np.hstack([np.zeros((256, 1)), np.full((256, 63), 127.0)]), 512)
    for first in range(0, 30, 3):  # let each of them be among those with the lowest numbers
        candidates = with_negatives(np.roll(equal, first, axis=0), 1000)
        indices, values = nearest(samples, candidates, 3, metric="dot")
        assert_array_equal(values, 127 * 7560)
        assert_array_equal(indices, np.tile([[0, 2, 4], [1, 3, 5]], (256, 1)))


@settings(max_examples=60)
@given(
    n=st.integers(512, 800),
    m=st.integers(32, 90),
    c=st.integers(1000, 1500),
    k=st.integers(1, 8),
    decay=st.floats(0, 2),
    offset=st.floats(-100, 100),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_shape(n, m, c, k, decay, offset, dtype, seed):
    rng = np.random.default_rng(seed)
    scale = np.arange(1, m + 1) ** -decay
    X = (rng.standard_normal((n, m)) * scale + offset).astype(dtype)
    weights = (rng.standard_normal((c, m)) * scale - offset).astype(dtype)
    bias = (rng.standard_normal(c) * rng.choice([0, 1, 100])).astype(dtype)
    indices, values = AffineScorer(weights, bias).top_k(X, k)
    wide = [z.astype(np.float64) for z in (X, weights, bias)]
    scores = wide[0] @ wide[1].T + wide[2]
    check(indices, values, scores, 50 * np.finfo(dtype).eps * (np.abs(wide[0]) @ np.abs(wide[1]).T).max())


def test_threads_and_chunks_do_not_change_the_answer():
    rng = np.random.default_rng(0)
    X, prototypes = features(rng, 2000, 50), features(rng, 1200, 50)
    X[::100] = 0  # some that bounds cannot decide
    expected = None
    for threads in (1, 2, most_blas_threads(5)):
        with threadpool_limits(threads, user_api="blas"):
            assert blas_threads() <= threads
            answer = nearest(X, prototypes, 3)
        expected = expected or answer
        assert_array_equal(answer[0], expected[0])
        # to the last digit where bounds decide; the rounding of BLAS's products depends on its threads
        assert_allclose(answer[1], expected[1], rtol=1e-14)
    parts = [nearest(X[first : first + 700], prototypes, 3) for first in range(0, 2000, 700)]
    assert_array_equal(np.concatenate([indices for indices, _ in parts]), expected[0])
    assert_allclose(np.concatenate([values for _, values in parts]), expected[1], rtol=1e-12)


def test_the_first_bad_sample_is_named():
    rng = np.random.default_rng(0)
    X, prototypes = rng.standard_normal((5000, 40)), rng.standard_normal((1100, 40))
    X[[777, 778, 1500, 4000]] = np.nan
    for threads in (1, most_blas_threads(4)):
        with threadpool_limits(threads, user_api="blas"), pytest.raises(ValueError, match="sample 777 holds NaN"):
            nearest(X, prototypes)


def test_overflow_is_refused():
    X, prototypes = np.full((600, 40), 1e30, np.float32), np.full((1100, 40), 1e30, np.float32)
    prototypes[1] *= 2
    with pytest.raises(ValueError, match="the scores overflow"):
        nearest(X, prototypes, metric="dot")


@pytest.mark.parametrize(("dtype", "constant"), [(np.float64, 1.0), (np.float32, 1e20)])
@pytest.mark.parametrize("spread", [1e-51, 2.05e-53, 2.09e-53, 2.13e-53, 1e-55])
def test_bounds_that_overflow(dtype, constant, spread):
    # a constant feature, which no candidate has, makes centring lose all there is
    rng = np.random.default_rng(0)
    X, candidates = rng.standard_normal((600, 32)), rng.standard_normal((4096, 32)).astype(dtype)
    X = (X / np.linalg.norm(X, axis=1, keepdims=True) * spread * constant).astype(dtype)
    X[:, 0], candidates[:, 0] = constant, 0
    indices, _ = nearest(X, candidates, metric="dot")
    scores = X.astype(np.float64) @ candidates.T.astype(np.float64)
    assert_array_equal(indices[:, 0], scores.argmax(axis=1))


def test_equal_values_are_in_order_of_index():
    rng = np.random.default_rng(0)
    X, base = rng.standard_normal((600, 64)).astype(np.float32), rng.standard_normal((300, 64))
    copies = [base * (1 + 1e-7 * rng.standard_normal(base.shape)) for _ in range(5)]
    indices, values = nearest(X, np.concatenate(copies).astype(np.float32), 10, metric="dot")
    equal = values[:, 1:] == values[:, :-1]
    assert equal.any()
    assert np.all(indices[:, 1:][equal] > indices[:, :-1][equal])


def test_a_finite_sample_too_far_away_is_refused_as_such():
    rng = np.random.default_rng(0)
    X, prototypes = rng.standard_normal((600, 40)), rng.standard_normal((1024, 40))
    X[:, 0] = prototypes[:, 0] = 2.0**1013
    X[300, 0] = -np.finfo(float).max
    with pytest.raises(ValueError, match="the scores overflow"):
        nearest(X, prototypes, metric="euclidean")


def test_layouts():
    rng = np.random.default_rng(0)
    X, prototypes = features(rng, 600, 64), features(rng, 1100, 64)
    expected = nearest(X, prototypes, 3)
    for layout in (np.asfortranarray, lambda z: np.repeat(z, 2, axis=1)[:, ::2], lambda z: z[::-1].copy()[::-1]):
        indices, values = nearest(layout(X), layout(prototypes), 3)
        assert_array_equal(indices, expected[0])
        assert_allclose(values, expected[1], rtol=1e-14)
