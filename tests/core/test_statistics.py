import pickle
import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import _core
from jcmspl.core import Spectrum, StartStatistics, Statistics, solve
from jcmspl.support.machine import one_blas_thread
from support.samples import make_samples


def plain(X, labels, n_classes):
    """The definition."""
    X = np.asarray(X, dtype=np.float64)
    one_hot = np.eye(n_classes)[labels]
    return X.T @ X, one_hot.T @ X, np.bincount(labels, minlength=n_classes)


def assert_equals(statistics, X, labels, n_classes, rtol=1e-13):
    gram, sums, counts = plain(X, labels, n_classes)
    assert_allclose(statistics.gram, gram, rtol=0, atol=rtol * (np.abs(gram).max(initial=0) + 1e-300))
    assert_allclose(statistics.class_sums, sums, rtol=0, atol=rtol * (np.abs(sums).max(initial=0) + 1e-300))
    assert_array_equal(statistics.counts, counts)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 63, 500, 5000])
def test_equals_the_definition(n, dtype):
    X, labels, _ = make_samples(n=max(n, 3), m=17, c=3)
    X, labels = X[:n].astype(dtype), labels[:n]
    statistics = Statistics.from_samples(X, labels, 3)
    assert_equals(statistics, X, labels, 3)
    assert statistics.gram.dtype == np.float64
    assert_array_equal(statistics.gram, statistics.gram.T)
    assert statistics.n_samples == n


def test_many_features_take_several_blocks():
    # 700 rows of 3000 features, 17 MB, are more than one block
    rng = np.random.default_rng(0)
    X, labels = rng.random((700, 3000)), rng.integers(0, 4, 700)
    assert_equals(Statistics.from_samples(X, labels, 4), X, labels, 4)


@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 200), max_size=6), merge=st.randoms())
def test_any_partition_and_any_merge_tree(seed, cuts, merge):
    X, labels, _ = make_samples(n=200, m=9, c=5, seed=seed)
    edges = [0, *sorted(cuts), 200]
    parts = [Statistics.from_samples(X[a:b], labels[a:b], 5) for a, b in pairwise(edges)]
    while len(parts) > 1:
        merge.shuffle(parts)
        parts.append(parts.pop() + parts.pop())
    assert_equals(parts[0], X, labels, 5, rtol=1e-12)

    streamed = Statistics(9, 5)
    for a, b in pairwise(edges):
        streamed.update(X[a:b], labels[a:b])
    assert streamed.allclose(parts[0], rtol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), held_out=st.sets(st.integers(0, 4)))
def test_subtracting_a_fold_equals_leaving_it_out(seed, held_out):
    X, labels, _ = make_samples(n=150, m=7, c=5, seed=seed)
    fold = np.isin(labels, list(held_out))
    rest = Statistics.from_samples(X, labels, 5) - Statistics.from_samples(X[fold], labels[fold], 5)
    assert_equals(rest, X[~fold], labels[~fold], 5, rtol=1e-12)
    assert not rest.class_sums[list(held_out)].any()


LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided rows": lambda X: np.repeat(X, 3, axis=0)[::3],
    "strided columns": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "transposed view": lambda X: X.T.copy().T,
    "part of a wider array": lambda X: np.hstack([X, X])[:, : X.shape[1]],
    "unaligned": lambda X: np.frombuffer(b"x" + X.tobytes(), dtype=X.dtype, offset=1).reshape(X.shape),
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "list": lambda X: X.astype(float).tolist(),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_any_memory_layout(layout, dtype):
    X, labels, _ = make_samples(n=400, m=37, c=4)
    X = X.astype(dtype)
    given = layout(X)
    if isinstance(given, np.ndarray) and given.flags.owndata:
        given.flags.writeable = False
    assert_equals(Statistics.from_samples(given, labels, 4), X, labels, 4)


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.uint16, bool])
def test_other_dtypes(dtype):
    rng = np.random.default_rng(0)
    X, labels = rng.integers(0, 2, (9000, 5)).astype(dtype), rng.integers(0, 3, 9000)
    assert_equals(Statistics.from_samples(X, labels, 3), X, labels, 3)


def test_broadcast_array():
    X = np.broadcast_to(np.arange(4.0), (100, 4))
    assert_equals(Statistics.from_samples(X, np.zeros(100, int), 1), X, np.zeros(100, int), 1)


def test_memory_map(tmp_path):
    X, labels, _ = make_samples(n=3000, m=11, c=4)
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_equals(Statistics.from_samples(mapped, labels, 4), mapped, labels, 4)


def test_unit_rows():
    X, labels, _ = make_samples(n=5000, m=13, c=4, scale=7.0)
    X[3] = 0
    X[4] *= 1e-200
    X[5] *= 1e140
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    norms[4] = np.linalg.norm(X[4] * 1e200) * 1e-200
    unit = np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)
    for rows in (slice(None), slice(0, 60)):
        statistics = Statistics.from_samples(X[rows], labels[rows], 4, unit_rows=True)
        assert_equals(statistics, unit[rows], labels[rows], 4)


@pytest.mark.parametrize("n", [10, 9000])
def test_unit_rows_of_huge_values(n):
    X = np.random.default_rng(0).random((n, 1000)) * 1e200
    labels = np.zeros(n, int)
    small = Statistics.from_samples(X * 1e-200, labels, 1, unit_rows=True)
    assert Statistics.from_samples(X, labels, 1, unit_rows=True).allclose(small, rtol=1e-12)


def test_no_samples():
    statistics = Statistics(3, 2).update(np.empty((0, 3)), np.empty(0, int))
    assert statistics.n_samples == 0
    assert not statistics.gram.any()


@pytest.mark.parametrize("n", [50, 20_000])  # one block, several blocks
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_a_bad_value_is_refused_and_nothing_is_added(n, bad):
    X, labels, _ = make_samples(n=n, m=600, c=3)
    statistics = Statistics.from_samples(X[:100], labels[:100], 3)
    before = statistics.copy()
    X[n - 2, 5] = bad
    with pytest.raises(
        ValueError, match=f"sample {n - 2} holds {'a value too large' if np.isfinite(bad) else 'NaN or infinity'}"
    ):
        statistics.update(X, labels)
    assert_array_equal(statistics.gram, before.gram)
    assert_array_equal(statistics.class_sums, before.class_sums)
    assert_array_equal(statistics.counts, before.counts)


def test_a_bad_value_of_another_dtype_is_refused_and_nothing_is_added():
    X = np.ones((9000, 2), np.float16)
    X[8999, 1] = np.nan
    statistics = Statistics(2, 1)
    with pytest.raises(ValueError, match="sample 8999 holds NaN"):
        statistics.update(X, np.zeros(9000, int))
    assert statistics.n_samples == 0


@pytest.mark.parametrize(
    ("X", "labels", "error", "message"),
    [
        (np.ones((3, 5)), [0, 1, 0], ValueError, "X has 5 features, but the statistics are for 4"),
        (np.ones((3, 4)), [0, 1], ValueError, "3 samples but 2 labels"),
        (np.ones((3, 4)), [0, 1, 2], ValueError, r"labels must be 0..1, but that of sample 2 is 2.*count from 1"),
        (np.ones((3, 4)), [0, 1, -1], ValueError, "that of sample 2 is -1"),
        (np.ones((3, 4)), [0.5, 1, 0], TypeError, "whole numbers"),
        (np.ones((3, 4)), ["a", "b", "a"], TypeError, "whole numbers"),
        (np.ones((3, 4)), [0, np.nan, 1], TypeError, "whole numbers"),
        (np.ones((3, 4)), [0, np.inf, 1], ValueError, "that of sample 1 is inf"),
        (np.ones((3, 4)), [0, 2**63, 1], ValueError, "that of sample 1 is 9"),
        (np.ma.masked_less(np.arange(12.0).reshape(3, 4), 2), [0, 1, 0], TypeError, "masked"),
        (np.ones((3, 4)), [[0, 1, 0]], ValueError, "one-dimensional"),
        (np.ones(4), [0], ValueError, "reshape"),
        (np.ones((3, 4), complex), [0, 1, 0], TypeError, "real numbers"),
        (np.array([["a"] * 4]), [0], TypeError, "real numbers"),
    ],
)
def test_bad_input(X, labels, error, message):
    with pytest.raises(error, match=message):
        Statistics(4, 2).update(X, labels)


def test_sparse_matrix_is_refused_with_advice():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="toarray"):
        Statistics(3, 1).update(sparse.eye(3), [0, 0, 0])


@pytest.mark.parametrize("labels", [["a", "b"], [0, -1], [0.5, 1], [np.nan, 1], [2**40, 0]])
def test_bad_labels_without_a_number_of_classes(labels):
    with pytest.raises((TypeError, ValueError), match="labels must be"):
        Statistics.from_samples(np.ones((2, 3)), labels)


@pytest.mark.parametrize("sizes", [(0, 2), (-1, 2), (3, -1), (2**70, 2)])
def test_bad_sizes(sizes):
    with pytest.raises(ValueError, match="must be from"):
        Statistics(*sizes)


def test_different_shapes_do_not_add_up():
    with pytest.raises(ValueError, match="differ in shape"):
        Statistics(3, 2) + Statistics(3, 4)
    with pytest.raises(TypeError):
        Statistics(3, 2) + 1


def test_cannot_take_away_what_is_not_there():
    one = Statistics.from_samples(np.ones((2, 2)), [0, 0], 2)
    two = Statistics.from_samples(np.ones((2, 2)), [0, 1], 2)
    with pytest.raises(ValueError, match="more samples of a class than there are"):
        one -= two
    assert_array_equal(one.counts, [2, 0])


def test_adding_to_itself():
    X, labels, _ = make_samples(n=50, m=4, c=3)
    statistics = Statistics.from_samples(X, labels, 3)
    statistics += statistics
    assert_equals(statistics, np.vstack([X, X]), np.concatenate([labels, labels]), 3)


def test_select_classes():
    X, labels, _ = make_samples(n=60, m=4, c=3)
    statistics = Statistics.from_samples(X, labels, 3)
    wider = statistics.select_classes([2, -1, 0, 1])
    assert_array_equal(wider.counts, statistics.counts[[2, 0, 0, 1]] * [1, 0, 1, 1])
    assert_array_equal(wider.class_sums[[0, 2, 3]], statistics.class_sums[[2, 0, 1]])
    assert wider.select_classes([2, 3, 0]).allclose(statistics, rtol=0)
    with pytest.raises(ValueError, match=r"class 1 has .* cannot be left out"):
        statistics.select_classes([0, 2])
    with pytest.raises(ValueError, match="different numbers"):
        statistics.select_classes([0, 0, 1, 2])
    with pytest.raises(TypeError, match="class numbers"):
        statistics.select_classes([True, True, True])


def test_from_arrays_and_pickle():
    X, labels, _ = make_samples(n=60, m=4, c=3)
    statistics = Statistics.from_samples(X, labels, 3)
    again = pickle.loads(pickle.dumps(statistics))
    assert_array_equal(again.gram, statistics.gram)
    assert_array_equal(again.class_sums, statistics.class_sums)
    assert_array_equal(again.counts, statistics.counts)
    assert repr(again) == "Statistics(n_features=4, n_classes=3, n_samples=60)"
    with pytest.raises(ValueError, match="expected gram"):
        Statistics.from_arrays(np.eye(3), np.ones((2, 4)), [1, 1])
    for counts in ([1, -1], [1, np.inf], [1, np.nan], [1, 1e-300], [1, 1e300]):
        with pytest.raises(ValueError, match="counts must be 0, or numbers from"):
            Statistics.from_arrays(np.eye(4), np.ones((2, 4)), counts)
    with pytest.raises(ValueError, match="negative element on its diagonal"):
        Statistics.from_arrays(-np.eye(4), np.ones((2, 4)), [1, 1])


def test_copy_is_independent():
    one = Statistics.from_samples(np.ones((2, 2)), [0, 0], 1)
    two = one.copy()
    two.update(np.ones((1, 2)), [0])
    assert one.n_samples == 2


def test_allclose_sees_differences():
    X, labels, _ = make_samples(n=60, m=4, c=3)
    statistics = Statistics.from_samples(X, labels, 3)
    assert not statistics.allclose(Statistics.from_samples(X * 1.001, labels, 3))
    assert not statistics.allclose(Statistics.from_samples(X, labels, 4))
    assert not statistics.allclose(Statistics.from_samples(X[:-1], labels[:-1], 3))


def test_several_threads_update_one_object():
    X, labels, _ = make_samples(n=4000, m=60, c=5)
    statistics = Statistics(60, 5)
    threads = [
        threading.Thread(target=lambda part=part: statistics.update(X[part::8], labels[part::8])) for part in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_equals(statistics, X, labels, 5)


def test_reading_while_another_thread_updates():
    X, labels, _ = make_samples(n=20_000, m=300, c=5)
    statistics = Statistics(300, 5)
    thread = threading.Thread(target=lambda: [statistics.update(X, labels) for _ in range(5)])
    thread.start()
    seen = {0}
    while thread.is_alive():
        seen.add(statistics.n_samples)
    thread.join()
    # only whole chunks are ever seen
    assert seen <= set(range(0, 100_001, 20_000))
    assert statistics.n_samples == 100_000


LABELS_IN_MOTION = """
import threading
import numpy as np
from jcmspl.core import StartStatistics, Statistics

X, codes, labels = np.ones((20_000, 2)), np.ones((20_000, 3)), np.zeros(20_000, dtype=np.int64)
done = threading.Event()

def write():
    while not done.is_set():
        labels[-1] = 2**40
        labels[-1] = 0

thread = threading.Thread(target=write)
thread.start()
refused = 0
try:
    for _ in range(300):
        for update in (
            lambda: Statistics(2, 2).update(X, labels),
            lambda: StartStatistics(3, 2, 2).update(codes, X, labels),
        ):
            try:
                update()
            except (ValueError, IndexError):
                refused += 1
finally:
    done.set()
    thread.join()
print("survived")
"""


def test_labels_that_another_thread_writes_do_no_harm():
    run = subprocess.run([sys.executable, "-c", LABELS_IN_MOTION], capture_output=True, text=True)
    assert (run.returncode, run.stdout.strip()) == (0, "survived"), run.stderr


def test_several_threads_update_one_start():
    rng = np.random.default_rng(0)
    X, codes, labels = rng.integers(0, 9, (4000, 6)) * 1.0, rng.integers(0, 9, (4000, 5)) * 1.0, np.arange(4000) % 5
    start, alone = StartStatistics(5, 6, 5), StartStatistics(5, 6, 5)
    threads = [
        threading.Thread(
            target=lambda part=part: [
                start.update(codes[i : i + 10], X[i : i + 10], labels[i : i + 10])
                for i in range(part * 500, part * 500 + 500, 10)
            ]
        )
        for part in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone.update(codes, X, labels)
    spectrum = Spectrum(Statistics.from_samples(X, labels, 5), rng.standard_normal((5, 2)))
    answers = [
        solve(spectrum, l1=1, l2=1, l3=1, l4=1, n_concepts=5, start=one, max_iter=2).visual_projection
        for one in (start, alone)
    ]
    assert_array_equal(*answers)  # sums of whole numbers do not depend on their order


@pytest.mark.parametrize("n", [5, 9000])  # of one block, and of several
def test_unit_rows_of_subnormal_values(n):
    X = np.round(9 * np.random.default_rng(0).standard_normal((n, 3))) * 5e-324
    labels = np.zeros(n, dtype=int)
    exact = X / 5e-324
    size = np.linalg.norm(exact, axis=1, keepdims=True)
    expected = exact / np.where(size > 0, size, 1)
    statistics = Statistics(3, 1, unit_rows=True).update(X, labels)
    assert_allclose(statistics.gram, expected.T @ expected, rtol=1e-13, atol=1e-13 * n)


def weighted(X, labels, n_classes, weights):
    """The definition."""
    X, hot = np.asarray(X, dtype=np.float64), np.eye(n_classes)[labels] * weights[:, None]
    return X.T @ (X * weights[:, None]), hot.T @ X, hot.sum(axis=0)


def assert_equals_arrays(statistics, arrays, rtol=1e-13):
    for found, expected in zip((statistics.gram, statistics.class_sums, statistics.counts), arrays, strict=True):
        assert_allclose(found, expected, rtol=0, atol=rtol * (np.abs(expected).max(initial=0) + 1e-300))


class TestWeights:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8])
    @pytest.mark.parametrize("n", [1, 63, 9000])
    def test_equals_the_definition(self, n, dtype):
        X, labels, _ = make_samples(n=n + 3, m=17, c=3)
        X, labels, weights = (3 * X[:n]).astype(dtype), labels[:n], np.random.default_rng(1).random(n) * 4
        statistics = Statistics.from_samples(X, labels, 3, sample_weight=weights)
        assert_equals_arrays(statistics, weighted(X, labels, 3, weights))
        assert statistics.n_samples == pytest.approx(weights.sum(), rel=1e-13)

    @pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
    def test_any_memory_layout_and_nothing_is_written(self, layout):
        X, labels, _ = make_samples(n=400, m=37, c=4)
        weights = np.random.default_rng(1).random(800)[::2]
        given, before = layout(X), weights.copy()
        if isinstance(given, np.ndarray) and given.flags.owndata:
            given.flags.writeable = False
        statistics = Statistics.from_samples(given, labels, 4, sample_weight=weights)
        assert_equals_arrays(statistics, weighted(X, labels, 4, weights))
        assert_array_equal(weights, before)

    @given(seed=st.integers(0, 2**32 - 1), unit_rows=st.booleans(), power=st.booleans())
    def test_a_whole_weight_is_as_good_as_repeating(self, seed, unit_rows, power):
        X, labels, _ = make_samples(n=90, m=5, c=4, seed=seed)
        weights = np.random.default_rng(seed).integers(0, 4, 90)
        options = {"unit_rows": unit_rows, "power": power}
        found = Statistics.from_samples(X, labels, 4, sample_weight=weights, **options)
        repeated = Statistics.from_samples(np.repeat(X, weights, axis=0), np.repeat(labels, weights), 4, **options)
        assert found.allclose(repeated, rtol=1e-12)
        assert_array_equal(found.counts, repeated.counts)

    @given(
        seed=st.integers(0, 2**32 - 1),
        cuts=st.lists(st.integers(0, 100), max_size=4),
        held_out=st.sets(st.integers(0, 4)),
    )
    def test_parts_add_up_and_can_be_taken_away(self, seed, cuts, held_out):
        X, labels, _ = make_samples(n=100, m=6, c=5, seed=seed)
        weights = 10.0 ** np.random.default_rng(seed).uniform(-3, 3, 100)
        total = Statistics(6, 5)
        for a, b in pairwise([0, *sorted(cuts), 100]):
            total.update(X[a:b], labels[a:b], sample_weight=weights[a:b])
        assert_equals_arrays(total, weighted(X, labels, 5, weights), rtol=1e-12)
        fold = np.isin(labels, list(held_out))
        rest = total - Statistics.from_samples(X[fold], labels[fold], 5, sample_weight=weights[fold])
        assert_equals_arrays(rest, weighted(X, labels, 5, weights * ~fold), rtol=1e-9)
        assert not rest.counts[list(held_out)].any()  # and not what rounding leaves of them
        assert not rest.class_sums[list(held_out)].any()

    @pytest.mark.parametrize("n", [50, 9000])
    @pytest.mark.parametrize("unit_rows", [False, True])
    def test_what_weighs_nothing_is_not_looked_at(self, n, unit_rows):
        X, labels, _ = make_samples(n=n, m=300, c=3)
        weights = np.ones(n)
        weights[[3, n - 1]] = 0
        kept = weights > 0
        bad = X.copy()
        bad[3, 2], bad[n - 1] = np.nan, np.inf
        found = Statistics.from_samples(bad, labels, 3, unit_rows=unit_rows, sample_weight=weights)
        assert found.allclose(Statistics.from_samples(X[kept], labels[kept], 3, unit_rows=unit_rows), rtol=1e-12)
        bad[4, 0] = np.nan
        with pytest.raises(ValueError, match="sample 4 holds NaN"):
            found.update(bad, labels, sample_weight=weights)

    @pytest.mark.parametrize("n", [50, 9000])
    def test_what_would_overflow_is_refused(self, n):
        X, weights = np.ones((n, 300)), np.ones(n)
        X[7, 1], weights[7] = 1e120, 1e100
        with pytest.raises(ValueError, match="sample 7 holds a value too large"):
            Statistics.from_samples(X, np.zeros(n, int), 1, sample_weight=weights)
        unit = Statistics.from_samples(X, np.zeros(n, int), 1, sample_weight=weights, unit_rows=True)
        assert np.isfinite(unit.gram).all()
        X[7, 1], weights[7] = 1e120, 1e-100
        assert np.isfinite(Statistics.from_samples(X, np.zeros(n, int), 1, sample_weight=weights).gram).all()

    @pytest.mark.parametrize(
        ("weights", "error", "message"),
        [
            ([1, 2], ValueError, "one number for each of the 3 samples"),
            ([1, 2, 3, 4], ValueError, "one number for each of the 3 samples"),
            ([[1, 2, 3]], ValueError, "1 dimension"),
            (2.0, ValueError, "1 dimension"),
            ([1, -1, 1], ValueError, "that of sample 1 is -1"),
            ([1, 1, np.nan], ValueError, "that of sample 2 is nan"),
            ([np.inf, 1, 1], ValueError, "that of sample 0 is inf"),
            ([1, 1e-320, 1], ValueError, "0 or a number from 1e-100 to"),
            (["a", "b", "c"], TypeError, "sample_weight must hold real numbers"),
            ([1, None, 1], TypeError, "sample_weight must hold real numbers"),
            (np.ones(3, complex), TypeError, "sample_weight must hold real numbers"),
            (np.ma.masked_less(np.arange(3), 1), TypeError, "masked"),
        ],
    )
    def test_bad_weights(self, weights, error, message):
        statistics = Statistics(2, 2)
        with pytest.raises(error, match=message):
            statistics.update(np.ones((3, 2)), [0, 1, 0], sample_weight=weights)
        assert statistics.n_samples == 0

    def test_pickles_also_of_whole_counts(self):
        X, labels, _ = make_samples(n=30, m=4, c=3)
        statistics = Statistics.from_samples(X, labels, 3, sample_weight=np.full(30, 0.3))
        assert pickle.loads(pickle.dumps(statistics)).allclose(statistics, rtol=0)
        assert repr(statistics) == "Statistics(n_features=4, n_classes=3, n_samples=9)"
        whole = Statistics.from_arrays(statistics.gram, statistics.class_sums, np.array([3, 3, 3], np.int64))
        assert whole.counts.dtype == np.float64


def halves(name, shape, seed=0):
    """Return samples of 16 bits, with numbers of all sizes, and the same in float64."""
    values = np.random.default_rng(seed).standard_normal(shape) * 10.0 ** np.random.default_rng(1).integers(
        -6, 3, shape
    )
    X = values.astype(np.float16 if name == "float16" else pytest.importorskip("ml_dtypes").bfloat16)
    return X, X.astype(np.float64)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("scaling", [{}, {"unit_rows": True}, {"power": True}])
def test_samples_of_16_bits_are_read_as_they_are(name, layout, scaling):
    X, wide = halves(name, (400, 40))
    X = {"C": X, "F": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=1)[:, ::2]}[layout]
    labels, weights = np.arange(400) % 7, np.random.default_rng(0).random(400)
    for weight in (None, weights):
        statistics = Statistics.from_samples(X, labels, sample_weight=weight, **scaling)
        assert statistics.allclose(Statistics.from_samples(wide, labels, sample_weight=weight, **scaling), rtol=1e-14)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("n_samples", [20, 9000])
def test_bad_values_of_16_bits_are_found(name, n_samples):
    X = halves(name, (n_samples, 12))[0]
    for bad in (np.nan, np.inf, -np.inf):
        X[n_samples - 3, 5] = bad
        with pytest.raises(ValueError, match=f"sample {n_samples - 3} holds NaN or infinity"):
            Statistics.from_samples(X, np.zeros(n_samples, dtype=int))


@pytest.mark.parametrize("options", [(False, False), (True, True)])
@pytest.mark.parametrize("weighted", [False, True])
def test_threads_do_not_change_a_bit(options, weighted):
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((30_000, 24)), rng.integers(5, size=30_000)
    weights = rng.random(30_000) if weighted else None
    results = []
    for n_threads in (1, 2, 5):
        core = _core.Statistics(24, 5)
        with one_blas_thread():
            core.update(X, labels, *options, 0, weights, n_threads)
        results.append([core.gram, core.class_sums, core.counts])
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            assert_array_equal(one, two)
    assert len(X) > 3 * core.block_rows  # so that threads have several blocks each


def test_the_first_bad_sample_is_named_whatever_the_thread():
    X, labels = np.ones((40_000, 24)), np.zeros(40_000, dtype=np.int64)
    X[[12_345, 39_000]] = np.nan
    core = _core.Statistics(24, 1)
    with one_blas_thread(), pytest.raises(ValueError, match="sample 12345 holds NaN"):
        core.update(X, labels, False, False, 0, None, 4)
    assert core.counts.sum() == 0
