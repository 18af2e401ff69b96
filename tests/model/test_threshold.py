"""Thresholds of rejection that rise with the scores of training classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from jcmspl import JCMSPL
from jcmspl.model import recogniser
from jcmspl.model.threshold import WEIGHTS, Evidence, Rejection, Rivals, Threshold, area
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8)


def folds_of(rng, use_of_rivals, n=300):
    """Return folds in which the best scores of strangers rise with their rivals, to some degree."""
    folds = []
    for _ in range(4):
        rival = rng.uniform(0, 3, (2, n))
        best = rng.standard_normal((2, n)) + use_of_rivals * rival
        best[0] += 1  # known samples
        folds.append(tuple(map(Evidence, best, rival)))
    return folds


def joined(folds):
    return [Evidence(*map(np.concatenate, zip(*side, strict=True))) for side in zip(*folds, strict=True)]


def test_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    known, strangers = rng.integers(0, 9, 50) + 2, rng.integers(0, 9, 80)  # with ties
    truth = np.repeat([1, 0], [50, 80])
    assert area(known, strangers) == pytest.approx(roc_auc_score(truth, np.concatenate([known, strangers])))


@pytest.mark.parametrize("use_of_rivals", [0, 1])
@pytest.mark.parametrize("lost", [0, 0.05, 0.1, 0.5, 0.999])
def test_the_threshold_is_the_highest_that_loses_no_more(lost, use_of_rivals):
    folds = folds_of(np.random.default_rng(1), use_of_rivals)
    found = Threshold.of(folds, lost, 2.0)
    known, strangers = map(found.confidence, joined(folds))
    assert found.lost == np.mean(known < found.value) <= lost
    higher = np.min(known[known > found.value], initial=np.inf)
    assert np.mean(known < higher) > lost
    assert found.rejected == np.mean(strangers < found.value)
    assert found.auroc == pytest.approx(np.mean([area(*map(found.confidence, fold)) for fold in folds]))


def test_rivals_count_where_they_tell_strangers():
    found = Threshold.of(folds_of(np.random.default_rng(2), 0.75, 3000), 0.05, 2.0)
    plain = folds_of(np.random.default_rng(2), 0.75, 3000)
    assert found.temperature == 2.0
    assert found.floor == pytest.approx(np.quantile(joined(plain)[0].rival, 0.25))
    assert abs(found.weight - 0.75) <= 0.25
    assert found.auroc > np.mean([area(known.best, strangers.best) for known, strangers in plain]) + 0.02
    assert "of training classes" in str(found)


@pytest.mark.parametrize("use_of_rivals", [0, -1])
def test_rivals_that_tell_nothing_have_no_weight(use_of_rivals):
    folds = folds_of(np.random.default_rng(3), use_of_rivals)
    found = Threshold.of(folds, 0.05, 2.0)
    assert (found.weight, found.floor, found.temperature) == (0.0, 0.0, 1.0)
    assert found.value == np.sort(joined(folds)[0].best)[60]  # 5 % of 1,200
    assert "training classes" not in str(found)


def test_a_gain_within_its_standard_error_is_none():
    """Rivals help in one fold of four, and do harm in another."""
    rng = np.random.default_rng(4)
    good, bad = folds_of(rng, 1)[:1], folds_of(rng, -1)[:1]
    assert Threshold.of([*good, *bad, *folds_of(rng, 0)[:2]], 0.05).weight == 0


def test_equal_areas_choose_the_smallest_weight():
    known, strangers = (Evidence(best + np.arange(5.0), np.zeros(5)) for best in (10, 0))
    assert Threshold.of([(known, strangers)] * 3, 0.0).weight == WEIGHTS[0] == 0


def test_below_the_floor_the_best_score_decides_alone():
    evidence = Evidence(np.array([1.0, 1.0, 1.0]), np.array([-5.0, 2.0, 3.0]))
    assert_array_equal(evidence.confidence(0.5, 2.0), [1.0, 1.0, 0.5])


@pytest.mark.parametrize("values", [10_000, 3])
def test_rivals_are_soft_best_scores_however_samples_are_cut(values, monkeypatch):
    model = JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    monkeypatch.setattr(recogniser, "_SCORES", values)
    rivals = Rivals(model.recogniser(candidates="seen"), 0.1)
    expected = 0.1 * np.log(np.exp(model.decision_function(ZOO.X_new, candidates="seen") / 0.1).sum(axis=1))
    assert_allclose(rivals(ZOO.X_new), expected, rtol=1e-10)
    assert len(rivals(ZOO.X_new[:0])) == 0
    tiny = Rivals(rivals.recogniser, 1e-300)(ZOO.X_new)  # the maximum itself, and no overflow
    assert_allclose(tiny, model.decision_function(ZOO.X_new, candidates="seen").max(axis=1))


def test_a_number_needs_no_rivals():
    best = np.array([0.1, 0.3], dtype=np.float32)
    assert Rejection(0.2)(None, best).tolist() == [True, False]
