"""DEM: its loss on class means is that of samples, and without a hidden layer it is ridge regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl.core.adam import Adam
from jcmspl.methods import DEM
from jcmspl.methods.dem import mean_loss
from jcmspl.networks.perceptron import Perceptron
from support.animals import make_zoo
from support.gradients import assert_gradients, in_double
from support.small_networks import small

ZOO = make_zoo()
RNG = np.random.default_rng(0)


def problem():
    """Return class vectors, samples, the class of each, mean samples and the share of samples of each class."""
    vectors, y = RNG.standard_normal((5, 4)), np.repeat(np.arange(5), [3, 1, 4, 2, 6])
    X = RNG.standard_normal((len(y), 3))
    means = np.stack([X[y == label].mean(axis=0) for label in range(5)])
    return vectors, X, y, means, np.bincount(y) / len(y)


def test_oracle_gradients_are_those_of_the_loss_of_samples():
    vectors, X, y, means, shares = problem()
    network = in_double(Perceptron.drawn((4, 7, 3), ("relu", "linear"), "he", np.random.RandomState(0)))

    def loss():
        return float(np.mean((X - network(vectors[y])) ** 2))

    value, gradients = mean_loss(network, vectors, means, shares)
    assert_gradients(loss, network.parameters, gradients)
    assert value == pytest.approx(loss() - np.mean((X - means[y]) ** 2))


def test_one_layer_ends_at_ridge_regression():
    vectors, X, y, means, shares = problem()
    network = in_double(Perceptron.drawn((4, 3), ("linear",), "he", np.random.RandomState(0)))
    adam = Adam(network.parameters, 0.01, decay=0.1)
    for step in range(6000):
        adam.learning_rate = 0.01 * 0.999**step
        adam.step(mean_loss(network, vectors, means, shares)[1])
    inputs = np.hstack([vectors[y], np.ones((len(y), 1))])
    ridge = np.linalg.solve(inputs.T @ inputs / len(y) + 0.1 * 3 / 2 * np.eye(5), inputs.T @ X / len(y))
    assert_allclose(np.hstack([network.weights[0], network.biases[0][:, None]]), ridge.T, atol=1e-3)


def test_the_number_of_samples_of_a_class_is_its_weight():
    rng, model = np.random.default_rng(1), small(DEM, progress=False, class_normalisation="none")
    few = rng.permutation(np.flatnonzero(ZOO.y == ZOO.seen[0]))[:3]
    rows = np.concatenate([np.flatnonzero(ZOO.y != ZOO.seen[0]), few])
    weights = np.ones(len(rows))
    model.fit(ZOO.X[rows], ZOO.y[rows], class_vectors=ZOO.table, sample_weight=weights)
    twice = small(DEM, progress=False, class_normalisation="none")
    twice.fit(np.tile(ZOO.X[rows], (2, 1)), np.tile(ZOO.y[rows], 2), class_vectors=ZOO.table)
    expected = model.decision_function(ZOO.X_new, candidates="unseen")
    found = twice.decision_function(ZOO.X_new, candidates="unseen")
    assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_what_is_known_besides_the_prediction():
    model = small(DEM, hidden=256, max_iter=300, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    before = model.score(ZOO.X_new, ZOO.y_new)
    model.add_classes(X=ZOO.X_new[::5], y=ZOO.y_new[::5])
    assert model.score(ZOO.X_new, ZOO.y_new) >= before
    adapted = (
        small(DEM, hidden=256, max_iter=300, progress=False)
        .fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        .adapt(ZOO.X_new, candidates="unseen")
    )
    assert adapted.adapted_.n_samples == len(ZOO.X_new)
    assert adapted.score(ZOO.X_new, ZOO.y_new) >= before
    with pytest.raises(ValueError, match="metric='cosine'"):
        adapted.set_params(metric="euclidean").adapt(ZOO.X_new)


def test_equal_vectors_tie():
    model = small(DEM, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    vector = ZOO.table[ZOO.unseen[0]]
    given = {f"twin {i}": vector for i in range(9)} | {"other": ZOO.table[ZOO.unseen[1]]}
    scores = model.decision_function(ZOO.X_new, class_vectors=given)
    assert_allclose(scores[:, :9], np.repeat(scores[:, :1], 9, axis=1), rtol=1e-9, atol=1e-12)
    weights = model.recogniser(class_vectors=given, candidates=list(given)).weights
    assert (weights[:9] == weights[0]).all()
