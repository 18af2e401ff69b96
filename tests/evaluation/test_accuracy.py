import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn import metrics as sk

from jcmspl.evaluation.accuracy import Tally, accuracy, confusion_matrix, harmonic_mean, hit_at_k

LABELS = st.lists(st.sampled_from("abcde"), min_size=2, max_size=40).filter(lambda labels: len(set(labels)) > 1)


@given(st.data(), LABELS)
def test_equal_those_of_scikit_learn(data, truth):
    named = data.draw(st.lists(st.sampled_from("abcde"), min_size=len(truth), max_size=len(truth)))
    assert accuracy(truth, named, average="sample") == pytest.approx(sk.accuracy_score(truth, named))
    recall = sk.recall_score(truth, named, labels=sorted(set(truth)), average="macro", zero_division=0)
    assert accuracy(truth, named) == pytest.approx(recall)
    counts, labels = confusion_matrix(truth, named)
    assert_array_equal(counts, sk.confusion_matrix(truth, named, labels=labels))


@given(st.integers(0, 500), st.integers(1, 5))
def test_hit_at_k_equals_that_of_scikit_learn(seed, k):
    rng = np.random.default_rng(seed)
    truth, scores = np.concatenate([np.arange(6), rng.integers(0, 6, 30)]), rng.random((36, 6))
    top = np.argsort(-scores, axis=1)[:, :k]
    expected = sk.top_k_accuracy_score(truth, scores, k=k)
    assert hit_at_k(truth, top) == pytest.approx(expected)
    weights = 1 / np.bincount(truth)[truth]
    per_class = sk.top_k_accuracy_score(truth, scores, k=k, sample_weight=weights)
    assert hit_at_k(truth, top, average="class") == pytest.approx(per_class)


def test_a_worked_case():
    truth = ["cat"] * 4 + ["dog"]
    top = [["cat", "dog"], ["dog", "cat"], ["fox", "dog"], ["cat", "fox"], ["cat", "dog"]]
    assert hit_at_k(truth, [row[:1] for row in top]) == pytest.approx(2 / 5)
    assert hit_at_k(truth, top) == pytest.approx(4 / 5)
    assert hit_at_k(truth, top, average="class") == pytest.approx((3 / 4 + 1) / 2)


def test_chunks_change_nothing():
    rng = np.random.default_rng(0)
    truth, top = rng.integers(0, 5, 100), np.argsort(rng.random((100, 5)), axis=1)[:, :3]
    whole, parts = Tally(3), Tally(3)
    whole.update(truth, top.tolist())
    for first in range(0, 100, 7):
        parts.update(truth[first : first + 7], top[first : first + 7].tolist())
    for k in (1, 2, 3):
        assert whole.per_class(k) == parts.per_class(k) == pytest.approx(hit_at_k(truth, top[:, :k], average="class"))
        assert whole.per_sample(k) == parts.per_sample(k) == pytest.approx(hit_at_k(truth, top[:, :k]))
    assert_array_equal(whole.matrix(range(5)), confusion_matrix(truth, top[:, 0])[0])
    true, named, count = whole.worst_confusions(1)[0]
    off = whole.matrix(range(5))
    np.fill_diagonal(off, 0)
    assert off[true, named] == count == off.max()


def test_harmonic_mean():
    assert harmonic_mean(0.5, 0.5) == 0.5
    assert harmonic_mean(1.0, 0.0) == harmonic_mean(0.0, 0.0) == 0.0
    assert harmonic_mean(0.8, 0.4) == pytest.approx(2 * 0.8 * 0.4 / 1.2)


def test_bad_input():
    with pytest.raises(ValueError, match="2 labels in y_true but 1 predictions"):
        accuracy(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="is empty"):
        accuracy([], [])
    with pytest.raises(ValueError, match="average must be one of"):
        accuracy(["a"], ["a"], average="macro")
    with pytest.raises(ValueError, match="labels lacks 'b'"):
        confusion_matrix(["a"], ["b"], labels=["a"])
