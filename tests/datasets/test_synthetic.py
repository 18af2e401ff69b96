"""Made-up data."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from jcmspl import JCMSPL
from jcmspl.datasets import make_zsl
from jcmspl.datasets import synthetic as module


def accuracy(**options):
    data = make_zsl(3000, 100, 20, 30, 10, **options)
    model = JCMSPL().fit(*data.part("trainval"), class_vectors=data.classes)
    X, y = data.part("test_unseen")
    right = model.predict(X, candidates=data.unseen) == y
    return np.mean([right[y == label].mean() for label in data.unseen])


def test_sizes():
    data = make_zsl(500, 33, 7, 9, 4, n_val=3, test_seen=0.25, dtype=np.float64)
    assert data.X.shape == (500, 33)
    assert data.X.dtype == np.float64
    assert (data.classes.n_classes, data.classes.n_attributes) == (13, 7)
    assert (len(data.seen), len(data.unseen)) == (9, 4)
    assert len(np.unique(data.y[data.rows("val")])) == 3
    assert sum(len(rows) for rows in data.parts.values()) == 500
    assert make_zsl(random_state=1).X.dtype == np.float32
    assert make_zsl(20, n_seen=2, n_unseen=0).unseen == []


def test_the_seed_decides():
    a, b, c = make_zsl(random_state=1), make_zsl(random_state=1), make_zsl(random_state=2)
    assert_array_equal(a.X, b.X)
    assert a.y.tolist() == b.y.tolist()
    assert a.classes == b.classes
    assert not np.array_equal(a.X, c.X)


def test_samples_are_made_in_blocks(monkeypatch):
    whole = make_zsl(10_000, 8)  # three blocks
    sizes = []
    spread = module._Spread.of
    monkeypatch.setattr(module._Spread, "of", lambda self, z: sizes.append(len(z)) or spread(self, z))
    assert_array_equal(make_zsl(10_000, 8).X, whole.X)
    assert sizes[2:] == [4096, 4096, 10_000 - 2 * 4096]  # after the two maps
    blocks = whole.X[:4096], whole.X[4096:8192]
    assert not np.array_equal(*blocks)


def test_features_look_like_those_of_a_network():
    data = make_zsl(4000, 80, decay=1.0, dtype=np.float64)
    assert data.X.min() == 0
    assert 0.05 < np.mean(data.X == 0) < 0.5
    eigenvalues = np.linalg.eigvalsh(np.cov(data.X.T))[::-1]
    slope = np.polyfit(np.log(np.arange(1, 61)), np.log(eigenvalues[:60]), 1)[0]
    assert -1.5 < slope < -0.6
    assert np.abs(np.corrcoef(data.X.T) - np.eye(80)).max() > 0.2
    flat = np.linalg.eigvalsh(np.cov(make_zsl(4000, 80, decay=0.0).X.T))
    assert flat[-1] / flat[20] < eigenvalues[0] / eigenvalues[59]
    values = data.classes.vectors
    assert 0 <= values.min() < values.max() <= 1


def test_noise_and_domain_shift_make_it_harder():
    assert accuracy(noise=0.5) > 0.9
    assert accuracy(noise=4) < accuracy(noise=0.5) - 0.1
    assert accuracy(noise=1, domain_shift=5) < accuracy(noise=1) - 0.1


def test_imbalance():
    counts = np.unique(make_zsl(3000, n_seen=10, n_unseen=5).y, return_counts=True)[1]
    assert counts.max() - counts.min() <= 1
    counts = np.unique(make_zsl(3000, n_seen=10, n_unseen=5, imbalance=1.5).y, return_counts=True)[1]
    assert len(counts) == 15
    assert counts.max() > 20 * counts.min()
    assert counts.min() >= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 31}, "n_samples must be from 32"),
        ({"n_seen": 1}, "n_seen must be from 2"),
        ({"n_val": 12}, "n_val must be from 0 to 11"),
        ({"noise": -1}, "noise must be a finite number of at least 0"),
        ({"domain_shift": np.inf}, "domain_shift must be a finite number"),
        ({"dtype": int}, "dtype must be float32 or float64, but is int64"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        make_zsl(**options)
