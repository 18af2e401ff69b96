"""GMMN: the discrepancy against its definition, its gradient, and samples that come to have the right moments."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl.methods import GMMN
from jcmspl.methods.gmmn import discrepancy
from support.animals import make_zoo
from support.gradients import assert_gradients
from support.small_networks import small

WIDTHS, RNG = [0.5, 2.0, 8.0], np.random.default_rng(0)


def mean_kernel(P, Q):
    squares = ((P[:, None] - Q) ** 2).sum(axis=2)
    return sum(np.exp(-squares / (2 * width)) for width in WIDTHS).mean()


def test_oracle_definition_and_gradient():
    F, R = RNG.standard_normal((6, 4)), RNG.standard_normal((9, 4)) + 0.5
    loss, gradient = discrepancy(F, R, WIDTHS)
    assert loss == pytest.approx(np.sqrt(mean_kernel(F, F) + mean_kernel(R, R) - 2 * mean_kernel(F, R)))
    assert_gradients(lambda: discrepancy(F, R, WIDTHS)[0], [F], [gradient])


def test_a_set_is_like_itself():
    F = RNG.standard_normal((6, 4))
    loss, gradient = discrepancy(F, F[::-1].copy(), WIDTHS)
    assert loss <= 1e-6  # the root is kept from zero
    assert_allclose(gradient, 0, atol=1e-6)


def test_descent_finds_the_distribution():
    R = RNG.standard_normal((200, 2)) * [1.0, 0.3] + [2.0, -1.0]
    F = RNG.standard_normal((200, 2))
    first, far = discrepancy(F, R, WIDTHS)[0], np.abs(F.mean(axis=0) - R.mean(axis=0)).max()
    for step in range(600):
        F -= 20 * 0.99**step * discrepancy(F, R, WIDTHS)[1]
    assert discrepancy(F, R, WIDTHS)[0] < 0.3 * first
    assert np.abs(F.mean(axis=0) - R.mean(axis=0)).max() < 0.2 * far


def test_classes_count_the_same():
    zoo = make_zoo()
    options = {"progress": False, "feature_normalisation": "none"}
    plain, weighed = small(GMMN, **options), small(GMMN, class_weight={zoo.seen[0]: 5.0}, **options)
    scores = []
    for model in (plain, weighed):
        model.fit(zoo.X, zoo.y, class_vectors=zoo.table)
        scores.append(model.losses_)
    assert_allclose(scores[0], scores[1], rtol=0.2)
