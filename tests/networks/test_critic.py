"""The critic: gradients, the penalty against its definition, and Euler's identity."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl.networks.critic import Critic
from support.gradients import assert_gradients, differences

RNG = np.random.default_rng(0)
N, M, D, H = 6, 5, 3, 7


def drawn():
    return Critic(RNG.standard_normal((H, M + D)), RNG.standard_normal(H), RNG.standard_normal(H))


def batch():
    real, generated = RNG.standard_normal((2, N, M))
    return real, generated, RNG.standard_normal((N, D)), RNG.random((N, 1))


def definition(critic, real, generated, vectors, mix, penalty):
    """Return the loss with gradients by samples from central differences."""
    mixed = mix * real + (1 - mix) * generated
    lengths = np.linalg.norm(differences(lambda: float(critic(mixed, vectors).sum()), mixed), axis=1)
    value = critic(generated, vectors).mean() - critic(real, vectors).mean() + penalty * np.mean((lengths - 1) ** 2)
    return value, lengths.mean()


@pytest.mark.parametrize("penalty", [0.0, 10.0])
def test_oracle_value_and_gradients(penalty):
    critic, given = drawn(), batch()
    found = critic.loss(*given, penalty)
    value, norm = definition(critic, *given, penalty)
    assert found.value == pytest.approx(value, rel=1e-6)
    assert found.norm == pytest.approx(norm, rel=1e-6)
    assert_gradients(lambda: critic.loss(*given, penalty).value, critic.parameters, found.gradients)


def test_the_penalty_is_homogeneous():
    """g is of degree 1 in H and in v: <H, dH> = <v, dv> = 2 mean (|g| - 1) |g|."""
    critic, (real, generated, vectors, mix) = drawn(), batch()
    with_penalty, without = (critic.loss(real, generated, vectors, mix, weight) for weight in (1.0, 0.0))
    of_weights, of_bias, of_output = (a - b for a, b in zip(with_penalty.gradients, without.gradients, strict=True))
    expected = np.vdot(critic.weights[:, :M], of_weights[:, :M])
    assert_allclose(np.vdot(critic.output, of_output), expected, rtol=1e-9)
    assert_allclose([*of_weights[:, M:].ravel(), *of_bias], 0, atol=1e-12)


def test_a_linear_critic_of_unit_norm_has_no_penalty():
    direction = np.zeros(M + D)
    direction[0] = 1
    critic = Critic(np.vstack([direction, -direction]), np.zeros(2), np.array([1, -1]) / 1.2)
    found = critic.loss(*batch(), 10.0)
    plain = critic.loss(*batch(), 0.0)
    assert found.norm == pytest.approx(1)
    assert plain.norm == pytest.approx(1)
    assert_allclose(critic(np.eye(M), np.zeros((M, D))), np.eye(M)[0], atol=1e-12)


def test_gradient_by_samples():
    critic, (samples, _, vectors, _) = drawn(), batch()
    value, gradient = critic.by_samples(samples, vectors)
    assert value == pytest.approx(-critic(samples, vectors).mean())
    assert_gradients(lambda: critic.by_samples(samples, vectors)[0], [samples], [gradient])
