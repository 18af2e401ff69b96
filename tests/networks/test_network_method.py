"""The data of networks, and the rounds of a fit: divergence, Ctrl-C, seeds, weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import load
from jcmspl.methods import DEM
from jcmspl.networks.network_method import NetworkMethod, Streams
from jcmspl.support.exceptions import DivergenceError
from support.animals import make_zoo
from support.small_networks import small

ZOO = make_zoo()


class Spy(NetworkMethod):
    """Keeps the data that it is given."""

    def __init__(self, **parameters):
        super().__init__(**parameters)

    ARRAYS = NetworkMethod.COMMON

    def _trainer(self, data, streams):
        Spy.data, Spy.streams = data, streams
        return self

    def epoch(self):
        Spy.data.samples  # noqa: B018
        return 1.0

    def arrays(self):
        return {}


def data_of(X=ZOO.X, y=ZOO.y, **fit):
    Spy(progress=False, max_iter=1, feature_normalisation="center", class_normalisation="center").fit(
        X, y, class_vectors=ZOO.table, **fit
    )
    return Spy.data


def test_data_are_single_and_of_mean_square_one():
    data = data_of()
    assert data.samples.dtype == data.class_vectors.dtype == data.means.dtype == np.float32
    assert_allclose(np.mean(data.samples.astype(float) ** 2), 1, rtol=1e-6)
    assert_allclose(np.mean(data.class_vectors.astype(float) ** 2), 1, rtol=1e-6)
    for i, rows in enumerate(data.rows_of_classes()):
        assert (data.numbers[rows] == i).all()
        assert_allclose(data.samples[rows].mean(axis=0), data.means[i], atol=1e-5)
    assert data.counts.tolist() == [15] * 6


def test_order_of_samples_and_names_do_not_matter():
    data, order = data_of(), np.random.default_rng(1).permutation(len(ZOO.X))
    other = data_of(ZOO.X[order], ZOO.y[order])
    assert_allclose(other.samples, data.samples, atol=1e-6)
    assert_array_equal(other.numbers, data.numbers)


def test_samples_are_drawn_as_often_as_they_weigh():
    weights = np.where(ZOO.y == ZOO.seen[0], 3.0, 1.0)
    data = data_of(sample_weight=weights)
    rows = data.batch(100_000, np.random.RandomState(0))
    first = int(np.argmax(data.counts))
    assert np.mean(data.numbers[rows] == first) == pytest.approx(3 / 8, abs=0.01)
    assert sum(len(rows) for rows in data.batches(32, np.random.RandomState(0))) == 96


def test_streams_do_not_depend_on_each_other():
    one, other = Streams.of(0), Streams.of(0)
    one.weights.random_sample(1000)
    assert one.noise.random_sample() == other.noise.random_sample()
    assert one.generation == other.generation != Streams.of(1).generation


def test_divergence_names_the_learning_rate():
    with pytest.raises(DivergenceError, match="learning_rate=1e\\+30"):
        small(DEM, learning_rate=1e30, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def test_an_interrupted_fit_leaves_the_model(monkeypatch):
    model = small(DEM, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    before = model.decision_function(ZOO.X_new, candidates="unseen")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("jcmspl.methods.dem.DEMTrainer.epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert_array_equal(model.decision_function(ZOO.X_new, candidates="unseen"), before)


def test_a_seed_is_a_model_and_files_hold_single_precision(tmp_path):
    def fitted(**parameters):
        return small(DEM, progress=False, **parameters).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)

    one, again, other = fitted(), fitted(), fitted(random_state=1)
    scores = [model.decision_function(ZOO.X_new, candidates="unseen") for model in (one, again, other)]
    assert_array_equal(scores[0], scores[1])
    assert np.abs(scores[0] - scores[2]).max() > 1e-3
    assert {array.dtype for array in one.arrays_.values()} == {np.dtype(np.float32)}
    one.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.decision_function(ZOO.X_new, candidates="unseen"), scores[0])
    assert len(loaded.losses_) == loaded.n_iter_ == 100
