import numpy as np
from numpy.testing import assert_array_equal

from jcmspl.model.gate import Mixture, fitted_gate, scores_of, spread
from jcmspl.model.posteriors import Affine

RNG = np.random.default_rng(0)


def test_a_gate_that_is_sure_still_tells_classes_apart():
    affine = Affine(np.eye(4), np.zeros(4))
    mixture = Mixture(affine, affine, affine, np.array([0, 0, 1e6]), np.ones(2), np.full(4, -1), True)
    Z = RNG.standard_normal((50, 4))
    assert_array_equal(scores_of(mixture, Z).argmax(axis=1), Z.argmax(axis=1))


def test_scores_that_differ_by_rounding_alone_have_no_spread():
    """As of samples that are all the same: temperatures and the gate would follow from rounding."""
    rounding = 2.0**-52 * np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    assert spread(rounding) == 1
    assert spread(1e6 * (1 + rounding)) == 1
    assert spread(1e6 * rounding) < 1e-9
    slopes = fitted_gate(rounding, np.array([True, False, True, False]), np.full(4, 0.25))[:2]
    assert np.abs(slopes).max() < 1e-6
