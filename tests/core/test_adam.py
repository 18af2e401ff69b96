"""Adam against its equations, in float64 and to the last digit where the order of operations is the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl.core.adam import Adam


def textbook(p, gradients, rate, beta1, beta2, epsilon, decay, amsgrad):
    """Return the parameters after steps with bias-corrected means, as in the papers."""
    p, q, v, largest = p.copy(), 0.0, 0.0, 0.0
    for t, gradient in enumerate(gradients, start=1):
        g = gradient + decay * p
        q, v = beta1 * q + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        largest = np.maximum(largest, v)
        used = largest if amsgrad else v
        p = p - rate * (q / (1 - beta1**t)) / (np.sqrt(used / (1 - beta2**t)) + epsilon)
    return p


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_oracle_equations(amsgrad, decay):
    rng = np.random.default_rng(0)
    start, gradients = (
        rng.standard_normal((7, 5)),
        rng.standard_normal((20, 7, 5)) * 10.0 ** rng.integers(-3, 3, 20)[:, None, None],
    )
    found = start.copy()
    adam = Adam([found], 0.01, beta1=0.5, epsilon=1e-3, decay=decay, amsgrad=amsgrad)
    for gradient in gradients:
        adam.step([gradient])
    expected = textbook(start, gradients, 0.01, 0.5, 0.999, 1e-3, decay, amsgrad)
    assert_allclose(found, expected, rtol=1e-12)


def test_parts_of_an_array_take_the_same_steps():
    rng = np.random.default_rng(1)
    start, gradients = rng.standard_normal(1001).astype(np.float32), rng.standard_normal((5, 1001)).astype(np.float32)
    whole, parts = start.copy(), [start[:333].copy(), start[333:].copy()]
    one, other = Adam([whole]), Adam(parts)
    for gradient in gradients:
        one.step([gradient])
        other.step([gradient[:333], gradient[333:]])
    assert whole.dtype == np.float32
    assert_array_equal(np.concatenate(parts), whole)


def test_the_minimum_of_a_parabola():
    p = np.array([3.0, -4.0])
    adam = Adam([p], 0.1)
    for _ in range(2000):
        adam.step([2 * (p - 1)])
    assert_allclose(p, 1, atol=1e-6)


def test_parameters_and_gradients_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="contiguous"):
        Adam([np.zeros((4, 3)).T])
    with pytest.raises(ValueError, match="float32 or float64"):
        Adam([np.zeros(3, dtype=int)])
    adam = Adam([np.zeros(3)])
    with pytest.raises(ValueError, match="shapes"):
        adam.step([np.zeros(4)])
