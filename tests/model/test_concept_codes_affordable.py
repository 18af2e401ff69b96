"""Fits that take days are refused before they start, in a sentence that says what to do instead."""

import numpy as np
import pytest

from jcmspl import JCMSPL
from jcmspl.model import concept_codes
from jcmspl.model.concept_codes import bytes_of_descent, operations_of_iteration, require_affordable

IMAGENET = {"n_concepts": 21_841, "n_classes": 21_841, "n_features": 1024, "n_attributes": 300}


def made_up(counts):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(counts)), counts)
    return rng.random((len(labels), 3)), labels, rng.random((len(counts), 2))


def test_days_are_refused_and_the_way_out_is_named(monkeypatch):
    monkeypatch.setattr(concept_codes, "memory_at_hand", lambda: np.inf)
    with pytest.raises(ValueError, match=r"21,841 concepts .* in 100 iterations.* days: set class_match=inf"):
        require_affordable(**IMAGENET, max_iter=100)
    require_affordable(**IMAGENET, max_iter=5)


def test_more_memory_than_there_is_is_refused(monkeypatch):
    monkeypatch.setattr(concept_codes, "memory_at_hand", lambda: 16e9)
    with pytest.raises(MemoryError, match=r"takes \d+ GB of memory, but only 16 GB are free: set class_match=inf"):
        require_affordable(**IMAGENET, max_iter=5)
    for max_iter in (100, 10**9):
        require_affordable(n_concepts=1000, n_classes=1000, n_features=1024, n_attributes=1000, max_iter=max_iter)


def test_cost_grows_with_the_cube_of_the_classes_and_memory_with_their_square():
    assert operations_of_iteration(20_000, 20_000, 10, 10) == pytest.approx(
        8 * operations_of_iteration(10_000, 10_000, 10, 10), rel=0.01
    )
    assert bytes_of_descent(20_000, 20_000, 10) == pytest.approx(4 * bytes_of_descent(10_000, 10_000, 10), rel=0.01)


@pytest.fixture
def nothing_is_affordable(monkeypatch):
    monkeypatch.setattr(concept_codes, "_MOST_OPERATIONS", 1e6)


@pytest.mark.usefixtures("nothing_is_affordable")
def test_a_model_refuses_and_its_way_out_works():
    X, labels, vectors = made_up(np.arange(1, 61))
    with pytest.raises(ValueError, match=r"60 concepts and finite class_match .* class_match=inf"):
        JCMSPL(progress=False).fit(X, labels, class_vectors=vectors)
    JCMSPL(class_match=np.inf, progress=False).fit(X, labels, class_vectors=vectors)


def test_what_counts_are_the_directions_of_classes_with_equal_counts(monkeypatch):
    limit = 100 * operations_of_iteration(100, 100, 3, 2)
    monkeypatch.setattr(concept_codes, "_MOST_OPERATIONS", limit)
    X, labels, vectors = made_up(np.full(300, 2))
    model = JCMSPL(progress=False).fit(X, labels, class_vectors=vectors)
    assert model.converged_
    with pytest.raises(ValueError, match="class_match=inf"):
        JCMSPL(init="random", random_state=0, progress=False).fit(X, labels, class_vectors=vectors)
    with pytest.raises(ValueError, match="class_match=inf"):
        JCMSPL(n_concepts=301, progress=False).fit(X, labels, class_vectors=vectors)
