import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl.core import Statistics
from jcmspl.model.gate import LeftOut
from jcmspl.model.posteriors import ClassGaussians
from support.posteriors import left_out_by_hand

RNG = np.random.default_rng(0)


class Data:
    rounding = 0.0

    def __init__(self, X, numbers, weights=None):
        self.statistics = Statistics.from_samples(X, numbers, sample_weight=weights)
        self.n_samples = self.statistics.n_samples
        self.class_means = self.statistics.class_sums / self.statistics.counts[:, None]


@pytest.mark.parametrize("shrinkage", [0.05, 0.5, 1.0])
def test_oracle_fits_without_each_sample(shrinkage):
    numbers = np.repeat([0, 1, 2], [6, 9, 12])
    X = RNG.standard_normal((27, 5)) + RNG.standard_normal((3, 5))[numbers]
    found = LeftOut(ClassGaussians(Data(X, numbers)), shrinkage).log_posterior(X, numbers, np.ones(27))
    assert_allclose(found, [left_out_by_hand(X, numbers, row, shrinkage) for row in range(27)], rtol=1e-9)


def test_once_of_a_sample_that_counts_twice_is_left_out():
    numbers = np.repeat([0, 1], 8)
    X = RNG.standard_normal((16, 4))
    weights = np.where(np.arange(16) % 3, 1.0, 2.0)
    rows = np.repeat(np.arange(16), weights.astype(int))
    weighted = LeftOut(ClassGaussians(Data(X, numbers, weights)), 0.2).log_posterior(X, numbers, weights)
    repeated = LeftOut(ClassGaussians(Data(X[rows], numbers[rows])), 0.2)
    assert_allclose(weighted[rows], repeated.log_posterior(X[rows], numbers[rows], np.ones(len(rows))), rtol=1e-9)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_what_cannot_be_left_out_is_finite(shrinkage):
    numbers = np.array([0, 1, 1])  # the first class has one sample, the other as many as it needs to vary at all
    X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    found = LeftOut(ClassGaussians(Data(X, numbers)), shrinkage).log_posterior(X, numbers, np.ones(3))
    assert np.isfinite(found).all()
