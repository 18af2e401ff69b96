"""CVA: the gradients of its whole loss, and what an unused latent vector leaves of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl.methods import CVA
from jcmspl.methods.cva import autoencoder_loss
from jcmspl.networks.perceptron import Perceptron
from support.animals import make_zoo
from support.gradients import assert_gradients, in_double
from support.small_networks import small

RNG = np.random.default_rng(0)


def problem():
    rng = np.random.RandomState(0)
    encoder = in_double(Perceptron.drawn((5 + 3, 6, 6, 4), ("relu", "relu", "linear"), "he", rng, (0.5, 0, 0)))
    decoder = in_double(Perceptron.drawn((3 + 2, 6, 5), ("relu", "linear"), "he", rng))
    return encoder, decoder, RNG.standard_normal((7, 5)), RNG.standard_normal((7, 3)), RNG.standard_normal((7, 2))


def test_oracle_loss_and_gradients():
    encoder, decoder, real, vectors, noise = problem()
    loss, gradients = autoencoder_loss(encoder, decoder, real, vectors, noise, 3.0, np.random.RandomState(1))

    def definition():
        codes = encoder.forward(np.hstack([real, vectors]), np.random.RandomState(1))[0]
        mean, log = codes[:, :2], codes[:, 2:]
        found = decoder(np.hstack([vectors, mean + np.exp(log / 2) * noise]))
        divergences = (np.exp(log) + mean**2 - 1 - log).sum(axis=1) / 2
        return float(np.mean(1.5 * ((found - real) ** 2).sum(axis=1) + divergences))

    assert loss == pytest.approx(definition())
    assert_gradients(definition, [*encoder.parameters, *decoder.parameters], gradients)


def test_a_further_loss():
    encoder, decoder, real, vectors, noise = problem()
    given = encoder, decoder, real, vectors, noise, 1.0, None
    weights = RNG.standard_normal((7, 5))

    def more(found):
        return float(np.vdot(weights, found)), weights

    _, gradients = autoencoder_loss(*given, more)
    assert_gradients(lambda: autoencoder_loss(*given, more)[0], [*encoder.parameters, *decoder.parameters], gradients)


def test_a_large_weight_makes_samples_scatter():
    zoo = make_zoo(noise=1.0)
    spreads = []
    for weight in (0.01, 100.0):
        model = small(CVA, reconstruction_weight=weight, max_iter=60, noise_size=4, progress=False)
        model.fit(zoo.X, zoo.y, class_vectors=zoo.table)
        spreads.append(np.linalg.norm(model.arrays_["noise_weights"], axis=0).max())
        vectors = model.class_normalisation_.of_rows(zoo.table.vectors) * float(model.arrays_["class_unit"])
        samples = [model._outputs(hidden) for hidden in model._hidden(vectors)]
        spreads[-1] = np.mean([Z.std(axis=0) for Z in samples])
    assert spreads[1] > 3 * spreads[0]


def test_what_training_alone_needs_is_not_stored():
    zoo = make_zoo()
    model = small(CVA, progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    assert not [name for name in model.arrays_ if "encoder" in name]
    assert_allclose(model.arrays_["precision"], model.arrays_["precision"].T, rtol=1e-4)
