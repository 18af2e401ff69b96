"""Layers and losses against central differences of their values, and against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax

from jcmspl.networks.perceptron import Latent, Perceptron, absolute_loss, softmax_loss, squared_loss
from support.gradients import assert_gradients, differences, in_double

RNG = np.random.default_rng(0)


def drawn(*activations, dropout=()):
    sizes = [*(5, 7, 6, 4)[: len(activations)], 3]
    return in_double(Perceptron.drawn(sizes, activations, "he", np.random.RandomState(1), dropout))


@pytest.mark.parametrize("activations", [("linear",), ("relu", "linear"), ("leaky", "relu", "linear")])
def test_outputs_are_those_of_the_definition(activations):
    network, X = drawn(*activations), RNG.standard_normal((8, 5))
    Z = X
    for W, b, activation in zip(network.weights, network.biases, activations, strict=True):
        U = Z @ W.T + b
        Z = {"linear": U, "relu": np.maximum(U, 0), "leaky": np.where(U > 0, U, 0.2 * U)}[activation]
    assert_allclose(network(X), Z, rtol=1e-14)


@pytest.mark.parametrize("activations", [("linear",), ("relu", "leaky"), ("leaky", "relu", "linear")])
def test_gradients(activations):
    network, X, wanted = drawn(*activations), RNG.standard_normal((8, 5)), RNG.standard_normal((8, 3))

    def loss():
        return squared_loss(network(X), wanted)[0]

    found, trace = network.forward(X)
    gradients, of_inputs = network.backward(squared_loss(found, wanted)[1], trace, to_input=True)
    assert_gradients(loss, [*network.parameters, X], [*gradients, of_inputs])


def test_dropout_keeps_the_mean_and_has_its_own_gradient():
    network, X = drawn("relu", "linear", dropout=(0.5, 0.0)), RNG.standard_normal((4, 5))

    def loss():
        return float(network.forward(X, np.random.RandomState(3))[0].sum())

    found, trace = network.forward(X, np.random.RandomState(3))
    assert_gradients(loss, network.parameters, network.backward(np.ones_like(found), trace)[0])
    hidden = [network.forward(X, np.random.RandomState(seed))[1][1][0] for seed in range(4000)]
    kept = np.mean([np.mean(one == 0) for one in hidden])
    plain = network.forward(X)[1][1][0]
    assert_allclose(kept, 0.5 + np.mean(plain == 0) / 2, atol=0.02)
    assert_allclose(np.mean(hidden, axis=0), plain, atol=0.1 * plain.max())
    assert_array_equal(network(X), network.forward(X)[0])


def test_first_weights():
    network = Perceptron.drawn((400, 300, 200), ("relu", "linear"), "he", np.random.RandomState(0))
    assert all(one.dtype == np.float32 for one in network.parameters)
    assert_allclose([W.std() for W in network.weights], np.sqrt([2 / 400, 2 / 300]), rtol=0.02)
    assert not any(b.any() for b in network.biases)
    glorot = Perceptron.drawn((400, 200), ("linear",), "glorot", np.random.RandomState(0)).weights[0]
    assert_allclose([glorot.std(), np.abs(glorot).max()], [np.sqrt(2 / 600), np.sqrt(6 / 600)], rtol=0.02)
    half = Perceptron.drawn((400, 200), ("linear",), "half_glorot", np.random.RandomState(0)).weights[0]
    assert_allclose(half, glorot / 2, rtol=1e-6)
    assert_allclose(
        Perceptron.drawn((400, 200), ("linear",), 0.02, np.random.RandomState(0)).weights[0].std(), 0.02, rtol=0.02
    )


def test_softmax():
    logits, labels = 3 * RNG.standard_normal((6, 4)), np.array([0, 1, 2, 3, 1, 1])
    loss, gradient = softmax_loss(logits, labels)
    assert_allclose(loss, -log_softmax(logits, axis=1)[np.arange(6), labels].mean(), rtol=1e-14)
    assert_gradients(lambda: softmax_loss(logits, labels)[0], [logits], [gradient])
    assert softmax_loss(logits + 1e4, labels)[0] == pytest.approx(loss)


@pytest.mark.parametrize("loss", [squared_loss, absolute_loss])
def test_losses(loss):
    found, wanted = RNG.standard_normal((2, 6, 4))
    assert_gradients(lambda: loss(found, wanted)[0], [found], [loss(found, wanted)[1]])
    expected = {squared_loss: np.square, absolute_loss: np.abs}[loss](found - wanted).sum(axis=1).mean()
    assert loss(found, wanted)[0] == pytest.approx(expected / (2 if loss is squared_loss else 1))


class TestLatent:
    codes, noise = RNG.standard_normal((6, 8)), RNG.standard_normal((6, 4))

    def test_divergence_is_that_of_draws(self):
        latent = Latent(self.codes, self.noise)
        E = np.random.default_rng(1).standard_normal((200_000, 6, 4))
        deviations = np.exp(latent.logs / 2)
        Z = latent.means + deviations * E
        samples = (-(E**2) / 2 - np.log(deviations) + Z**2 / 2).sum(axis=2)  # log q - log p
        assert latent.divergence()[0] == pytest.approx(samples.mean(), rel=0.01)

    def test_gradients(self):
        codes, weights = self.codes.copy(), RNG.standard_normal((6, 4))
        latent = Latent(codes, self.noise)
        assert_gradients(lambda: latent.divergence()[0], [codes], [latent.divergence()[1]])
        of_draws = latent.gradient_of_draws(weights)
        assert_gradients(lambda: float(np.sum(weights * latent.drawn)), [codes], [of_draws])

    def test_a_logarithm_that_is_cut_off_has_no_gradient(self):
        codes = np.array([[0.5, 9.0]])
        latent = Latent(codes, np.ones((1, 1)))
        assert latent.logs == 8
        assert latent.divergence()[1][0, 1] == differences(lambda: latent.divergence()[0], codes)[0, 1] == 0
