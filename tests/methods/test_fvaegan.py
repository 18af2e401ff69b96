"""f-VAEGAN: the critic's part in the loss of the autoencoder; the rest is tested with CVA and CLSWGAN."""

import numpy as np

from jcmspl.methods import FVAEGAN
from jcmspl.methods.cva import autoencoder_loss
from jcmspl.networks.critic import Critic
from jcmspl.networks.perceptron import Perceptron
from support.animals import make_zoo
from support.gradients import assert_gradients, in_double
from support.small_networks import small

RNG = np.random.default_rng(0)


def test_oracle_gradients_through_the_critic():
    rng = np.random.RandomState(0)
    encoder = in_double(Perceptron.drawn((5 + 3, 6, 6, 4), ("leaky", "leaky", "linear"), "he", rng))
    decoder = in_double(Perceptron.drawn((3 + 2, 6, 5), ("leaky", "linear"), "he", rng))
    critic = Critic(RNG.standard_normal((7, 5 + 3)), RNG.standard_normal(7), RNG.standard_normal(7))
    real, vectors, noise = (RNG.standard_normal((7, size)) for size in (5, 3, 2))

    def definition():
        codes = encoder(np.hstack([real, vectors]))
        mean, log = codes[:, :2], codes[:, 2:]
        found = decoder(np.hstack([vectors, mean + np.exp(log / 2) * noise]))
        divergences = (np.exp(log) + mean**2 - 1 - log).sum(axis=1) / 2
        squares = ((found - real) ** 2).sum(axis=1) / 2
        return float(np.mean(squares + divergences - 10 * critic(found, vectors)))

    def weighed(found):
        value, gradient = critic.by_samples(found, vectors)
        return 10 * value, 10 * gradient

    _, gradients = autoencoder_loss(encoder, decoder, real, vectors, noise, 1.0, None, weighed)
    assert_gradients(definition, [*encoder.parameters, *decoder.parameters], gradients)


def test_the_weight_of_the_critic_matters():
    zoo = make_zoo()
    models = [
        small(FVAEGAN, critic_weight=weight, progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
        for weight in (1e-3, 10.0)
    ]
    assert np.abs(models[0].arrays_["output_weights"] - models[1].arrays_["output_weights"]).max() > 1e-3
    assert all("encoder" not in name for name in models[0].arrays_)
