import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist

from jcmspl.methods import AMP
from jcmspl.methods.amp import _scores, absorption
from support.linear import ZOO, fit
from support.posteriors import SHRINKAGE, TEMPERATURE, lda_posterior, normalised, of_logits, scores_of

RNG = np.random.default_rng(0)
S, U = RNG.standard_normal((12, 3)), RNG.standard_normal((4, 3))


def steps_by_hand(S, U, k, width):
    """The probabilities of steps from each training class to training and new classes, by the definition."""
    c, A = len(S), np.vstack([S, U])
    D = cdist(A, A)
    joined = np.zeros((len(A), len(A)), dtype=bool)
    for i in range(len(A)):
        possible = [j for j in range(len(A)) if j != i and (i < c or j < c)]
        for j in sorted(possible, key=lambda j: D[i, j])[:k]:
            joined[i, j] = joined[j, i] = True
    W = np.where(joined, np.exp(-((D / (width * np.median(pdist(S)))) ** 2)), 0)[:c]
    return W / W.sum(axis=1, keepdims=True)


def walked(steps, n_steps=20000):
    """Where walks have ended after so many steps: powers of the matrix of the whole chain."""
    c, n = steps.shape
    chain = np.vstack([steps, np.eye(n)[c:]])
    return np.linalg.matrix_power(chain, n_steps)[:c, c:]


@pytest.mark.parametrize("n_likely", [1, 3, 100])
def test_oracle_walks_step_by_step(n_likely):
    options = {"shrinkage": SHRINKAGE, "posterior_temperature": TEMPERATURE}
    model = fit(AMP(4, 0.7, n_likely=n_likely, **options))
    Z, vectors = normalised(model, ZOO)
    p = lda_posterior(ZOO, Z)
    kept = np.where(p >= -np.sort(-p, axis=1)[:, [min(n_likely, 6) - 1]], p, 0)
    ends = kept / kept.sum(axis=1, keepdims=True) @ walked(steps_by_hand(vectors[:6], vectors[6:], 4, 0.7))
    assert_allclose(scores_of(model, ZOO), np.log(np.hstack([p, ends])), atol=1e-5)


@pytest.mark.parametrize(("k", "width"), [(1, 1.0), (3, 0.5), (8, 2.0), (100, 1.0)])
def test_every_walk_ends(k, width):
    ends = absorption(S, U, k, width)
    assert_allclose(ends.sum(axis=1), 1)
    assert (ends >= 0).all()
    if k > 1:
        assert_allclose(ends, walked(steps_by_hand(S, U, k, width)), atol=1e-6)


def test_training_classes_that_are_far_from_each_other_lead_to_new_ones_at_once():
    far = 1e3 * np.eye(4)
    new = far + 0.5 * RNG.standard_normal((4, 4))
    assert_allclose(absorption(far, new, 1, 1.0), np.eye(4))


def test_narrow_weights_lead_to_the_nearest():
    S, U = np.array([[0.0], [10.0]]), np.array([[1.0], [2.0], [12.0]])
    assert_allclose(absorption(S, U, 100, 1e-3), [[1, 0, 0], [0, 0, 1]], atol=1e-6)


def test_a_group_without_new_classes_nearby_is_led_to_the_nearest():
    S = np.array([[0.0], [1.0], [100.0], [101.0], [102.0]])
    U = np.array([[0.5], [-50.0]])
    ends = absorption(S, U, 1, 1.0)
    assert_allclose(ends.sum(axis=1), 1)
    assert (ends[2:, 0] > 0.5).all()


def test_scores_are_probabilities_and_a_sure_posterior_gives_a_row():
    ends, logits = absorption(S, U, 3, 1.0), 3 * RNG.standard_normal((9, 12))
    new = np.full(4, -1)
    found = np.exp(_scores(of_logits(12), 5, ends, new, logits))
    assert_allclose(found.sum(axis=1), 1)
    assert_allclose(np.exp(_scores(of_logits(12), 1, ends, new, logits)), ends[logits.argmax(axis=1)], atol=1e-12)


def test_training_classes_are_named_by_the_posterior_and_do_not_change_the_scores_of_others():
    model = fit(AMP())
    names = [*ZOO.seen, *ZOO.unseen]
    both = scores_of(model, ZOO)
    for candidates in (ZOO.seen[2:4], ZOO.unseen, [ZOO.unseen[1], *ZOO.seen, ZOO.unseen[2], ZOO.unseen[0]]):
        some = model.decision_function(ZOO.X_new, candidates=candidates)
        assert_allclose(some, both[:, [names.index(name) for name in candidates]], atol=1e-9)
    fewer = model.decision_function(ZOO.X_new, candidates=ZOO.unseen[:2])
    assert_allclose(np.exp(fewer).sum(axis=1), 1)  # so that these are others


def test_classes_with_the_same_vector():
    twice = np.repeat(S[:3], 2, axis=0)
    assert np.isfinite(absorption(twice, twice[:2], 2, 1.0)).all()
    assert np.isfinite(absorption(np.zeros((3, 2)), np.zeros((2, 2)), 2, 1.0)).all()
    assert_array_equal(absorption(S, U[:1], 3, 1.0), np.ones((12, 1)))
