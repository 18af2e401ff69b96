"""Whether samples and class vectors can be compared as they are."""

import numpy as np
import pytest

from jcmspl.data.alignment import Alignment

RNG = np.random.default_rng(0)
VECTORS = RNG.standard_normal((40, 30))
NOISY = VECTORS + 0.5 * RNG.standard_normal(VECTORS.shape)


def test_share_is_that_of_a_plain_loop():
    means = VECTORS + 3 * RNG.standard_normal(VECTORS.shape)
    hits = 0
    for number, mean in enumerate(means):
        cosines = [mean @ v / np.linalg.norm(mean) / np.linalg.norm(v) for v in VECTORS]
        hits += max(range(40), key=cosines.__getitem__) == number
    found = Alignment.of(means, VECTORS)
    assert 0 < hits < 40
    assert found.share == hits / 40
    assert found.n_classes == 40


def test_encoders_that_agree_and_those_that_do_not():
    assert Alignment.of(NOISY, VECTORS).is_aligned
    assert "aligned: 100 %" in str(Alignment.of(NOISY, VECTORS))
    turned, _ = np.linalg.qr(RNG.standard_normal((30, 30)))
    assert not Alignment.of(NOISY @ turned, VECTORS).is_aligned
    assert "not aligned" in str(Alignment.of(NOISY @ turned, VECTORS))
    assert Alignment.of(NOISY[:, :20], VECTORS) is None


@pytest.mark.parametrize("n_classes", [3, 5, 8, 20, 100, 400])
def test_chance_is_rarely_taken_for_agreement(n_classes):
    rng = np.random.default_rng(1)
    found = [
        Alignment.of(rng.standard_normal((n_classes, 16)), rng.standard_normal((n_classes, 16))).is_aligned
        for _ in range(200)
    ]
    assert np.mean(found) < 0.1  # at most one in sixteen is wanted


@pytest.mark.parametrize(("n_classes", "hits", "expected"), [(5, 2, False), (5, 3, True), (2, 1, False), (2, 2, True)])
def test_a_handful_of_classes(n_classes, hits, expected):
    vectors = np.eye(8)[:n_classes]
    means = np.where(np.arange(n_classes)[:, None] < hits, vectors, np.eye(8)[7])
    assert Alignment.of(means, vectors).is_aligned == expected


def test_classes_of_one_vector_are_no_evidence():
    found = Alignment.of(np.ones((6, 4)), np.ones((6, 4)))
    assert found.share == 0
    assert not found.is_aligned
    assert Alignment.of(np.zeros((3, 4)), np.eye(4)[:3]).share == 0


@pytest.mark.parametrize("scale", [1e-310, 1e-160, 1e160, 1e300])
def test_values_of_any_size(scale):
    assert Alignment.of(NOISY, VECTORS * scale).share == Alignment.of(NOISY, VECTORS).share


def test_samples_that_are_class_vectors():
    assert Alignment.of(VECTORS, VECTORS).is_identity
    assert not Alignment.of(NOISY, VECTORS).is_identity


def test_many_classes_are_judged_by_a_thousand_of_them():
    vectors = RNG.standard_normal((3000, 12))
    found = Alignment.of(vectors + 0.01 * RNG.standard_normal(vectors.shape), vectors)
    assert found.n_classes == 1000
    assert found.is_aligned
