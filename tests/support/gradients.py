"""Gradients against central differences, in float64."""

import numpy as np
from numpy.testing import assert_allclose


def differences(loss, array, step=1e-6):
    """Return the gradient of ``loss()`` by the entries of an array, which are changed one after the other."""
    found = np.zeros_like(array)
    for place in np.ndindex(*array.shape):
        before = array[place]
        array[place] = before + step
        above = loss()
        array[place] = before - step
        found[place] = (above - loss()) / (2 * step)
        array[place] = before
    return found


def assert_gradients(loss, arrays, gradients, rtol=1e-6):
    """Compare gradients of ``loss()`` by some arrays with central differences."""
    for array, gradient in zip(arrays, gradients, strict=True):
        expected = differences(loss, array)
        assert_allclose(gradient, expected, rtol=0, atol=rtol * max(np.abs(expected).max(), 1e-3))


def in_double(network):
    """Return a perceptron in float64, with biases that are not zero."""
    rng = np.random.default_rng(9)
    network.weights = [W.astype(np.float64) for W in network.weights]
    network.biases = [0.1 * rng.standard_normal(b.shape) for b in network.biases]
    return network
