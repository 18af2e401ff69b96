"""Models remember hashes of their training samples, however they were given."""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone

from jcmspl import JCMSPL, JCMSPLCV, ClassSearchCV, load
from jcmspl.core import Statistics
from jcmspl.data import sample_digest
from jcmspl.data.sample_digest import MOST, SampleDigest
from jcmspl.datasets.splits import HeldOut
from jcmspl.exceptions import ModelFileError
from jcmspl.methods import COSMO, RPL
from support.animals import make_zoo

ZOO = make_zoo()
WHOLE = SampleDigest.of(ZOO.X)


def model_of(X=ZOO.X, y=ZOO.y, **options):
    return JCMSPL().fit(X, y, class_vectors=ZOO.table, **options)


def assert_holds(model, digest=WHOLE):
    assert_array_equal(model.training_digest_.hashes, digest.hashes)
    assert model.training_digest_.is_complete == digest.is_complete


class TestFit:
    @pytest.mark.parametrize("method", [JCMSPL, RPL, COSMO])
    def test_every_method_remembers(self, method):
        assert_holds(method().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table))

    def test_other_types_and_chunks(self, tmp_path):
        X = ZOO.X.astype(np.float32)
        np.save(tmp_path / "X.npy", X)
        for same in (X, X.astype(np.float64), np.load(tmp_path / "X.npy", "r")):
            assert_holds(model_of(same), SampleDigest.of(X))
        chunks = ((ZOO.X[first : first + 7], ZOO.y[first : first + 7]) for first in range(0, len(ZOO.X), 7))
        assert_holds(JCMSPL().fit(chunks, class_vectors=ZOO.table))

    def test_what_weighs_nothing_was_not_trained_on(self):
        weights = np.arange(len(ZOO.X)) % 3 > 0
        assert_holds(model_of(sample_weight=weights.astype(float)), SampleDigest.of(ZOO.X[weights]))

    def test_a_second_fit_forgets_the_first(self):
        model = model_of()
        model.held_out_ = HeldOut.of(np.arange(len(ZOO.y)), ZOO.y, 0.2, 0)
        model.fit(ZOO.X[::2], ZOO.y[::2], class_vectors=ZOO.table)
        assert_holds(model, SampleDigest.of(ZOO.X[::2]))
        assert not hasattr(model, "held_out_")

    def test_a_fit_that_fails_changes_nothing(self):
        model = model_of()
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(np.full((1, ZOO.X.shape[1]), np.nan), ZOO.y[:1])
        assert_holds(model)

    def test_statistics_do_not_tell(self):
        labels, numbers = np.unique(ZOO.y, return_inverse=True)
        statistics = Statistics(ZOO.X.shape[1], len(labels), unit_rows=True).update(ZOO.X, numbers)
        model = JCMSPL(feature_normalisation="sample_l2+center")
        model.fit_from_statistics(statistics, labels, class_vectors=ZOO.table)
        assert model.training_digest_ is None
        assert model.partial_fit(ZOO.X, ZOO.y).training_digest_ is None

    def test_it_is_no_parameter(self):
        assert not hasattr(clone(model_of()), "training_digest_")
        for copied in (copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))):
            assert_holds(copied(model_of()))

    def test_of_dask(self):
        da = pytest.importorskip("dask.array")
        X, y = da.from_array(ZOO.X, chunks=(20, -1)), da.from_array(ZOO.y, chunks=20)
        assert_holds(model_of(X, y))
        assert_holds(JCMSPLCV(progress=False).fit(X, y, class_vectors=ZOO.table).best_estimator_)

    @pytest.mark.parametrize("search", [JCMSPLCV(), ClassSearchCV(RPL(), {"alpha": [0.1, 1.0]})], ids=["own", "any"])
    def test_searches_hand_it_to_their_best_model(self, search):
        weights = np.arange(len(ZOO.X)) % 5 > 0
        search.set_params(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert_holds(search.best_estimator_)
        search.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table, sample_weight=weights.astype(float))
        assert_holds(search.best_estimator_, SampleDigest.of(ZOO.X[weights]))


class TestLearningOn:
    @pytest.mark.parametrize("solve", [True, False])
    def test_partial_fit_adds_to_it(self, solve):
        model = JCMSPL()
        for rows in np.array_split(np.arange(len(ZOO.X)), 4):
            model.partial_fit(ZOO.X[rows], ZOO.y[rows], class_vectors=ZOO.table, refit=solve)
        assert_holds(model)

    def test_a_model_from_a_file_adds_to_it(self, tmp_path):
        half = len(ZOO.X) // 2
        model_of(ZOO.X[:half], ZOO.y[:half]).save(tmp_path / "model", statistics=True)
        assert_holds(load(tmp_path / "model").partial_fit(ZOO.X[half:], ZOO.y[half:]))

    @pytest.mark.parametrize("statistics", [True, False])
    def test_samples_of_classes_that_are_added_count(self, tmp_path, statistics):
        model_of().save(tmp_path / "model", statistics=statistics)
        model = load(tmp_path / "model").add_classes(X=ZOO.X_new[:5], y=ZOO.y_new[:5])
        assert_holds(model, SampleDigest.of(np.vstack([ZOO.X, ZOO.X_new[:5]])))

    def test_calibration_adds_nothing(self):
        assert_holds(model_of(ZOO.X[::2], ZOO.y[::2]).calibrate(ZOO.X, ZOO.y), SampleDigest.of(ZOO.X[::2]))


class TestFiles:
    @pytest.mark.parametrize("statistics", [True, False])
    def test_keep_it(self, tmp_path, statistics):
        model = model_of()
        model.held_out_ = HeldOut.of(np.arange(len(ZOO.y)), ZOO.y, 0.25, 3)
        model.save(tmp_path / "model", statistics=statistics)
        again = load(tmp_path / "model")
        assert_holds(again)
        assert again.held_out_ == model.held_out_

    def test_of_many_samples_say_so(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sample_digest, "MOST", 30)
        model_of().save(tmp_path / "model")
        assert_holds(load(tmp_path / "model"), SampleDigest.of(ZOO.X))
        assert not load(tmp_path / "model").training_digest_.is_complete

    def test_of_models_that_do_not_know(self, tmp_path):
        for path in (Path(__file__).parents[1] / "golden").glob("*.safetensors"):
            model = load(path)
            assert model.training_digest_ is None
            model.save(tmp_path / path.name)
            assert load(tmp_path / path.name).training_digest_ is None
        model = model_of()
        model.training_digest_ = None
        model.save(tmp_path / "model")
        assert load(tmp_path / "model").training_digest_ is None
        assert model.partial_fit(ZOO.X, ZOO.y).training_digest_ is None

    @pytest.mark.parametrize(
        ("hashes", "content", "message"),
        [
            (np.arange(3.0), {}, "ascending order"),
            (np.array([2, 1], dtype=np.uint64), {}, "ascending order"),
            (np.array([1, 1], dtype=np.uint64), {}, "ascending order"),
            (np.array([[1, 2]], dtype=np.uint64), {}, "ascending order"),
            (np.arange(MOST + 1, dtype=np.uint64), {}, "ascending order"),
            (np.empty(0, dtype=np.uint64), {"all_samples_hashed": False}, "whether"),
            (None, {"all_samples_hashed": "yes"}, "whether"),
            (None, {"held_out": {"share": 1.5, "random_state": 0, "drawn_from": ""}}, "held out"),
            (None, {"held_out": {"share": 0.5, "random_state": -1, "drawn_from": ""}}, "seed"),
            (None, {"held_out": {"share": 0.5, "random_state": 0, "drawn_from": 7}}, "held out"),
            (None, {"held_out": {"share": 0.5}}, "does not fit together"),
        ],
    )
    def test_that_are_damaged_are_refused(self, tmp_path, hashes, content, message):
        model_of().save(tmp_path / "model")
        with safe_open(tmp_path / "model", framework="numpy") as file:
            metadata, arrays = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if hashes is not None:
            arrays["sample_hashes"] = hashes
        metadata["content"] = json.dumps(json.loads(metadata["content"]) | content)
        save_file(arrays, tmp_path / "damaged", metadata)
        with pytest.raises(ModelFileError, match=message):
            load(tmp_path / "damaged")


def test_a_data_set_is_known_by_rows_and_labels():
    held_out = HeldOut.of(np.array([0, 1, 5]), [3, 4, 4], 0.2, 1)
    assert held_out.fits(np.array([0, 1, 5]), ["3", "4", "4"])
    assert not held_out.fits(np.array([0, 1, 5]), [4, 3, 4])
    assert not held_out.fits(np.array([0, 1, 4]), [3, 4, 4])
    assert not held_out.fits(np.array([0, 1]), [3, 4])
