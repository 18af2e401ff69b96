"""f-CLSWGAN: the gradient of the generator through critic and classifier, and class means that are matched."""

import warnings

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from jcmspl import ClassTable
from jcmspl.methods import CLSWGAN
from jcmspl.methods.clswgan import generator_loss
from jcmspl.networks.critic import Critic
from jcmspl.networks.perceptron import Perceptron
from support.animals import make_zoo
from support.gradients import assert_gradients, in_double
from support.small_networks import small

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_oracle_generator(weight):
    rng = np.random.RandomState(0)
    network = in_double(Perceptron.drawn((3 + 2, 6, 5), ("leaky", "linear"), "he", rng))
    classifier = in_double(Perceptron.drawn((5, 4), ("linear",), "he", rng))
    critic = Critic(RNG.standard_normal((7, 5 + 3)), RNG.standard_normal(7), RNG.standard_normal(7))
    vectors, noise, numbers = RNG.standard_normal((8, 3)), RNG.standard_normal((8, 2)), np.arange(8) % 4
    inputs = np.hstack([vectors, noise])

    def definition():
        found = network(inputs)
        cross_entropy = -log_softmax(classifier(found), axis=1)[np.arange(8), numbers].mean()
        return float(-critic(found, vectors).mean() + weight * cross_entropy)

    loss, gradients = generator_loss(network, critic, classifier, inputs, vectors, numbers, weight)
    assert loss == pytest.approx(definition())
    assert_gradients(definition, network.parameters, gradients)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_generated_samples_come_nearer_to_real_ones():
    rng = np.random.default_rng(0)
    centres = np.array([[2, 2], [2, -2], [-2, 2], [-2, -2.0]])
    y = np.repeat(np.arange(4), 60)
    X = centres[y] + 0.3 * rng.standard_normal((len(y), 2))
    options = {"feature_normalisation": "center", "class_normalisation": "none", "progress": False, "penalty": 1.0}
    misses = []
    for n_epochs in (5, 150):
        model = CLSWGAN(hidden=32, max_iter=n_epochs, learning_rate=1e-3, classifier_weight=1.0, **options)
        model.fit(X, y, class_vectors=ClassTable(range(4), np.eye(4)))
        inputs = np.eye(4) * float(model.arrays_["class_unit"])
        means = np.stack([model._outputs(hidden).mean(axis=0) for hidden in model._hidden(inputs)])
        misses.append(np.abs(means - centres).max())
    assert misses[1] < 0.5 * misses[0]


def test_a_critic_that_is_off_is_reported():
    zoo = make_zoo()
    model = small(CLSWGAN, max_iter=1, learning_rate=1e-6, progress=False)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model.fit(zoo.X, zoo.y, class_vectors=zoo.table)
    assert model.gradient_norm_ < 0.5
    model.arrays_["gradient_norm"] = np.array(1.2, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model._warn_of_result()
