"""CN-ZSL: gradients of standardisation and of the whole loss, and running means that become those of the classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from jcmspl.methods import CNZSL
from jcmspl.methods.cnzsl import Standardised, StandardisedNetwork
from support.animals import make_zoo
from support.gradients import assert_gradients
from support.small_networks import small

RNG = np.random.default_rng(0)


def in_double(network):
    noise = [0.1 * RNG.standard_normal(array.shape) for array in network.parameters]
    network.parameters = [array + more for array, more in zip(network.parameters, noise, strict=True)]
    network.running = [(mean.astype(np.float64), variance.astype(np.float64)) for mean, variance in network.running]
    return network


def standardised(U):
    return (U - U.mean(axis=0)) / (U.var(axis=0, ddof=1) + 1e-5)


def test_standardisation():
    U, weights = RNG.standard_normal((6, 3)), RNG.standard_normal((6, 3))
    found = Standardised.of(U)
    assert_allclose(found.outputs, standardised(U), rtol=1e-12)
    assert_gradients(lambda: float(np.vdot(weights, standardised(U))), [U], [found.backward(weights)])


@pytest.mark.parametrize("rectified", [False, True])
def test_oracle_loss_and_gradients(rectified):
    network = in_double(StandardisedNetwork.drawn(4, 6, 5, np.random.RandomState(0), rectified=rectified))
    vectors, X, y = RNG.standard_normal((7, 4)), RNG.standard_normal((9, 5)), np.arange(9) % 7
    X /= np.linalg.norm(X, axis=1, keepdims=True)

    def definition():
        W1, b1, W2, b2, W3, b3 = network.parameters
        hidden = standardised(np.maximum(vectors @ W1.T + b1, 0) @ W2.T + b2)
        P = standardised(np.maximum(hidden, 0)) @ W3.T + b3
        P = np.maximum(P, 0) if rectified else P
        cosines = X @ (P / (np.linalg.norm(P, axis=1, keepdims=True) + 1e-12)).T
        return float(-log_softmax(9 * cosines, axis=1)[np.arange(9), y].mean())

    loss, gradients = network.loss(vectors, X, y, 3.0)
    assert loss == pytest.approx(definition())
    assert_gradients(definition, network.parameters, gradients, rtol=1e-5)


def test_running_means_come_to_be_those_of_the_classes():
    network = in_double(StandardisedNetwork.drawn(4, 6, 5, np.random.RandomState(0), rectified=True))
    vectors, X = RNG.standard_normal((7, 4)), np.eye(5)
    for _ in range(300):
        network.loss(vectors, X, np.arange(5), 3.0, moving=True)
    W1, b1, W2, b2, W3, b3 = network.parameters
    hidden = standardised(np.maximum(vectors @ W1.T + b1, 0) @ W2.T + b2)
    expected = np.maximum(standardised(np.maximum(hidden, 0)) @ W3.T + b3, 0)
    assert_allclose(network(vectors), expected, rtol=1e-8)


def test_the_learning_rate_falls_half_way():
    zoo = make_zoo()
    model = small(CNZSL, max_iter=40, progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    steps = np.abs(np.diff(model.losses_))
    assert steps[25:].mean() < steps[5:20].mean()
