import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl.core.margin_ranking import VIOLATORS, BilinearRanking
from support.ranking import textbook

RNG = np.random.default_rng(0)
N, M, D, C = 150, 7, 4, 6  # more than two blocks of samples
X, S, LABELS = RNG.standard_normal((N, M)), RNG.standard_normal((C, D)), RNG.integers(0, C, N)
START = 0.1 * RNG.standard_normal((3, D, M))


def ranking(maps=START[:1], S=S, **options):
    return BilinearRanking(maps, S, **{"violators": "worst", "margin": 1.0, "learning_rate": 0.01, **options})


@pytest.mark.parametrize("n_maps", [1, 3])
@pytest.mark.parametrize("violators", VIOLATORS)
def test_textbook(violators, n_maps):
    maps = START[:n_maps]
    steps, loss = textbook(maps, S, X, LABELS, violators, margin=2.0, rate=0.05, seed=7)
    found = ranking(maps, violators=violators, margin=2.0, learning_rate=0.05, seed=7, average=True)
    total, n_updates = found.learn(X, LABELS)
    assert_allclose(found.maps, steps[-1], atol=1e-12)
    assert_allclose(found.mean_maps, np.mean(steps, axis=0), atol=1e-12)
    assert total == pytest.approx(loss)
    changed = [not np.array_equal(a, b) for a, b in zip([maps, *steps[:-1]], steps, strict=True)]
    assert n_updates == sum(changed)


@pytest.mark.parametrize("violators", VIOLATORS)
def test_in_parts(violators):
    whole, parts = ranking(violators=violators, average=True), ranking(violators=violators, average=True)
    total, n_updates = whole.learn(X, LABELS)
    found = [parts.learn(X[rows], LABELS[rows]) for rows in np.array_split(np.arange(N), [1, 30, 101])]
    assert_allclose(parts.maps, whole.maps, atol=1e-13)
    assert_allclose(parts.mean_maps, whole.mean_maps, atol=1e-13)
    assert (sum(loss for loss, _ in found), sum(n for _, n in found)) == (pytest.approx(total), n_updates)


def test_weights_multiply_steps():
    weights = RNG.uniform(0.5, 2, N)
    found = ranking(violators="all", average=True)
    total, _ = found.learn(X, LABELS, weights)
    maps, loss, means = START[:1], 0.0, []
    for x, label, weight in zip(X, LABELS, weights, strict=True):
        (maps,), one = textbook(maps, S, [x], [label], "all", margin=1.0, rate=0.01 * weight, seed=0)
        loss += weight * one
        means.append(maps)
    assert_allclose(found.maps, maps, atol=1e-12)
    assert_allclose(found.mean_maps, np.mean(means, axis=0), atol=1e-12)
    assert total == pytest.approx(loss)


def test_one_update_by_hand():
    found = ranking(np.zeros((1, 2, 2)), np.eye(2), margin=0.5, learning_rate=0.25)
    assert found.learn([[3.0, -1.0]], [1]) == (0.5, 1)
    assert_array_equal(found.maps[0], [[-0.75, 0.25], [0.75, -0.25]])  # 0.25 (s_1 - s_0) x'


@pytest.mark.parametrize("violators", ["worst", "all"])
def test_a_step_goes_against_the_gradient(violators):
    """By finite differences of the loss of one sample, away from kinks."""
    x, label, h = X[:1], LABELS[:1], 1e-6

    def loss(W):
        return ranking(W, violators=violators).learn(x, label)[0]

    W = START[:1]
    gradient = np.zeros_like(W)
    for place in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[place] = h
        gradient[place] = (loss(W + step) - loss(W - step)) / (2 * h)
    found = ranking(W, violators=violators, learning_rate=1.0)
    found.learn(x, label)
    assert_allclose(found.maps - W, -gradient, atol=1e-7)


def test_any_violator_is_as_likely_as_the_others():
    """Where no class vector is zero, the mean step over many seeds is the mean over all violators."""
    x, label = X[:1], LABELS[:1]
    steps = []
    for seed in range(3000):
        found = ranking(violators="any", margin=100.0, learning_rate=1.0, seed=seed)
        found.learn(x, label)
        steps.append(found.maps[0] - START[0])
    others = np.delete(S, label[0], axis=0)
    assert_allclose(np.mean(steps, axis=0), np.outer(S[label[0]] - others.mean(axis=0), x[0]), atol=0.15)


def test_losses_of_the_three():
    """At the same maps the largest violation is at most the sum with weights, and that at most the plain sum."""
    loss = {violators: ranking(violators=violators, learning_rate=0.0).learn(X, LABELS)[0] for violators in VIOLATORS}
    assert loss["worst"] < loss["all"] < loss["any"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"maps": np.zeros((1, D + 1, M))}, "maps must have the shape"),
        ({"violators": "best"}, "violators must be one of"),
        ({"margin": np.inf}, "margin must be a finite number"),
        ({"learning_rate": -1.0}, "learning_rate must be"),
    ],
)
def test_bad_arguments(given, message):
    with pytest.raises(ValueError, match=message):
        ranking(**given)


def test_bad_samples():
    with pytest.raises(ValueError, match="X has 2 features, but the maps have 7"):
        ranking().learn(X[:, :2], LABELS)
    with pytest.raises(ValueError, match=r"labels must be 0\.\.5"):
        ranking().learn(X, LABELS + 1)
    with pytest.raises(ValueError, match="NaN"):
        ranking().learn(np.full_like(X, np.nan), LABELS)
