"""The exact search for neighbours against its bare matrix product and against faiss."""

from collections.abc import Callable
from functools import partial

import numpy as np

from jcmspl.core import nearest
from question import THREADS, Contestants, Question, Target, blas_kernels, need
from samples import labelled_samples

COUNT, FEATURES, TOP = 10_000, 1024, 5
TOLERANCE = 2e-6  # scores are at most 1, in float32


def queries_and_prototypes() -> tuple[np.ndarray, np.ndarray]:
    X = labelled_samples(2 * COUNT, FEATURES, 1, 100).X.astype(np.float32)
    return X[:COUNT], X[COUNT:]


def random_queries_and_prototypes() -> tuple[np.ndarray, np.ndarray]:
    """Return vectors without structure, whose scores are as close together as they can be."""
    both = np.random.default_rng(0).standard_normal((2 * COUNT, FEATURES), dtype=np.float32)
    both /= np.linalg.norm(both, axis=1, keepdims=True)
    return both[:COUNT], both[COUNT:]


def search(queries: np.ndarray, prototypes: np.ndarray):
    return nearest(queries, prototypes, TOP, metric="dot")


def check_by_brute_force(queries: np.ndarray, prototypes: np.ndarray) -> None:
    """Check some of the answers; which of two neighbours comes first whose scores round to the same is open."""
    some = queries[::10]
    indices, values = search(some, prototypes)
    scores = some.astype(np.float64) @ prototypes.T.astype(np.float64)
    best = -np.sort(-scores, axis=1)[:, :TOP]
    np.testing.assert_allclose(values, best, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(np.take_along_axis(scores, indices, axis=1), best, rtol=0, atol=TOLERANCE)
    assert np.all(np.diff(np.sort(indices, axis=1), axis=1) > 0), "a neighbour is named twice"


def against_product(duplicates: int = 1) -> Contestants:
    """With many duplicates of each prototype there is nothing that bounds could rule out."""
    queries, prototypes = queries_and_prototypes()
    prototypes = np.tile(prototypes[: COUNT // duplicates], (duplicates, 1))

    return Contestants(
        ours=lambda: search(queries, prototypes),
        peer=lambda: queries @ prototypes.T,
        check=partial(check_by_brute_force, queries, prototypes),
    )


def against_faiss(make_data: Callable[[], tuple[np.ndarray, np.ndarray]]) -> Contestants:
    faiss = need("faiss")
    faiss.omp_set_num_threads(THREADS)
    queries, prototypes = make_data()
    index = faiss.IndexFlatIP(FEATURES)
    index.add(prototypes)

    def check():
        check_by_brute_force(queries, prototypes)
        (indices, values), (faiss_values, faiss_indices) = search(queries, prototypes), index.search(queries, TOP)
        np.testing.assert_allclose(values, faiss_values, rtol=0, atol=TOLERANCE)
        assert np.mean(indices == faiss_indices) > 0.999, "faiss finds other neighbours"

    return Contestants(
        ours=lambda: search(queries, prototypes),
        peer=lambda: index.search(queries, TOP),
        check=check,
        caveat=_kernels_caveat(),
    )


def _kernels_caveat() -> str:
    kernels = blas_kernels()
    ours, theirs = kernels.get("scipy", "?"), kernels.get("faiss_cpu", "?")
    if ours == theirs:
        return ""
    return (
        f"NOT LIKE FOR LIKE: the BLAS in the faiss wheel chose {theirs} kernels here, ours {ours}; "
        f"to compare on the same: OPENBLAS_CORETYPE={ours} python bench/table.py --only neighbours-faiss"
    )


_TASK = "nearest, top 5, 10,000 x 10,000 x 1024 float32"

QUESTIONS = [
    Question("neighbours-product", f"{_TASK} / NumPy Q @ P.T", Target("time", 1.3), against_product),
    Question(
        "neighbours-duplicates",
        "nearest, the same size, every prototype a thousand times / NumPy Q @ P.T",
        Target("time", 1.3),
        partial(against_product, duplicates=1000),
    ),
    Question(
        "neighbours-faiss",
        f"{_TASK} / faiss IndexFlatIP",
        Target("speed", 3),
        partial(against_faiss, queries_and_prototypes),
        rounds=3,
    ),
    Question(
        "neighbours-random-faiss",
        "nearest, the same size, random directions / faiss IndexFlatIP",
        Target("speed", 1.2),
        partial(against_faiss, random_queries_and_prototypes),
        rounds=3,
    ),
]


def test_neighbours(time_side):
    time_side()
