import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl.core import AffineScorer, nearest


def similarity(X, prototypes, metric):
    """The definition, in float64; larger is nearer."""
    X, prototypes = X.astype(np.float64), prototypes.astype(np.float64)
    if metric == "euclidean":
        return -np.linalg.norm(X[:, None] - prototypes, axis=2)
    if metric == "cosine":
        X, prototypes = (unit(z) for z in (X, prototypes))
    return X @ prototypes.T


def unit(vectors):
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)


def best(similarities, k):
    return np.argsort(-similarities, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "c", "k"), [(1, 1, 1), (7, 3, 3), (5000, 40, 5), (30, 5000, 7), (20, 2500, 2500)])
def test_equals_brute_force(n, c, k, dtype, metric):
    rng = np.random.default_rng(0)
    X, prototypes = rng.standard_normal((n, 12)).astype(dtype), rng.standard_normal((c, 12)).astype(dtype)
    indices, values = nearest(X, prototypes, k, metric=metric)
    assert values.dtype == dtype
    expected = similarity(X, prototypes, metric)
    sign = -1 if metric == "euclidean" else 1
    # the values, wherever equal ones may have changed places by rounding
    tolerance = 100 * np.finfo(dtype).eps * max(1, np.abs(expected).max())
    assert_allclose(sign * values, np.sort(expected, axis=1)[:, ::-1][:, :k], rtol=0, atol=tolerance)
    assert_allclose(np.take_along_axis(expected, indices, 1), sign * values, rtol=0, atol=tolerance)
    assert all(len(set(row)) == k for row in indices.tolist())
    if dtype == np.float64:
        assert_array_equal(indices, best(expected, k))


small_integers = hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.just(3)), elements=st.integers(-2, 2))


@given(X=small_integers, prototypes=small_integers, metric=st.sampled_from(["euclidean", "dot"]), data=st.data())
def test_ties_go_to_the_lower_index(X, prototypes, metric, data):
    # small integers: every score is exact, so that ties are ties
    k = data.draw(st.integers(1, len(prototypes)))
    squared = similarity(X, prototypes, metric) if metric == "dot" else -((X[:, None] - prototypes) ** 2).sum(2)
    for dtype in (np.float64, np.float32):
        indices, _ = nearest(X.astype(dtype), prototypes.astype(dtype), k, metric=metric)
        assert_array_equal(indices, best(squared, k))


def test_duplicates_across_blocks():
    X = np.ones((3, 4))
    prototypes = np.tile(np.eye(4), (1500, 1))  # 6000 prototypes in three blocks, all at the same cosine
    indices, values = nearest(X, prototypes, 10)
    assert_array_equal(indices, np.tile(np.arange(10), (3, 1)))
    assert_allclose(values, 0.5)


def test_zero_vectors_have_cosine_zero():
    X = np.array([[0.0, 0.0], [1.0, 0.0]])
    prototypes = np.array([[-1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    indices, values = nearest(X, prototypes, 3)
    assert_array_equal(indices, [[0, 1, 2], [1, 2, 0]])
    assert_array_equal(values, [[0, 0, 0], [0, 0, -1]])


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_cosine_of_extreme_float32(scale):
    rng = np.random.default_rng(0)
    X, prototypes = rng.standard_normal((5, 6)), rng.standard_normal((9, 6))
    small = nearest((X * scale).astype(np.float32), (prototypes * scale).astype(np.float32), 2)
    assert_array_equal(small[0], nearest(X, prototypes, 2)[0])
    assert_allclose(small[1], nearest(X, prototypes, 2)[1], rtol=1e-5)


def test_euclidean_far_from_the_origin():
    rng = np.random.default_rng(0)
    X, prototypes = rng.standard_normal((50, 8)), rng.standard_normal((40, 8))
    indices, distances = nearest(X + 1e6, prototypes + 1e6, 3, metric="euclidean")
    assert_array_equal(indices, nearest(X, prototypes, 3, metric="euclidean")[0])
    assert_allclose(distances, nearest(X, prototypes, 3, metric="euclidean")[1], rtol=1e-8)


def test_distance_to_itself_is_exactly_zero():
    X = np.random.default_rng(0).standard_normal((20, 30)).astype(np.float32)
    indices, distances = nearest(X, X, metric="euclidean")
    assert_array_equal(indices[:, 0], np.arange(20))
    assert not distances.any()


@pytest.mark.parametrize(
    "layout",
    [np.asfortranarray, lambda z: np.repeat(z, 2, axis=1)[:, ::2], lambda z: z[::-1].copy()[::-1], np.float64],
)
def test_any_memory_layout(layout):
    rng = np.random.default_rng(0)
    X, prototypes = rng.standard_normal((700, 9)), rng.standard_normal((30, 9))
    expected = nearest(X, prototypes, 4)
    indices, values = nearest(layout(X), layout(prototypes), 4)
    assert_array_equal(indices, expected[0])
    assert_allclose(values, expected[1], rtol=1e-12)


def test_no_samples():
    indices, values = nearest(np.empty((0, 3)), np.eye(3), 2)
    assert indices.shape == values.shape == (0, 2)


def test_mixed_precision_is_float64():
    _, values = nearest(np.eye(3, dtype=np.float32), np.eye(3))
    assert values.dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.ones((2, 3)), np.ones((4, 2)), 1), ValueError, "X has 3 features, but prototypes has 2"),
        ((np.ones((2, 3)), np.ones((0, 3)), 1), ValueError, "prototypes is empty"),
        ((np.ones((2, 3)), np.ones((4, 3)), 5), ValueError, "k must be from 1 to 4, but is 5"),
        ((np.ones((2, 3)), np.ones((4, 3)), 0), ValueError, "k must be from 1 to 4"),
        ((np.ones((2, 3)), np.ones((4, 3)), 1.5), TypeError, "whole number"),
        ((np.array([[1, 2, np.nan]]), np.ones((4, 3)), 1), ValueError, "sample 0 holds NaN"),
        ((np.ones((2, 3)), np.full((4, 3), np.inf), 1), ValueError, "prototypes holds NaN or infinity"),
        ((np.ones(3), np.ones((4, 3)), 1), ValueError, "X must have 2 dimension"),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        nearest(*arguments)


def test_bad_metric():
    with pytest.raises(ValueError, match="metric must be one of 'cosine', 'euclidean', 'dot'"):
        nearest(np.eye(2), np.eye(2), metric="manhattan")


def test_overflowing_scores():
    huge = np.array([[1e200, 0], [-1e200, 1]])
    with pytest.raises(ValueError, match="the scores overflow"):
        nearest(np.full((1, 2), 1e308), np.full((1, 2), -1e308), metric="euclidean")
    with pytest.raises(ValueError, match="the scores overflow"):
        nearest(huge, huge, metric="dot")
    with pytest.raises(ValueError, match="the scores overflow"):
        AffineScorer(huge).scores(huge)
    with pytest.raises(ValueError, match="too large for float32"):
        AffineScorer([[1.0, 2.0]], [1e40]).scores(np.ones((1, 2), np.float32))
    _, distances = nearest(np.ones((1, 2), np.float32), np.array([[1e30, 1]], np.float32), metric="euclidean")
    assert_allclose(distances, 1e30, rtol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "scale"), [(np.float32, 1e-42), (np.float32, 2e38), (np.float64, 1e-310), (np.float64, 1e308)]
)
def test_cosine_at_the_ends_of_the_range(dtype, scale):
    X = np.array([[1, 0, 0], [1, 1, 0]]) * dtype(scale) * dtype(0.8)
    indices, values = nearest(X.astype(dtype), np.array([[0, 1, 0], [1, 0, 0]], dtype), 2)
    assert_array_equal(indices[0], [1, 0])
    assert_allclose(values, [[1, 0], [np.sqrt(0.5)] * 2], rtol=2 * np.finfo(dtype).eps)
    _, values = nearest(np.array([[0, 1, 0], [1, 0, 0]], dtype), X.astype(dtype), 2)
    assert_allclose(values, [[np.sqrt(0.5), 0], [1, np.sqrt(0.5)]], rtol=2 * np.finfo(dtype).eps)


def test_one_far_prototype_does_not_change_who_is_nearest():
    indices, distances = nearest([[1.0]], [[0.0], [1.0], [1e9]], metric="euclidean")
    assert_array_equal(indices, [[1]])
    assert_array_equal(distances, [[0]])


@pytest.mark.parametrize("far", [1e8, 1e9, 1e12, 1e16, 1e30, 1e160, 1e300])
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray])
def test_distances_are_exact_beside_outliers(far, layout):
    X, prototypes = np.linspace(0, 1, 301)[:, None], np.r_[np.linspace(0, 1, 300), far, -far][:, None]
    expected = np.abs(X - prototypes.T)
    indices, distances = nearest(layout(X), layout(prototypes), 3, metric="euclidean")
    assert_array_equal(indices, np.argsort(expected, axis=1, kind="stable")[:, :3])
    assert_array_equal(distances, np.sort(expected, axis=1)[:, :3])


@given(
    coordinates=st.lists(
        st.tuples(st.integers(-3, 3), st.sampled_from([-300, -160, -9, 0, 0, 0, 8, 9, 16, 150])),
        min_size=2,
        max_size=12,
    ),
    k=st.integers(1, 3),
)
def test_distances_on_a_line_of_any_scale(coordinates, k):
    values = np.array([number * 10.0**power for number, power in coordinates])[:, None]
    expected = np.abs(values - values.T)
    k = min(k, len(values))
    indices, distances = nearest(values, values, k, metric="euclidean")
    assert_array_equal(distances, np.sort(expected, axis=1)[:, :k])
    # of two that differ by less than rounding either may come first
    assert_array_equal(np.take_along_axis(expected, indices, axis=1), distances)
    assert all(len(set(row)) == k for row in indices.tolist())


def test_more_equal_distances_than_a_shortlist_holds():
    prototypes = np.tile(np.eye(4), (3000, 1))
    indices, distances = nearest(np.zeros((3, 4)), prototypes, 5, metric="euclidean")
    assert_array_equal(indices, np.tile(np.arange(5), (3, 1)))
    assert_array_equal(distances, np.ones((3, 5)))


def test_distances_between_distant_clusters_in_float32():
    rng = np.random.default_rng(0)
    centres = rng.choice([-1e3, 1e3], (60, 20))
    prototypes = (centres + rng.standard_normal((60, 20))).astype(np.float32)
    X = (centres[rng.integers(0, 60, 300)] + rng.standard_normal((300, 20))).astype(np.float32)
    prototypes[0, 0] += 1e4
    indices, _ = nearest(X, prototypes, 3, metric="euclidean")
    assert_array_equal(indices, best(similarity(X, prototypes, "euclidean"), 3))


# The folded scorer against explicit projections, as the paper writes them.


def explicit(A, B, X, vectors, space, metric):
    if space == "semantic":
        return similarity(X @ A.T @ B, vectors, metric)
    if space == "visual":
        return similarity(X, vectors @ B.T @ A, metric)
    return similarity(X @ A.T, vectors @ B.T, metric)


@pytest.mark.parametrize("space", ["semantic", "visual", "concept"])
@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("unit_rows", [False, True])
def test_folded_scorer_ranks_as_explicit_projections(space, metric, unit_rows):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((5, 9)), rng.standard_normal((5, 6))
    X, vectors = 3 * rng.standard_normal((200, 9)), rng.standard_normal((30, 6))
    scorer = AffineScorer.fold(A, B, vectors, space=space, metric=metric, unit_rows=unit_rows)
    expected = best(explicit(A, B, unit(X) if unit_rows else X, vectors, space, metric), 4)
    indices, scores = scorer.top_k(X, 4)
    assert_array_equal(indices, expected)
    everything = scorer.scores(X)
    assert_allclose(np.take_along_axis(everything, indices, 1), scores, rtol=1e-12, atol=1e-12)
    assert_array_equal(best(everything, 4), expected)


def test_score_is_the_documented_one():
    rng = np.random.default_rng(0)
    weights, bias, X = rng.standard_normal((4, 3)), rng.standard_normal(4), rng.standard_normal((10, 3))
    assert_allclose(AffineScorer(weights, bias).scores(X), X @ weights.T + bias, rtol=1e-12)
    assert_allclose(AffineScorer(weights, bias, unit_rows=True).scores(X), unit(X) @ weights.T + bias, rtol=1e-12)
    assert_allclose(AffineScorer(weights).scores(X.astype(np.float32)), X @ weights.T, rtol=1e-4, atol=1e-6)
    assert AffineScorer(weights).scores(X.astype(np.float32)).dtype == np.float32


LAYOUTS = [np.asarray, np.asfortranarray, lambda z: np.repeat(z, 2, axis=1)[:, ::2], lambda z: z[::-1].copy()[::-1]]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 7, 8, 61])
@pytest.mark.parametrize(("unit_rows", "power"), [(True, False), (False, True), (True, True)])
def test_scaled_samples_score_as_if_they_had_been_scaled_before(unit_rows, power, n_features, dtype, layout):
    rng = np.random.default_rng(0)
    X, weights = (rng.standard_normal((count, n_features)).astype(dtype) for count in (600, 20))
    if unit_rows:  # some of extreme lengths among the others
        X[::50] *= dtype(1e-37)
        X[::60] *= dtype(1e36)
    X[7] = 0
    explicit = X.astype(np.float64)
    explicit = np.sign(explicit) * np.sqrt(np.abs(explicit)) if power else explicit
    explicit = unit(explicit) if unit_rows else explicit
    expected = explicit @ weights.T.astype(np.float64)
    scorer = AffineScorer(weights, unit_rows=unit_rows, power=power)
    tolerance = 20 * np.finfo(dtype).eps * np.abs(expected).max()
    assert_allclose(scorer.scores(layout(X)), expected, rtol=0, atol=tolerance)
    indices, values = scorer.top_k(layout(X), 3)
    assert_allclose(values, -np.sort(-expected, axis=1)[:, :3], rtol=0, atol=tolerance)
    assert_allclose(np.take_along_axis(expected, indices, 1), values, rtol=0, atol=tolerance)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("unit_rows", "power"), [(False, False), (True, False), (False, True), (True, True)])
def test_bad_samples_are_named_however_they_are_scaled(unit_rows, power, bad, dtype, layout):
    X = np.ones((300, 9), dtype)
    X[:200:2] *= np.finfo(dtype).max / 16  # fine, but too long to be scaled by a factor
    X[[250, 251], [8, 0]] = bad
    scorer = AffineScorer(np.eye(9) / 8, unit_rows=unit_rows, power=power)
    for search in (scorer.top_k, scorer.scores):
        with pytest.raises(ValueError, match="sample 250 holds NaN or infinity"):
            search(layout(X))
    scorer.top_k(layout(X[:250]))


def test_zero_class_vector_is_never_nan():
    scorer = AffineScorer.fold(np.eye(2), np.eye(2), [[0.0, 0.0], [1.0, 0.0]])
    assert_array_equal(scorer.scores(np.array([[2.0, 1.0]])), [[0, 2]])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: AffineScorer(np.ones((0, 3))), "no candidates"),
        (lambda: AffineScorer(np.ones((2, 3)), np.ones(3)), "2 candidates but 3 values of bias"),
        (lambda: AffineScorer(np.full((2, 3), np.nan)), "weights holds NaN"),
        (lambda: AffineScorer.fold(np.ones((2, 3)), np.ones((3, 4)), np.ones((5, 4))), "2 and 3 concepts"),
        (lambda: AffineScorer.fold(np.ones((2, 3)), np.ones((2, 4)), np.ones((5, 3))), "3 attributes"),
        (lambda: AffineScorer.fold(np.eye(2), np.eye(2), np.eye(2), space="astral"), "space must be one of"),
        (lambda: AffineScorer(np.ones((2, 3))).top_k(np.ones((1, 4))), "X has 4 features"),
        (lambda: AffineScorer(np.ones((2, 3))).top_k(np.ones((1, 3)), 3), "k must be from 1 to 2"),
        (lambda: AffineScorer(np.ones((2, 3))).top_k(np.full((1, 3), np.nan)), "sample 0 holds NaN"),
    ],
)
def test_bad_scorer(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_of_distances_that_are_equal_in_float32_the_nearest_are_chosen():
    prototypes = np.array([[1 + 2**-23, 0], [1, 0], [3, 0]], np.float32)
    indices, values = nearest(np.array([[-2000, 0]], np.float32), prototypes, 1, metric="euclidean")
    assert_array_equal(indices, [[1]])  # by float64
    indices, values = nearest(np.array([[-2000, 0]], np.float32), prototypes, 2, metric="euclidean")
    assert_array_equal(indices, [[0, 1]])  # the same two, in the order of what is returned
    assert_array_equal(values, [[2001, 2001]])


@pytest.mark.parametrize("space", ["visual", "concept"])
def test_directions_that_rounding_makes_are_none(space):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((4, 9)), rng.standard_normal((4, 6))
    B[:, 1] = -B[:, 0] * (1 + 1e-12)
    folded = AffineScorer.fold(A, B, [[1.0, 1, 0, 0, 0, 0], [1.0, 1.1, 0, 0, 0, 0], [0.0] * 6], space=space)
    assert_array_equal(folded.weights[[0, 2]], 0)
    assert folded.weights[1].any()


@pytest.mark.parametrize("scale", [1e-9, 1e9, 1e100])
def test_attributes_of_any_unit_make_directions(scale):
    rng = np.random.default_rng(0)
    A, B, Y = rng.standard_normal((6, 9)), np.eye(6), rng.standard_normal((5, 6))
    A[3] *= scale
    Y[0] = np.eye(6)[3]
    scores = AffineScorer.fold(A, B, Y, space="visual").scores(rng.standard_normal((3, 9)))
    assert np.isfinite(scores).all()
    assert np.abs(scores[:, 0]).max() > 0.1
