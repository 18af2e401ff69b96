"""`adapt` against the matrix products that it consists of: samples by candidates, and back, in each round."""

import time
from functools import lru_cache, partial

import numpy as np

from jcmspl.data.samples import PartResults
from jcmspl.model import adaptation_rounds
from jcmspl.model.adaptation import neighbour_agreement
from jcmspl.model.adaptation_rounds import (
    MOST_ROUNDS,
    Directions,
    Settings,
    StoredDirections,
    moved_to_samples,
    rows_at_a_time,
)
from jcmspl.model.recogniser import LinearScorer
from question import Contestants, Question, Target

SHAPE = 50_000, 1024, 1000  # samples, features, candidates
PEER_ROUNDS = 3  # the others would be the same


@lru_cache(maxsize=1)
def data(n: int, m: int, C: int):
    """Return samples in float32, of length one, and the prototypes of their classes, which are off."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((C, m), dtype=np.float32)
    X = centres[rng.integers(0, C, n)]
    for rows in np.array_split(np.arange(n), 50):
        X[rows] += 2 * rng.standard_normal((len(rows), m), dtype=np.float32)
        X[rows] /= np.linalg.norm(X[rows], axis=1, keepdims=True)
    prototypes = centres + rng.standard_normal((C, m))
    return X, prototypes / np.linalg.norm(prototypes, axis=1, keepdims=True)


def adapted(X: np.ndarray, prototypes: np.ndarray):
    """Read samples, adapt, and check by neighbours: what `adapt` does once samples are normalised. All rounds run."""
    n, m = X.shape
    none = np.zeros(len(prototypes))
    stored = StoredDirections(m, rows_at_a_time(m, len(prototypes)))
    for first in range(0, n, 1024):
        stored.add(X[first : first + 1024])
    with Directions(PartResults([stored])) as directions:
        moved = moved_to_samples(directions, prototypes, none, Settings(0.3, 0.02), bias=none, labelled=none)
        after = LinearScorer(moved.weights, moved.offsets)
        return moved, neighbour_agreement(directions, LinearScorer(prototypes, none), after, moved.class_size)


def products(X: np.ndarray, prototypes: np.ndarray, rounds: int) -> None:
    """Multiply as often as so many rounds do, in blocks of the same size."""
    single = prototypes.astype(np.float32)
    rows = rows_at_a_time(X.shape[1], len(single))
    for _ in range(rounds):
        for first in range(0, len(X), rows):
            block = X[first : first + rows]
            (block @ single.T).T @ block


def prepared(n: int, m: int, C: int) -> Contestants:
    X, prototypes = data(n, m, C)
    adaptation_rounds.STANDSTILL = -1.0  # all rounds, whenever prototypes stand still

    def check():
        some = slice(0, max(n // 10, 2))
        moved, agreement = adapted(X[some], prototypes)
        assert moved.rounds == MOST_ROUNDS
        expected = by_definition(X[some].astype(np.float64), prototypes)
        np.testing.assert_allclose(moved.after, expected, atol=5e-3)
        assert 0 <= agreement.before <= 1

    return Contestants(
        ours=partial(adapted, X, prototypes),
        peer=partial(products, X, prototypes, PEER_ROUNDS),
        peer_share=PEER_ROUNDS / MOST_ROUNDS,
        check=check,
        clock=time.process_time,  # on one thread (taskset -c 0) other work on the machine does not count
    )


def by_definition(U: np.ndarray, P: np.ndarray) -> np.ndarray:
    logits, Q = 1.3 * U @ P.T, P
    for _ in range(MOST_ROUNDS):
        shares = np.exp((logits - logits.max(axis=1, keepdims=True)) / 0.02)
        shares /= shares.sum(axis=1, keepdims=True)
        size = (shares.sum(axis=0) ** 2).sum() / len(U)
        Q = 0.3 * min(size, 17) * P + shares.T @ U
        Q /= np.linalg.norm(Q, axis=1, keepdims=True)
        logits = U @ Q.T + 0.3 * U @ P.T
    return Q


_TASK = "adapt, {:,} x {} float32, {:,} candidates, 15 rounds"
_PEER = "the two products of each round, NumPy"

QUESTIONS = [
    Question(
        "adapt",
        f"{_TASK.format(*SHAPE)} / {_PEER}",
        Target("time", 1.5),
        partial(prepared, *SHAPE),
        rounds=1,
    ),
    Question(
        "adapt-memory", f"{_TASK.format(*SHAPE)}, beside the samples", Target("memory", 1000), partial(prepared, *SHAPE)
    ),
    Question(
        "adapt-small",
        f"{_TASK.format(10_000, 512, 200)} / {_PEER}",
        Target("time", 1.5),
        partial(prepared, 10_000, 512, 200),
        rounds=3,
    ),
]


def test_adapt(time_side):
    time_side()
