"""CADA-VAE: the gradients of its whole loss, and samples and classes that come to lie together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl.methods import CADAVAE
from jcmspl.methods.cada_vae import aligned_loss, alignment
from jcmspl.networks.perceptron import Latent, Perceptron
from support.animals import make_zoo
from support.gradients import assert_gradients, in_double
from support.small_networks import small

RNG = np.random.default_rng(0)


def networks():
    rng = np.random.RandomState(0)
    encoders = [in_double(Perceptron.drawn((n, 6, 8), ("relu", "linear"), "he", rng)) for n in (5, 3)]
    return encoders, [in_double(Perceptron.drawn((4, 6, n), ("relu", "linear"), "he", rng)) for n in (5, 3)]


def test_oracle_loss_and_gradients():
    encoders, decoders = networks()
    pairs, noise = [RNG.standard_normal((7, 5)), RNG.standard_normal((7, 3))], RNG.standard_normal((2, 7, 4))

    def definition():
        codes = [encoder(one) for encoder, one in zip(encoders, pairs, strict=True)]
        means, logs = [code[:, :4] for code in codes], [code[:, 4:] for code in codes]
        drawn = [mean + np.exp(log / 2) * e for mean, log, e in zip(means, logs, noise, strict=True)]
        loss = np.zeros(7)
        for i in range(2):
            loss += 0.25 * (np.exp(logs[i]) + means[i] ** 2 - 1 - logs[i]).sum(axis=1) / 2
            for j in range(2):
                loss += (1 if i == j else 2.4) * np.abs(decoders[i](drawn[j]) - pairs[i]).sum(axis=1)
        deviations = [np.exp(log / 2) for log in logs]
        squares = (means[0] - means[1]) ** 2 + (deviations[0] - deviations[1]) ** 2
        return float(np.mean(loss + 8 * np.sqrt(squares.sum(axis=1))))

    loss, gradients = aligned_loss(encoders, decoders, pairs, noise, (2.4, 0.25, 8.0))
    assert loss == pytest.approx(definition())
    parameters = [array for one in (*encoders, *decoders) for array in one.parameters]
    assert_gradients(definition, parameters, gradients)


def test_a_distribution_is_aligned_with_itself():
    latent = Latent(RNG.standard_normal((5, 8)), np.zeros((5, 4)))
    distance, gradients = alignment(latent, latent)
    assert distance < 1e-9
    assert_allclose(np.hstack(gradients), 0, atol=1e-9)


def test_classes_lie_among_their_samples():
    zoo = make_zoo()
    model = small(CADAVAE, progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    places = model.transform(zoo.X)
    prototypes = model._prototypes(model.class_normalisation_.of_rows(zoo.table.select(zoo.seen).vectors))
    own = prototypes[np.searchsorted(zoo.seen, zoo.y)]
    assert_allclose(np.mean((places - own) ** 2, axis=0), 1, rtol=1e-3)
    assert all("decoder" not in name for name in model.arrays_)
