"""Ranks and the test over random splits, against SciPy, other definitions of the same, and simulation."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from jcmspl.evaluation.uncertainty import corrected_p_value, corrected_standard_error, holm, mean_ranks, standings

RNG = np.random.default_rng(0)


def test_without_overlap_it_is_the_t_test():
    one, two = RNG.random((2, 7))
    assert corrected_p_value(one - two, 0.0) == pytest.approx(stats.ttest_rel(one, two).pvalue)
    assert corrected_standard_error(one, 0.0) == pytest.approx(stats.sem(one))


def test_overlap_by_the_formula_of_the_paper():
    differences, ratio = RNG.standard_normal(10) + 1, 50 / 150
    t = stats.ttest_1samp(differences, 0).statistic * np.sqrt((1 / 10) / (1 / 10 + ratio))
    assert corrected_p_value(differences, ratio) == pytest.approx(2 * stats.t(9).sf(t))
    assert corrected_p_value(-differences, ratio) == pytest.approx(2 * stats.t(9).sf(t))


def test_differences_without_spread():
    assert corrected_p_value(np.zeros(4), 0.3) == 1
    assert corrected_p_value(np.full(4, 0.5), 0.3) == 0
    assert np.isnan(corrected_p_value(np.array([0.5]), 0.3))
    assert np.isnan(corrected_p_value(np.array([0.0]), 0.3))


def test_it_holds_its_level_where_the_plain_test_does_not():
    """Two methods that are equally good: on each class one leads by chance, and 10 splits share 20 classes."""
    rejected = {"corrected": 0, "plain": 0}
    rng, n_runs = np.random.default_rng(1), 400
    for _ in range(n_runs):
        leads = rng.standard_normal(20)
        differences = np.array([leads[rng.permutation(20)[:5]].mean() for _ in range(10)])
        rejected["corrected"] += corrected_p_value(differences, 5 / 15) < 0.05
        rejected["plain"] += stats.ttest_1samp(differences, 0).pvalue < 0.05
    assert rejected["corrected"] / n_runs < 0.08
    assert rejected["plain"] / n_runs > 0.2


@pytest.mark.parametrize("n", [1, 2, 5])
def test_holm_is_closed_testing_with_bonferroni(n):
    p = RNG.random(n) ** 3
    p[-1] = p[0]  # equal ones, too
    closed = [
        max(
            min(1, len(chosen) * min(p[list(chosen)]))
            for size in range(1, n + 1)
            for chosen in itertools.combinations(range(n), size)
            if i in chosen
        )
        for i in range(n)
    ]
    assert_allclose(holm(p), closed)
    assert len(holm([])) == 0


def test_mean_ranks_are_those_of_the_friedman_test():
    scores = RNG.random((4, 9))  # methods, splits
    ranks, (k, n) = mean_ranks(scores), scores.shape
    chi_square = 12 * n / (k * (k + 1)) * (np.sum(ranks**2) - k * (k + 1) ** 2 / 4)
    assert chi_square == pytest.approx(stats.friedmanchisquare(*scores).statistic)
    assert mean_ranks(np.array([[0.9, 0.1], [0.5, 0.2], [0.5, 0.3]])).tolist() == [2.0, 2.25, 1.75]


class TestStandings:
    def test_leads_and_noise(self):
        base = 0.5 + 0.1 * RNG.standard_normal(10)
        noise = 0.01 * RNG.standard_normal((2, 10))
        found = standings({"far behind": base - 0.2 + noise[0], "same": base + noise[1], "best": base + 0.003}, 10, 40)
        assert list(found) == ["best", "same", "far behind"]
        assert [one.differs for one in found.values()] == [False, False, True]
        assert found["best"].p_value == 1
        assert found["best"].mean == pytest.approx(np.mean(base) + 0.003)
        assert found["far behind"].mean_rank == 3

    def test_one_split_and_one_method(self):
        single = standings({"a": [0.4], "b": [0.5]}, 3, 7)
        assert list(single) == ["b", "a"]
        assert np.isnan([single["a"].p_value, single["b"].p_value, single["a"].standard_error]).all()
        assert not single["a"].differs
        assert standings({"a": [0.4, 0.5]}, 3, 7)["a"].p_value == 1
        assert standings({}, 3, 7) == {}
