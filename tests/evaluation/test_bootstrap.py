"""Intervals, against all draws that there are, a plain loop, and SciPy."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from jcmspl import JCMSPL, evaluate
from jcmspl.datasets import make_zsl
from jcmspl.evaluation.accuracy import Tally
from jcmspl.evaluation.uncertainty import SETTINGS, class_draws, interval, intervals


def tally_of(right, total):
    """Return the counts of classes 0, 1, ... of which so many samples of so many are recognised."""
    tally = Tally(1)
    for label, (hits, n) in enumerate(zip(right, total, strict=True)):
        tally.update([label] * n, [[label]] * hits + [[-1]] * (n - hits))
    return tally


def test_all_draws_of_three_classes():
    """The 27 draws are equally likely; none of their means is at the edge of the middle nine tenths."""
    shares = np.array([0.1, 0.4, 0.9])
    settings = replace(SETTINGS, level=0.9, draws=20_000)
    means = np.concatenate([counts @ shares / 3 for counts in class_draws(3, 0, settings)])
    every = np.sort([np.mean(draw) for draw in itertools.product(shares, repeat=3)])
    found = interval(means, settings)
    assert found.low == pytest.approx(every[1])  # 1/27 < 5 % < 4/27
    assert found.high == pytest.approx(every[-2])
    for mean in np.unique(every.round(12)):
        assert np.mean(np.isclose(means, mean)) == pytest.approx(np.mean(np.isclose(every, mean)), abs=0.01)


def test_draws_are_drawn_alike_however_many_at_a_time(monkeypatch):
    counts = np.concatenate(list(class_draws(7, 0)))
    assert counts.shape == (SETTINGS.draws, 7)
    assert np.all(counts.sum(axis=1) == 7)
    assert not np.array_equal(counts, np.concatenate(list(class_draws(7, 1))))
    monkeypatch.setattr("jcmspl.evaluation.uncertainty._BLOCK", 7 * 64)
    np.testing.assert_array_equal(np.concatenate(list(class_draws(7, 0))), counts)


def test_figures_of_a_plain_loop():
    unseen, total, among_all = [3, 9, 5, 0], [10, 12, 5, 8], [1, 6, 2, 0, 4, 7, 9]
    first, second = tally_of(unseen, total), tally_of([8, 2, 4, 1], total)
    every = tally_of(among_all, [*total, 8, 8, 10])
    found = intervals([(first, every), (second, every)], range(4))
    draws = {name: [] for name in ("per_class", "per_sample", "acc_unseen", "difference", "acc_seen", "harmonic_mean")}
    n_draws = itertools.chain(*class_draws(4, 0)), itertools.chain(*class_draws(3, 1))
    for of_unseen, of_seen in zip(*n_draws, strict=True):
        drawn = [i for i, times in enumerate(of_unseen) for _ in range(int(times))]
        seen = [4 + i for i, times in enumerate(of_seen) for _ in range(int(times))]
        draws["per_class"].append(np.mean([unseen[i] / total[i] for i in drawn]))
        draws["per_sample"].append(sum(unseen[i] for i in drawn) / sum(total[i] for i in drawn))
        draws["difference"].append(np.mean([[8, 2, 4, 1][i] / total[i] for i in drawn]) - draws["per_class"][-1])
        a = np.mean([among_all[i] / total[i] for i in drawn])
        b = np.mean([among_all[i] / [8, 8, 10][i - 4] for i in seen])
        draws["acc_unseen"].append(a)
        draws["acc_seen"].append(b)
        draws["harmonic_mean"].append(stats.hmean([a, b]) if a and b else 0)
    for name in ("per_class", "per_sample", "acc_unseen", "acc_seen", "harmonic_mean"):
        expected = np.percentile(draws[name], [2.5, 97.5])
        assert (found[0][name].low, found[0][name].high) == pytest.approx(tuple(expected))
    difference = found[1]["per_class_difference"]
    assert (difference.low, difference.high) == pytest.approx(tuple(np.percentile(draws["difference"], [2.5, 97.5])))
    assert "per_class_difference" not in found[0]


def test_as_scipy_has_it():
    rng = np.random.default_rng(0)
    right, total = rng.integers(0, 21, 60), np.full(60, 20)
    (found,) = intervals([(tally_of(right, total), None)], range(60))
    expected = stats.bootstrap(
        (right / total,), np.mean, method="percentile", n_resamples=20_000, random_state=0
    ).confidence_interval
    assert (found["per_class"].low, found["per_class"].high) == pytest.approx(tuple(expected), abs=0.01)
    assert set(found) == {"per_class", "per_sample"}


def test_few_classes_have_no_interval():
    assert intervals([(tally_of([3, 2, 5], [5, 5, 5]), None)], range(3)) == [{}]
    (found,) = intervals([(tally_of([3, 2, 5, 5], [5] * 4), tally_of([3, 2, 1, 5, 0], [5] * 5))], range(4))
    assert set(found) == {"per_class", "per_sample"}  # a single seen class


def test_the_intervals_of_a_report():
    dataset = make_zsl(900, 30, 12, 8, 4, noise=0.8, random_state=0)
    model = JCMSPL().fit(*dataset.part("trainval"), class_vectors=dataset.classes)
    report = evaluate(model, dataset)
    assert report.bootstrap == SETTINGS
    names = ["per_class", "per_sample", "acc_seen", "acc_unseen", "harmonic_mean"]
    for number, result in enumerate(report.results):
        assert list(result.intervals) == names[:2] + ["per_class_difference"] * (number > 0) + names[2:]
        for figure in ("per_class", "per_sample"):
            assert result.intervals[figure].low <= getattr(result.standard, figure) <= result.intervals[figure].high
        for figure in names[2:]:
            one = result.intervals[figure]
            assert one.low <= getattr(result.generalized, figure) <= one.high
    assert evaluate(model, dataset).results == report.results  # seeded
    shares = [row.standard for row in report.classes if row.kind == "unseen"]
    means = np.concatenate([counts @ np.array(shares) / len(shares) for counts in class_draws(len(shares), 0)])
    # the order of classes decides which of them a draw has, not where most draws are
    np.testing.assert_allclose(report.results[0].intervals["per_class"].low, interval(means).low, atol=0.05)
    figure = report.data["results"][0]["intervals"]["per_class"]
    text = f"{100 * figure['low']:.1f} to {100 * figure['high']:.1f} %"
    for form in (report.to_text(), report.to_markdown(), report.to_html()):
        assert text in form
        assert "95 % interval" in form


def test_a_single_unseen_class():
    dataset = make_zsl(300, 10, 6, 6, 1, random_state=0)
    model = JCMSPL().fit(*dataset.part("trainval"), class_vectors=dataset.classes)
    report = evaluate(model, dataset)
    assert all(result.intervals == {} for result in report.results)
    for form in (report.to_text(), report.to_markdown(), report.to_html()):
        assert "% interval" not in form


def test_thousands_of_classes_take_little_memory():
    assert next(class_draws(30_000, 0)).shape == (34, 30_000)
