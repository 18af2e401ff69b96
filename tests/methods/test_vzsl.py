"""VZSL: divergences against their definition, the gradients of the whole loss, and prediction by divergence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from jcmspl.methods import VZSL
from jcmspl.methods.vzsl import Priors, variational_loss
from jcmspl.networks.perceptron import Latent, Perceptron
from support.animals import make_zoo
from support.gradients import assert_gradients, in_double
from support.small_networks import small

RNG = np.random.default_rng(0)


def divergences(codes, vectors, of_means, of_logs):
    """Return KL of each normal distribution of the codes from each prior, one by one."""
    k = codes.shape[1] // 2
    found = np.empty((len(codes), len(vectors)))
    for i, code in enumerate(codes):
        for j, vector in enumerate(vectors):
            mean, log = of_means @ vector, 2 * of_logs @ vector
            squares = (np.exp(code[k:]) + (code[:k] - mean) ** 2) / np.exp(log)
            found[i, j] = np.sum(log - code[k:] + squares - 1) / 2
    return found


def test_oracle_divergences():
    codes, vectors = RNG.standard_normal((6, 8)), RNG.standard_normal((5, 3))
    maps = RNG.standard_normal((4, 3)), 0.3 * RNG.standard_normal((4, 3))
    found = Priors.of(vectors, *maps).divergences(Latent(codes, codes[:, :4]))
    assert_allclose(found, divergences(codes, vectors, *maps), rtol=1e-9)
    of_own = Priors.of(np.ones((1, 1)), codes[0, :4, None], codes[0, 4:, None] / 2)
    assert_allclose(of_own.divergences(Latent(codes[:1], codes[:1, :4])), 0, atol=1e-12)


@pytest.mark.parametrize("margin", [0.0, 0.6, 1.0])
def test_gradients(margin):
    rng = np.random.RandomState(0)
    encoder = in_double(Perceptron.drawn((5, 6, 8), ("relu", "linear"), "he", rng))
    decoder = in_double(Perceptron.drawn((4, 6, 5), ("relu", "linear"), "he", rng))
    maps = [0.3 * RNG.standard_normal((4, 3)), 0.3 * RNG.standard_normal((4, 3))]
    X, vectors, noise = (RNG.standard_normal(shape) for shape in ((7, 5), (6, 3), (7, 4)))
    y = np.arange(7) % 6

    def definition():
        codes = encoder(X)
        squares = ((decoder(codes[:, :4] + np.exp(codes[:, 4:] / 2) * noise) - X) ** 2).sum(axis=1)
        of_classes = divergences(codes, vectors, *maps)
        terms = of_classes[np.arange(7), y] + margin * logsumexp(-of_classes, axis=1)
        return float(np.mean(2 * squares / 2 + 0.5 * terms))

    given = (encoder, decoder, *maps), X, vectors, y, noise, (2.0, 0.5, margin)
    loss, gradients = variational_loss(*given)
    assert loss == pytest.approx(definition())
    assert_gradients(definition, [*encoder.parameters, *decoder.parameters, *maps], gradients)


def test_scores_are_minus_divergences():
    zoo = make_zoo()
    model = small(VZSL, progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    arrays = {name: array.astype(float) for name, array in model.arrays_.items()}
    Z = model.feature_normalisation_.of_rows(zoo.X_new) * arrays["feature_unit"]
    for number in (1, 2, 3):
        Z = Z @ arrays[f"encoder_{number}"].T + arrays[f"encoder_{number}_bias"]
        Z = Z if number == 3 else np.maximum(Z, 0)
    vectors = model.class_normalisation_.of_rows(zoo.table.select(zoo.unseen).vectors) * arrays["class_unit"]
    expected = -divergences(Z, vectors, arrays["prior_means"], arrays["prior_logs"])
    assert_allclose(model.decision_function(zoo.X_new, candidates=zoo.unseen), expected, rtol=1e-6)
    assert all("decoder" not in name for name in model.arrays_)
