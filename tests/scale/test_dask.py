"""Samples that dask has: the answers are those of the same samples in memory."""

import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import JCMSPL, JCMSPLCV, ClassSearchCV, evaluate
from jcmspl.cli import predict
from jcmspl.datasets import Dataset, open_rows
from jcmspl.datasets.row_source import rows_on_dask
from jcmspl.exceptions import TrainedOnWarning
from jcmspl.methods import RidgeVS
from jcmspl.methods.conse import ConSE
from jcmspl.model.labelling import Namer, SetLimit
from jcmspl.model.prediction import namer_for
from support.animals import make_zoo

pytest.importorskip("distributed", reason="dask is not installed: pip install 'jcmspl[dask]'")
import dask
import dask.array as da

pytestmark = [
    pytest.mark.usefixtures("client"),
    pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler"),  # dask before 2024, see below
]
#: What is the same wherever it runs is tested in this process: tasks on a cluster take long on a busy machine.
here = pytest.mark.usefixtures("in_threads")

ZOO = make_zoo(n_seen=8, n_unseen=4, per_class=30, noise=0.6)
WEIGHTS = np.random.default_rng(1).integers(0, 4, len(ZOO.X)).astype(float)
FIT = {"class_vectors": ZOO.table}
MADE = {"feature_normalisation": "center", "max_iter": 3, "tol": 0}


def cut(X, rows=50, features=20):
    return da.from_array(X, chunks=(rows, features)[: X.ndim])


def frames(X, y, npartitions=4):
    """X and y as DataFrames of dask, which does not know how long they are."""
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe cannot be loaded with this version of pandas")
    pd = pytest.importorskip("pandas")
    return (dd.from_pandas(data, npartitions=npartitions) for data in (pd.DataFrame(X), pd.Series(y, name="label")))


@pytest.fixture
def in_threads():
    with dask.config.set(scheduler="threads"):
        yield


def same_model(one, other):
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.statistics_.allclose(other.statistics_)
    for name, array in other.arrays_.items():
        assert_allclose(one.arrays_[name], array, rtol=1e-6, atol=1e-9)


@pytest.fixture(scope="module")
def model():
    return JCMSPL(**MADE).fit(ZOO.X, ZOO.y, **FIT)


class TestFit:
    def test_partitions_and_labels_may_be_cut_in_any_way(self, model):
        same_model(JCMSPL(**MADE).fit(cut(ZOO.X, 70, 6), ZOO.y, **FIT), model)
        same_model(JCMSPL(**MADE).fit(cut(ZOO.X), cut(ZOO.y, 33), **FIT), model)
        same_model(JCMSPL(**MADE).fit(cut(ZOO.X), ZOO.y.tolist(), **FIT), model)

    def test_frames_of_unknown_length(self, model):
        X, y = frames(ZOO.X, ZOO.y)
        same_model(JCMSPL(**MADE).fit(X, y, **FIT), model)

    @here
    def test_frames_and_arrays_together(self, model):
        X, y = frames(ZOO.X, ZOO.y)
        same_model(JCMSPL(**MADE).fit(X.to_dask_array(), y, **FIT), model)
        named = X.rename(columns={number: f"f{number}" for number in range(20)})
        fitted = JCMSPL(**MADE).fit(named, ZOO.y, **FIT)
        same_model(fitted, model)
        assert fitted.feature_names_in_[1] == "f1"

    @here
    def test_partitions_may_be_empty(self):
        X, y = frames(ZOO.X, ZOO.y)
        kept, rows = (data[0] > np.sort(ZOO.X[:, 0])[-40] for data in (X, ZOO.X.T))
        some = JCMSPL(**MADE).fit(ZOO.X[rows], ZOO.y[rows], **FIT)
        alone = X[0] == ZOO.X[:, 0].max()  # one sample in all: most partitions are empty
        same_model(JCMSPL(**MADE).fit(X[kept], y[kept], **FIT), some)
        assert len(some.predict(X[alone], candidates="unseen").compute()) == 1
        with pytest.raises(ValueError, match="there are no samples"):
            JCMSPL(**MADE).fit(X[X[0] > 1e9], y[X[0] > 1e9], **FIT)

    @here
    @pytest.mark.parametrize("class_weight", [None, "balanced"])
    def test_weights(self, class_weight):
        made = {**MADE, "class_weight": class_weight}
        there = JCMSPL(**made).fit(ZOO.X, ZOO.y, sample_weight=WEIGHTS, **FIT)
        same_model(JCMSPL(**made).fit(cut(ZOO.X), ZOO.y, sample_weight=cut(WEIGHTS, 70), **FIT), there)

    @here
    def test_labels_of_any_type(self):
        kinds = [1, "a", ("b", 2), 2.0, None.__class__, b"c", True.__class__, frozenset({1})]
        name = dict(zip(ZOO.seen, kinds, strict=True))
        labels = [name[label] for label in ZOO.y]
        vectors = {name[label]: ZOO.table[label] for label in ZOO.seen}
        there = RidgeVS().fit(ZOO.X, labels, class_vectors=vectors)
        same_model(RidgeVS().fit(cut(ZOO.X), labels, class_vectors=vectors), there)

    @here
    def test_further_samples(self):
        half = len(ZOO.X) // 2
        there = RidgeVS().partial_fit(ZOO.X[:half], ZOO.y[:half], **FIT).partial_fit(ZOO.X[half:], ZOO.y[half:])
        twin = RidgeVS().partial_fit(cut(ZOO.X[:half]), ZOO.y[:half], **FIT)
        same_model(twin.partial_fit(cut(ZOO.X[half:]), cut(ZOO.y[half:], 40)), there)
        there.add_classes(X=ZOO.X_new[:20], y=ZOO.y_new[:20])
        twin.add_classes(X=cut(ZOO.X_new[:20], 7), y=ZOO.y_new[:20])
        assert twin.statistics_.allclose(there.statistics_)

    @here
    def test_the_first_partition_decides_about_roots(self):
        made = {**MADE, "feature_normalisation": "auto_power+center"}
        X = np.abs(ZOO.X)
        assert JCMSPL(**made).fit(cut(X), ZOO.y, **FIT).statistics_.power
        X[-1, -1] = -1
        with pytest.warns(RuntimeWarning, match="the first samples had no negative"):
            assert JCMSPL(**made).fit(cut(X), ZOO.y, **FIT).statistics_.power
        X[0, 0] = -1
        assert not JCMSPL(**made).fit(cut(X), ZOO.y, **FIT).statistics_.power

    @here
    def test_files_are_read_by_the_workers(self, model, tmp_path, monkeypatch):
        for number, piece in enumerate(np.array_split(ZOO.X, 3)):
            np.save(tmp_path / f"features-{number}.npy", piece)
        monkeypatch.chdir(tmp_path)
        rows = open_rows("features-*.npy")
        X = rows.to_dask()
        assert X.chunks[0] == tuple(end - first for first, end in rows.bounds())
        assert len(pickle.dumps(dict(X.dask))) < ZOO.X.nbytes / 4
        same_model(JCMSPL(**MADE).fit(X, ZOO.y, **FIT), model)
        monkeypatch.chdir("/")
        assert_array_equal(X.compute(), ZOO.X)

    @here
    def test_changes_of_a_map_that_are_in_memory_alone_count(self, tmp_path):
        np.save(tmp_path / "x.npy", ZOO.X)
        X = np.load(tmp_path / "x.npy", mmap_mode="c")
        X[:, 0] = 7
        assert_array_equal(rows_on_dask(X).compute(), X)

    def test_a_file_that_is_gone_is_named(self, tmp_path):
        for number, piece in enumerate(np.array_split(ZOO.X, 3)):
            np.save(tmp_path / f"features-{number}.npy", piece)
        X = open_rows(tmp_path).to_dask()
        (tmp_path / "features-1.npy").unlink()
        with pytest.raises(FileNotFoundError, match=r"features-1\.npy"):
            JCMSPL(**MADE).fit(X, ZOO.y, **FIT)

    def test_without_a_cluster(self, model):
        same_model(JCMSPL(**MADE).fit(cut(ZOO.X), ZOO.y, **FIT), model)

    @here
    def test_a_method_of_samples_is_told(self):
        class OfSamples(RidgeVS):
            NEEDS = "samples"

        with pytest.raises(TypeError, match=r"pass X.compute\(\)"):
            OfSamples().fit(cut(ZOO.X), ZOO.y, **FIT)

    def test_files_without_rows(self, tmp_path):
        np.save(tmp_path / "x.npy", ZOO.X[:0])
        X = open_rows(tmp_path).to_dask()
        assert X.shape == (0, 20)
        assert X.compute().shape == (0, 20)


class TestBadData:
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_values(self, value):
        X = ZOO.X.copy()
        X[123, 4] = value
        with pytest.raises(ValueError, match=r"partition 2: .* 23 holds NaN or infinity: remove or replace"):
            JCMSPL(**MADE).fit(cut(X), ZOO.y, **FIT)
        with pytest.raises(ValueError, match="partition 2: "):
            JCMSPL(**MADE).fit(ZOO.X, ZOO.y, **FIT).predict(cut(X), candidates="seen").compute()

    @here
    def test_width(self):
        pieces = [dask.delayed(np.ones)((30, 20)), dask.delayed(np.ones)((30, 19))]
        X = da.concatenate([da.from_delayed(piece, (30, 20), dtype=float) for piece in pieces])
        with pytest.raises(ValueError, match="partition 1: X has 19 features, but 20 are expected"):
            JCMSPL(**MADE).fit(X, ZOO.y[:60], **FIT)

    def test_labels(self):
        y = ZOO.y.astype("U20")
        y[199] = "unicorn"
        with pytest.raises(ValueError, match=r"partition 3: .*'unicorn'"):
            JCMSPL(**MADE).fit(cut(ZOO.X), y, **FIT)

    @here
    def test_lengths(self):
        X, y = frames(ZOO.X, ZOO.y)
        with pytest.raises(ValueError, match=r"partition \d: there are 60 samples but 59 labels"):
            JCMSPL(**MADE).fit(X, y.map_partitions(lambda part: part.iloc[1:], meta=("label", object)), **FIT)
        with pytest.raises(ValueError, match="240 samples in X, 239 labels"):
            JCMSPL(**MADE).fit(cut(ZOO.X), ZOO.y[1:], **FIT)
        with pytest.raises(ValueError, match="X has 5 partitions, but the labels in y have 4"):
            JCMSPL(**MADE).fit(cut(ZOO.X), y, **FIT)

    @here
    def test_nothing(self):
        with pytest.raises(ValueError, match="there are no samples"):
            JCMSPL(**MADE).fit(cut(ZOO.X), ZOO.y, sample_weight=np.zeros(len(ZOO.X)), **FIT)

    @here
    def test_a_search_among_methods_that_read_samples(self):
        search = ClassSearchCV(ConSE(), {"posterior": ["lda", "logistic"]}, cv=2)
        with pytest.raises(TypeError, match=r"reads the samples themselves, .*: pass X\.compute\(\)"):
            search.fit(cut(ZOO.X), ZOO.y, **FIT)

    @here
    def test_what_is_no_array(self, model):
        with pytest.raises(TypeError, match=r"X is a Delayed .*from_delayed"):
            model.predict(dask.delayed(ZOO.X))

    @here
    def test_the_command_names_file_and_rows(self, model):
        X, asked = ZOO.X.copy(), SimpleNamespace(samples="x.npy", top=1, quiet=True)
        X[123, 4] = np.nan
        samples = predict.Samples(cut(X), np.arange(100, 150))
        with pytest.raises(ValueError, match=r"x\.npy, rows 100 to 149: partition 0: sample 23 holds NaN"):
            list(
                predict._named(Namer(model.recogniser()), predict.chunks_of(samples, samples.rows, asked), asked, None)
            )

    def test_an_error_stops_the_rest(self, client, tmp_path):
        go_on = tmp_path / "go on"

        def piece(number):
            before = len(list(tmp_path.iterdir()))
            (tmp_path / f"started {number}").touch()
            deadline = time.monotonic() + 60
            while before > 8 and not go_on.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            return np.full((10, 20), 1.0 if before else np.nan)

        pieces = [da.from_delayed(dask.delayed(piece)(i), (10, 20), dtype=float) for i in range(30)]
        with pytest.raises(ValueError, match="partition"):
            JCMSPL(**MADE).fit(da.concatenate(pieces), np.tile(ZOO.y[:10], 30), **FIT)
        go_on.touch()
        deadline = time.monotonic() + 60
        while any(client.processing().values()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(list(tmp_path.glob("started *"))) < 30


class TestPredictions:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
    def test_are_lazy_and_the_same(self, model, dtype):
        X = (10 * ZOO.X_new).astype(dtype)
        calls = [
            model.predict,
            model.predict_topk,
            model.decision_function,
            model.predict_proba,
            lambda X, candidates: model.predict_topk(X, 2, return_scores=True, candidates=candidates)[1],
            partial(model.predict, reject=0.0, reject_label=""),
        ]
        cases = [partial(call, candidates="unseen") for call in calls] + [model.transform]
        expected, lazy = [call(X) for call in cases], [call(cut(X, 50, 7)) for call in cases]
        for there, later, found in zip(expected, lazy, dask.compute(*lazy), strict=True):
            assert isinstance(later, da.Array)
            assert later.shape == found.shape == there.shape
            assert later.dtype == found.dtype == there.dtype
            if there.dtype.kind == "f":
                assert_allclose(found, there, rtol=1e-4, atol=1e-5)
            else:
                assert_array_equal(found, there)

    def test_of_frames(self, model):
        X, _ = frames(ZOO.X_new, ZOO.y_new)
        lazy = model.decision_function(X, candidates="unseen")
        assert isinstance(lazy, da.Array)
        assert_allclose(lazy.compute(), model.decision_function(ZOO.X_new, candidates="unseen"), atol=1e-9)

    @here
    def test_two_classes_have_one_column(self):
        seen = np.isin(ZOO.y, ZOO.seen[:2])
        two = RidgeVS().fit(ZOO.X[seen], ZOO.y[seen])
        assert_allclose(two.decision_function(cut(ZOO.X)).compute(), two.decision_function(ZOO.X), atol=1e-9)

    def test_a_metric_that_is_a_function(self, model):
        def distance(Z, P):
            return np.abs(Z[:, None] - P).sum(axis=2)

        twin = JCMSPL(**MADE, metric=distance).fit(ZOO.X, ZOO.y, **FIT)
        lazy = twin.predict(cut(ZOO.X_new), candidates="unseen")
        assert_array_equal(lazy.compute(), twin.predict(ZOO.X_new, candidates="unseen"))

    def test_features_are_counted_at_once(self, model):
        with pytest.raises(ValueError, match="20 features"):
            model.predict(cut(ZOO.X[:, :5]))

    @pytest.mark.parametrize("average", ["class", "sample"])
    def test_score(self, model, average):
        X, y = np.vstack([ZOO.X, ZOO.X_new]), np.concatenate([ZOO.y, ZOO.y_new])
        weights = np.arange(len(X)) % 3 + 1.0
        there = model.score(X, y, weights, average=average, seen_penalty=0)
        assert model.score(cut(X), cut(y, 77), weights, average=average, seen_penalty=0) == pytest.approx(there)

    @here
    @pytest.mark.parametrize("rows", [50, 10_000])
    def test_score_where_a_class_weighs_nothing(self, model, rows):
        weights = np.where(ZOO.y == ZOO.y[0], 0.0, 1.0)
        there = model.score(ZOO.X, ZOO.y, weights, seen_penalty=0)
        assert model.score(cut(ZOO.X, rows), ZOO.y, weights, seen_penalty=0) == pytest.approx(there)
        with pytest.raises(ValueError, match="nothing to score"):
            model.score(cut(ZOO.X, rows), ZOO.y, 0 * weights)
        with pytest.raises(ValueError, match="nothing to score"):
            model.score(cut(ZOO.X, rows)[:0], [])

    @here
    def test_score_of_unseen_classes(self, model):
        assert model.score(cut(ZOO.X_new), ZOO.y_new) == pytest.approx(model.score(ZOO.X_new, ZOO.y_new))


@here
def test_probabilities_and_prediction_sets():
    there = JCMSPL(**MADE).fit(ZOO.X, ZOO.y, **FIT)
    twin = pickle.loads(pickle.dumps(there))
    there.calibrate(ZOO.X, ZOO.y).calibrate_sets(ZOO.X, ZOO.y)
    twin.calibrate(cut(ZOO.X), ZOO.y).calibrate_sets(cut(ZOO.X), ZOO.y)
    for key, value in there.temperatures_.items():
        assert twin.temperatures_[key] == pytest.approx(value, rel=1e-5)
    for group, one in there.set_calibration_.items():
        assert_allclose(twin.set_calibration_[group].thresholds, one.thresholds, rtol=1e-6)
    lazy = there.predict_set(cut(ZOO.X_new), coverage=0.7, candidates="unseen")
    assert isinstance(lazy, da.Array)
    assert_array_equal(lazy.compute(), there.predict_set(ZOO.X_new, coverage=0.7, candidates="unseen"))
    shares = there.predict_proba(cut(ZOO.X_new), candidates="unseen").compute()
    assert_allclose(shares, there.predict_proba(ZOO.X_new, candidates="unseen"), rtol=1e-6)


@here
def test_open_sets():
    there = JCMSPL(**MADE).fit(ZOO.X, ZOO.y, **FIT)
    twin = pickle.loads(pickle.dumps(there))
    there.calibrate_rejection(ZOO.X, ZOO.y)
    twin.calibrate_rejection(cut(ZOO.X), ZOO.y)
    for key, threshold in there.rejection_.items():
        assert_allclose(tuple(vars(twin.rejection_[key]).values()), tuple(vars(threshold).values()), rtol=1e-6)
    lazy = there.predict(cut(ZOO.X_new), candidates="unseen", reject="auto")
    assert isinstance(lazy, da.Array)
    assert lazy.compute().tolist() == there.predict(ZOO.X_new, candidates="unseen", reject="auto").tolist()
    namer = namer_for(there, 2, proba=True, reject="auto", candidates="unseen")
    namer = replace(namer, limit=SetLimit(0.1, 1.0))
    for one, other in zip(namer.best(cut(ZOO.X_new)), namer(ZOO.X_new), strict=True):
        assert_allclose(one, other)
    empty = namer.best(cut(ZOO.X_new[:0]))
    assert [len(part) for part in empty] == [0] * 5


class TestReadingAgain:
    X, y = np.vstack([ZOO.X, ZOO.X_new]), np.concatenate([ZOO.y, ZOO.y_new])

    @here
    def test_curve(self, model):
        there = model.generalized_curve(self.X, self.y)
        found = model.generalized_curve(cut(self.X), cut(self.y, 33))
        assert_allclose(found.seen_gaps, there.seen_gaps, atol=1e-9)
        assert found.area() == pytest.approx(there.area())

    @pytest.mark.parametrize("class_weight", [None, "balanced"])
    def test_calibrate(self, class_weight):
        there, twin = (JCMSPL(**MADE, class_weight=class_weight).fit(ZOO.X, ZOO.y, **FIT) for _ in range(2))
        there.calibrate(ZOO.X, ZOO.y, n_splits=2)
        twin.calibrate(cut(ZOO.X), ZOO.y, n_splits=2)
        assert twin.calibration_.keys() == there.calibration_.keys()
        assert_allclose(list(twin.calibration_.values()), list(there.calibration_.values()), atol=1e-9)

    @here
    def test_a_class_that_weighs_nothing_is_not_taken_for_another(self):
        made = JCMSPL(**MADE, class_weight={ZOO.y[0]: 0.0}).fit(ZOO.X, ZOO.y, **FIT)
        for X in (ZOO.X, cut(ZOO.X)):
            with pytest.raises(ValueError, match="was not trained"):
                made.calibrate(X, ZOO.y, n_splits=2)

    def test_adapt(self):
        made = {**MADE, "adaptation_pull": 5.0}  # which takes few rounds
        there, twin = (JCMSPL(**made).fit(ZOO.X, ZOO.y, **FIT) for _ in range(2))
        there.adapt(ZOO.X_new, candidates="unseen")
        twin.adapt(cut(ZOO.X_new), candidates="unseen")
        assert twin.adapted_.n_samples == there.adapted_.n_samples
        assert_allclose(twin.adapted_.weights, there.adapted_.weights, rtol=1e-3, atol=1e-4)

    @here
    def test_adaptation_is_checked_and_shares_are_known(self):
        there, twin = (JCMSPL(**MADE).fit(ZOO.X, ZOO.y, **FIT) for _ in range(2))
        there.adapt(ZOO.X_new, candidates="unseen", class_shares="even")
        twin.adapt(cut(ZOO.X_new), candidates="unseen", class_shares="even")
        assert_allclose(twin.adapted_.agreement, there.adapted_.agreement, atol=0.02)
        assert_allclose(twin.adapted_.offsets, there.adapted_.offsets, atol=1e-3)

    @here
    def test_adapt_to_a_frame(self):
        there, twin = (JCMSPL(**MADE).fit(ZOO.X, ZOO.y, **FIT) for _ in range(2))
        there.adapt(ZOO.X_new, candidates="unseen")
        twin.adapt(next(iter(frames(ZOO.X_new, ZOO.y_new))), candidates="unseen")
        assert_allclose(twin.adapted_.weights, there.adapted_.weights, rtol=1e-3, atol=1e-4)

    @here
    def test_constants_of_an_adaptation(self):
        there, twin = (JCMSPL(**MADE).fit(ZOO.X, ZOO.y, **FIT) for _ in range(2))
        there.calibrate(ZOO.X, ZOO.y, n_splits=2, adaptation=True)
        twin.calibrate(cut(ZOO.X, 120), ZOO.y, n_splits=2, adaptation=True)
        assert twin.adaptation_constants_ == there.adaptation_constants_

    @pytest.mark.parametrize(
        "search",
        [
            ClassSearchCV(
                RidgeVS(), {"alpha": [0.1, 10.0], "feature_normalisation": ["center", "auto_power"]}, cv=2, extend=0
            ),
            JCMSPLCV(space="visual", feature_normalisation="center", class_kernel="linear", cv=2, extend=0),
        ],
        ids=["grid", "path"],
    )
    def test_search(self, search, request):
        if isinstance(search, JCMSPLCV):  # which tries much
            request.getfixturevalue("in_threads")
        there = search.fit(ZOO.X, ZOO.y, sample_weight=WEIGHTS, **FIT)
        results, chosen = there.cv_results_, there.best_params_
        found = search.fit(cut(ZOO.X, 90), cut(ZOO.y, 33), sample_weight=WEIGHTS, **FIT)
        assert_allclose(found.cv_results_["mean_test_score"], results["mean_test_score"], atol=1e-9)
        assert found.best_params_ == chosen
        assert found.n_features_in_ == 20
        assert found.predict(cut(ZOO.X_new), candidates="unseen").compute().shape == (len(ZOO.X_new),)

    @here
    def test_few_classes_are_not_searched(self):
        rows = np.isin(ZOO.y, ZOO.seen[:3])
        with pytest.warns(UserWarning, match="nothing is tuned"):
            found = ClassSearchCV(RidgeVS()).fit(cut(ZOO.X[rows]), ZOO.y[rows], **FIT)
        same_model(found.best_estimator_, RidgeVS(**found.best_params_).fit(ZOO.X[rows], ZOO.y[rows], **FIT))

    @here
    @pytest.mark.parametrize("adapt", [False, True])
    def test_evaluate(self, model, adapt):
        n = len(ZOO.X)
        parts = {"train": np.arange(0, n, 2), "test_seen": np.arange(1, n, 2), "test_unseen": np.arange(n, len(self.X))}
        sets = [Dataset("zoo", X, self.y, ZOO.table, parts) for X in (self.X, cut(self.X, 64))]
        with pytest.warns(TrainedOnWarning, match="^120 of 120 test samples of seen"):
            there, found = (evaluate(model, one, adapt=adapt, spaces=["visual"], progress=False) for one in sets)
        assert found.trained_on == there.trained_on
        for one, other in zip(found.results, there.results, strict=True):
            assert one.standard.per_class == pytest.approx(other.standard.per_class, abs=0.02)
            assert one.generalized.ausuc == pytest.approx(other.generalized.ausuc, abs=0.02)
        assert found.results[0].standard == there.results[0].standard


LOST = """
import os, subprocess, sys, threading, time
from pathlib import Path
import dask, dask.array as da, numpy as np
from distributed import Client
from jcmspl.methods import RidgeVS

file, begun = Path("scheduler.json").absolute(), Path("begun").absolute()
start = lambda *command: subprocess.Popen([sys.executable, "-m", *command, "--scheduler-file", str(file)], stderr=-3)
scheduler = start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
worker = start("distributed.cli.dask_worker", "--no-nanny", "--no-dashboard", "--nthreads", "1")
try:
    while not file.exists():
        time.sleep(0.05)
    client = Client(scheduler_file=str(file), timeout=120)
    client.wait_for_workers(1, timeout=120)

    def piece():
        begun.touch()
        time.sleep(3600)

    def lose():
        while not begun.exists():
            time.sleep(0.05)
        scheduler.kill()

    threading.Thread(target=lose, daemon=True).start()
    X = da.from_delayed(dask.delayed(piece)(), (30, 20), dtype=float)
    try:
        RidgeVS(progress=False).fit(X, np.arange(30) % 3, class_vectors=np.eye(3))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
finally:
    worker.kill()
    scheduler.kill()
    os._exit(0)  # what is left of the client waits for its scheduler
"""


class TestWorkers:
    def test_one_that_is_killed_loses_nothing(self, client_to_lose, tmp_path):
        marker = tmp_path / "killed"

        def piece(number):
            if number == 5 and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return ZOO.X[30 * number : 30 * number + 30]

        pieces = [da.from_delayed(dask.delayed(piece)(i), (30, 20), dtype=float) for i in range(8)]
        disturbed = JCMSPL(**MADE).fit(da.concatenate(pieces), ZOO.y, **FIT)
        assert marker.exists()
        again = JCMSPL(**MADE).fit(da.concatenate(pieces), ZOO.y, **FIT)
        assert_array_equal(disturbed.statistics_.gram, again.statistics_.gram)
        assert_array_equal(disturbed.statistics_.counts, np.full(8, 30))

    def test_those_with_another_version_are_refused(self, client):
        def have(version):
            from jcmspl.data import tasks

            tasks.__version__ = version

        from jcmspl import __version__

        client.run(have, "0.0.1")
        try:
            with pytest.raises(ImportError, match=rf"a worker of the cluster has jcmspl 0\.0\.1, .* {__version__}"):
                JCMSPL(**MADE).fit(cut(ZOO.X), ZOO.y, **FIT)
        finally:
            client.run(have, __version__)
        JCMSPL(**MADE).fit(cut(ZOO.X), ZOO.y, **FIT)

    def test_a_scheduler_that_is_gone(self, tmp_path):
        """In a process of its own, with a scheduler and a worker that it may lose in the midst of a fit."""
        options = {"timeout": 250, "capture_output": True, "text": True, "cwd": tmp_path, "check": True}
        found = subprocess.run([sys.executable, "-c", LOST], **options).stdout
        assert "ConnectionError: the cluster has given up the work, or its scheduler is gone (tcp://127.0.0.1:" in found

    def test_blas_has_one_thread_in_each_task(self):
        def threads_as_distance(Z, P):  # in here it travels by value: workers cannot import the tests
            from jcmspl.support.machine import blas_threads

            return np.full((len(Z), len(P)), float(blas_threads()))

        model = JCMSPL(**MADE, metric=threads_as_distance).fit(ZOO.X, ZOO.y, **FIT)
        assert_array_equal(-model.decision_function(cut(ZOO.X), candidates="unseen", seen_penalty=0).compute(), 1)

    def test_nothing_is_kept_afterwards(self, client):
        def kept():
            return {key for keys in client.has_what().values() for key in keys}

        before = kept()
        model = JCMSPL(**MADE, adaptation_pull=5.0).fit(cut(ZOO.X), ZOO.y, **FIT)
        model.adapt(cut(ZOO.X_new), candidates="unseen")
        deadline = time.monotonic() + 60
        while not kept() <= before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert kept() <= before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does")
def test_a_partition_is_converted_a_block_at_a_time():
    # in a process of its own, which does what a worker does: a cluster whose memory is limited comes to a halt
    code = """
import os, resource
from pathlib import Path
import dask, dask.array as da, numpy as np
from jcmspl import JCMSPL

n, m, allowed = 200_000, 100, 90e6  # 20 MB of bytes, 160 MB of floats
whole = np.random.default_rng(0).integers(0, 255, (n, m), dtype=np.uint8)
X = da.from_delayed(dask.delayed(lambda: whole.copy())(), (n, m), dtype=np.uint8)
y = np.arange(n) % 2
dask.config.set(scheduler="synchronous")
make = lambda: JCMSPL(feature_normalisation="center", max_iter=3, tol=0, progress=False)
make().fit(X, y)  # loads what is needed
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + int(allowed), resource.RLIM_INFINITY))
assert make().fit(X, y).statistics_.n_samples == n
try:
    make().fit(X.astype(float), y)
except MemoryError:
    pass
else:
    raise AssertionError("the limit is none: all rows were converted at once")
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=600, env=environment)


def test_dask_is_not_loaded_for_others():
    code = """
import sys, numpy as np
from jcmspl import JCMSPL
rng = np.random.default_rng(0)
X, y = rng.standard_normal((30, 4)), np.arange(30) % 3
JCMSPL(max_iter=1, tol=0).fit(X, y).predict(X)
assert not {"dask", "distributed"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
