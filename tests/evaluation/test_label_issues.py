"""Wrong labels are found by models that were not trained on them."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from jcmspl.checks import find_label_issues
from jcmspl.datasets import load_dataset, make_zsl
from jcmspl.evaluation.label_issues import _probabilities
from jcmspl.methods import RPL

DATA = make_zsl(300, 32, 12, 12, 3, noise=0.3, random_state=3)


def changed(y, share, seed=0):
    """Return labels of which a share is another class, and the rows of these."""
    rng, y = np.random.default_rng(seed), np.asarray(y)
    rows, labels = rng.permutation(len(y))[: max(1, int(share * len(y)))], np.unique(y)
    wrong = y.copy()
    for row in rows:
        wrong[row] = rng.choice(labels[labels != y[row]])
    return wrong, rows


class TestFound:
    @pytest.mark.parametrize("vectors", [None, DATA.classes], ids=["labels alone", "class vectors"])
    def test_changed_labels_come_first_and_the_right_ones_are_suggested(self, vectors):
        X, y = DATA.part("train")
        wrong, rows = changed(y, 0.05)
        issues = find_label_issues(X, wrong, class_vectors=vectors)
        first = issues.indices[: 2 * len(rows)]
        assert np.isin(rows, first).mean() >= 0.8
        found = np.flatnonzero(np.isin(issues.indices, rows))
        assert np.mean(issues.suggested[found] == y[issues.indices[found]]) >= 0.8
        assert (np.diff(issues.probabilities) >= 0).all()
        assert set(issues) == set(np.flatnonzero(issues.mask()).tolist())
        assert len(issues) == issues.n_issues == (issues.probabilities < 0.01).sum()

    def test_order_of_samples_changes_nothing_but_the_folds(self):
        X, y = DATA.part("train")
        wrong, rows = changed(y, 0.05)
        order = np.random.default_rng(1).permutation(len(y))
        issues = find_label_issues(X[order], wrong[order], class_vectors=DATA.classes)
        first = order[issues.indices[: 2 * len(rows)]]
        assert np.isin(rows, first).mean() >= 0.8

    def test_classes_of_one_sample_are_not_judged(self):
        X, y = DATA.part("train")
        keep = np.flatnonzero(y != y[0])
        keep = np.append(keep, 0)
        issues = find_label_issues(X[keep], y[keep], class_vectors=DATA.classes)
        assert issues.not_judged.tolist() == [len(keep) - 1]
        assert len(keep) - 1 not in issues.indices
        assert len(issues.indices) == len(keep) - 1

    def test_real_labels(self):
        if "JCMSPL_DATA" not in os.environ or not (Path(os.environ["JCMSPL_DATA"]) / "clip_cars.npz").exists():
            pytest.skip("JCMSPL_DATA names no folder with clip_cars.npz")
        data = load_dataset(Path(os.environ["JCMSPL_DATA"]) / "clip_cars.npz")
        X, y = data.part("train")
        wrong, rows = changed(y, 0.05)
        issues = find_label_issues(X, wrong, class_vectors=data.classes)
        assert np.isin(rows, issues.indices[: len(y) // 10]).mean() >= 0.8


class TestProbabilities:
    def test_temperature_is_that_of_the_least_log_loss(self):
        rng = np.random.default_rng(0)
        scores = 3 * rng.standard_normal((500, 6))
        own = np.array([rng.choice(6, p=np.exp(row)) for row in log_softmax(scores / 2, axis=1)])
        rows = np.arange(500)
        others = scores.copy()
        others[rows, own] = -np.inf
        found = _probabilities(scores[rows, own], -np.sort(-others, axis=1)[:, :-1])
        losses = [-log_softmax(scores / t, axis=1)[rows, own].mean() for t in np.geomspace(0.1, 100, 2000)]
        assert -np.log(found).mean() == pytest.approx(min(losses), rel=1e-6)

    def test_scale_of_scores_does_not_matter(self):
        rng = np.random.default_rng(0)
        own, others = rng.standard_normal(50) + 1, -np.sort(-rng.standard_normal((50, 4)), axis=1)
        np.testing.assert_allclose(_probabilities(own, others), _probabilities(1e6 * own, 1e6 * others), rtol=1e-3)


class TestInput:
    def test_dask_is_memory(self):
        da = pytest.importorskip("dask.array")
        X, y = DATA.part("train")
        wrong, _ = changed(y, 0.05)
        expected = find_label_issues(X, wrong, class_vectors=DATA.classes)
        found = find_label_issues(da.from_array(X, chunks=(37, X.shape[1])), wrong, class_vectors=DATA.classes)
        assert set(found) == set(expected)
        np.testing.assert_allclose(np.sort(found.probabilities), np.sort(expected.probabilities), atol=1e-6)

    def test_data_frames(self):
        pandas = pytest.importorskip("pandas")
        X, y = DATA.part("train")
        frame = pandas.DataFrame(X, index=np.arange(len(X))[::-1])
        expected = find_label_issues(X, y, class_vectors=DATA.classes)
        assert set(find_label_issues(frame, pandas.Series(y), class_vectors=DATA.classes)) == set(expected)

    @pytest.mark.parametrize("y", [["a"] * 3, ["a", "b", "c"], ["a", "a", "b"]])
    def test_two_classes_of_two_samples_are_needed(self, y):
        with pytest.raises(ValueError, match="classes of two samples or more"):
            find_label_issues(np.eye(3), y)

    def test_no_samples(self):
        with pytest.raises(ValueError, match="0 classes of two samples"):
            find_label_issues(np.empty((0, 2)), [])

    @pytest.mark.parametrize("model", ["RPL", RPL, LogisticRegression(), 3])
    def test_judges_are_methods(self, model):
        with pytest.raises(ValueError, match="model must be a method of jcmspl"):
            find_label_issues(*DATA.part("train"), model=model)

    def test_bad_values_are_named_by_their_row(self):
        X, y = DATA.part("train")
        X[50, 3] = np.nan
        pandas = pytest.importorskip("pandas")
        for samples in (X, pandas.DataFrame(X)):
            with pytest.raises(ValueError, match=r"first at index \(50, 3\)"):
                find_label_issues(samples, y)

    @pytest.mark.parametrize("X", [3, [1.0, 2.0], [["a"], ["b"]], csr_matrix(np.eye(2)), None])
    def test_samples_that_are_none(self, X):
        with pytest.raises((TypeError, ValueError), match=r"^X "):
            find_label_issues(X, ["a", "b"])

    def test_a_negative_number_of_rows(self):
        with pytest.raises(ValueError, match="most must be from 0"):
            find_label_issues(*DATA.part("train")).to_rows(-1)

    def test_lengths(self):
        with pytest.raises(ValueError, match="3 samples in X but 2 labels"):
            find_label_issues(np.eye(3), ["a", "b"])

    def test_splits(self):
        with pytest.raises(ValueError, match="n_splits"):
            find_label_issues(np.eye(4), ["a", "a", "b", "b"], n_splits=1)
