"""Models that choose their own parameters: by what, among what, and what they then are."""

import pickle
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from jcmspl import (
    ESZSL,
    FPL,
    JCMSPL,
    JCMSPLCV,
    RPL,
    SAE,
    ClassKFold,
    ClassSearchCV,
    DivergenceError,
    RidgeVS,
    load,
)
from jcmspl._grid import Grid
from jcmspl.estimator import WEIGHTS
from zoo import make_zoo

ZOO = make_zoo(n_seen=10, noise=0.9, per_class=12)
# Large visual reconstructions make the descent leave saddle points along rounding errors: nothing to compare.
SMALL = {
    "semantic_match": (0.01, 1.0),
    "class_match": (0.1, 10.0),
    "visual_reconstruction": (0.01, 0.1),
    "semantic_reconstruction": (0.01,),
    "cv": 5,
    "choose": "best",  # what is chosen with few classes is tested on its own, below
}
BEST = {"cv": 5, "choose": "best"}


def tuned(zoo=ZOO, model=None, **parameters):
    given = {**SMALL, "extend": 0, **parameters}
    return (model or JCMSPLCV(**given)).fit(zoo.X, zoo.y, class_vectors=zoo.table)


def plain_loop(model, cv, zoo=ZOO):
    """The accuracy on each fold, by fitting to the samples of the other classes."""
    scores = []
    for train, test in cv.split(zoo.X, zoo.y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fold = clone(model).fit(zoo.X[train], zoo.y[train], class_vectors=zoo.table)
        held_out = sorted(set(zoo.y[test].tolist()))
        scores.append(fold.score(zoo.X[test], zoo.y[test], candidates=held_out))
    return scores


def split_scores(model):
    n = sum(name.startswith("split") for name in model.cv_results_)
    return np.column_stack([model.cv_results_[f"split{i}_test_score"] for i in range(n)])


def assert_equals_the_plain_loop(model, base, cv, zoo=ZOO):
    for params, scores in zip(model.cv_results_["params"], split_scores(model), strict=True):
        assert_allclose(scores, plain_loop(clone(base).set_params(**params), cv, zoo), atol=1e-12, err_msg=str(params))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"metric": "euclidean", "cv": ClassKFold(3, n_repeats=2, random_state=4), "n_jobs": 1},
        {"feature_normalisation": ("none", "zscore"), "class_normalisation": ("none", "zscore"), "max_iter": 4},
        {"n_concepts": (None, 13), "init": "random", "random_state": 3, "space": "visual", "max_iter": 9, "tol": 0},
    ],
)
def test_equals_a_plain_loop_setting_by_setting(parameters):
    model = tuned(**parameters)
    same = {name: parameters[name] for name in ("metric", "init", "random_state") if name in parameters}
    base = JCMSPL(max_iter=model.max_iter, tol=model.tol, **same)
    cv = model.cv if isinstance(model.cv, ClassKFold) else ClassKFold(5, random_state=model.random_state)
    assert_equals_the_plain_loop(model, base, cv)
    assert len(np.unique(split_scores(model))) > 5  # the settings differ, so that the test can tell


@pytest.mark.parametrize("peer", [RidgeVS(), FPL(), RPL(), SAE(), ESZSL(), JCMSPL(max_iter=9, tol=0)], ids=repr)
def test_any_model_equals_a_plain_loop(peer):
    grid = dict.fromkeys(peer._PENALTIES[:2], (0.1, 10.0)) | {"space": ("semantic", "visual")}
    model = ClassSearchCV(peer, grid, cv=3, extend=0).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert_equals_the_plain_loop(model, peer, ClassKFold(3))


def test_a_distance_of_the_users_own():
    def city_block(Z, P):
        return np.abs(Z[:, None] - P).sum(axis=2)

    grid = {"space": ("semantic", "concept"), "class_match": (0.1, 1.0)}
    model = ClassSearchCV(JCMSPL(metric=city_block), grid, cv=3, extend=0)
    assert_equals_the_plain_loop(tuned(model=model), JCMSPL(metric=city_block), ClassKFold(3))
    both = ClassSearchCV(JCMSPL(), {"metric": ("cosine", city_block)}, cv=3)
    assert_equals_the_plain_loop(tuned(model=both), JCMSPL(), ClassKFold(3))


@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_other_dtypes_and_memory_maps(dtype, tmp_path):
    X = (ZOO.X * 50).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = JCMSPLCV(**SMALL, extend=0).fit(mapped, ZOO.y, class_vectors=ZOO.table)
    assert_equals_the_plain_loop(model, JCMSPL(max_iter=35), ClassKFold(5), ZOO._replace(X=X))


class TestWhatItIsThen:
    def test_the_plain_model_with_the_chosen_parameters(self):
        model = tuned()
        plain = JCMSPL(**model.best_params_, max_iter=35).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert_allclose(model.visual_projection_, plain.visual_projection_, atol=1e-9)
        assert_allclose(model.objective_, plain.objective_, rtol=1e-9)
        assert_array_equal(model.classes_, plain.classes_)
        assert_array_equal(model.unseen_classes_, plain.unseen_classes_)
        for method in ("predict", "decision_function", "predict_proba", "predict_topk", "transform"):
            ours, theirs = getattr(model, method)(ZOO.X_new), getattr(plain, method)(ZOO.X_new)
            assert (ours == theirs).all() if ours.dtype.kind == "U" else np.allclose(ours, theirs)
        assert model.score(ZOO.X_new, ZOO.y_new) == plain.score(ZOO.X_new, ZOO.y_new)
        assert str(model.explain(ZOO.X_new[:1])[0]) == str(plain.explain(ZOO.X_new[:1])[0])
        assert model.calibrate(ZOO.X, ZOO.y).seen_bias_ == pytest.approx(plain.calibrate(ZOO.X, ZOO.y).seen_bias_)

    def test_attributes(self):
        model = tuned()
        results, best = model.cv_results_, model.best_index_
        assert results["params"][best] == model.best_params_
        assert results["rank_test_score"][best] == 1
        assert results["mean_test_score"][best] == model.best_score_ == results["mean_test_score"].max()
        folds = split_scores(model)[best]
        assert model.best_score_std_ == pytest.approx(folds.std(ddof=1) / np.sqrt(5))
        assert len(results["params"]) == 8 * 3
        for name in model.best_params_:
            assert [params[name] for params in results["params"]] == results[f"param_{name}"].tolist()
        assert_allclose(results["std_test_score"], split_scores(model).std(axis=1))
        assert (results["iterations"] == 35).all()
        frame = model.cv_results_table_
        assert isinstance(frame, pd.DataFrame)
        assert frame["params"].iloc[0]["space"] in ("semantic", "concept", "visual")
        assert frame["rank_test_score"].is_monotonic_increasing
        assert (model.n_splits_, model.interrupted_) == (5, False)
        assert {"search", "start"} < model.timings_.keys()

    def test_files_hold_the_plain_model(self, tmp_path):
        model = tuned()
        model.save(tmp_path / "model", statistics=True)
        again = load(tmp_path / "model")
        assert type(again) is type(model.best_estimator_) is JCMSPL
        assert again.space == model.best_params_["space"]
        assert_array_equal(again.decision_function(ZOO.X_new), model.decision_function(ZOO.X_new))
        with pytest.raises(ValueError, match="holds a JCMSPL, not a JCMSPLCV"):
            JCMSPLCV.load(tmp_path / "model")
        twin = pickle.loads(pickle.dumps(model))
        assert_array_equal(twin.predict(ZOO.X_new), model.predict(ZOO.X_new))
        assert twin.best_params_ == model.best_params_

    def test_learns_on_and_knows_new_classes(self):
        model = JCMSPLCV(**SMALL, extend=0).partial_fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert model.best_params_ == tuned().best_params_
        model.partial_fit(ZOO.X[:30], ZOO.y[:30]).add_classes({"yeti": np.ones(8)})
        X, y = np.vstack([ZOO.X, ZOO.X[:30]]), np.concatenate([ZOO.y, ZOO.y[:30]])
        plain = JCMSPL(**model.best_params_, max_iter=35).fit(X, y, class_vectors=ZOO.table)
        assert_allclose(model.visual_projection_, plain.visual_projection_, atol=1e-9)
        assert "yeti" in model.best_estimator_.unseen_classes_

    def test_not_yet_fitted(self):
        with pytest.raises(NotFittedError):
            JCMSPLCV().predict(ZOO.X)
        with pytest.raises(NotFittedError):
            _ = JCMSPLCV().best_estimator_

    def test_clone(self):
        model = tuned(cv=ClassKFold(3))
        twin = clone(model)
        assert repr(twin.get_params()) == repr(model.get_params())
        assert not hasattr(twin, "best_params_")


class TestWhatDecides:
    def test_classes_without_samples_do_not(self):
        expected = tuned()
        rng = np.random.default_rng(5)
        others = {name: 100 * rng.standard_normal(8) for name in (*ZOO.unseen, "yeti")}
        seen = {name: ZOO.table[name] for name in ZOO.seen}
        model = JCMSPLCV(**SMALL, extend=0).fit(ZOO.X, ZOO.y, class_vectors={**others, **seen})
        assert model.best_params_ == expected.best_params_
        assert_array_equal(split_scores(model), split_scores(expected))
        assert_array_equal(model.visual_projection_, expected.visual_projection_)

    def test_order_of_samples_and_classes_does_not(self):
        order = np.random.default_rng(2).permutation(len(ZOO.X))
        table = ZOO.table.select(list(ZOO.table)[::-1])
        model = JCMSPLCV(**SMALL, extend=0).fit(ZOO.X[order], ZOO.y[order], class_vectors=table)
        assert model.best_params_ == tuned().best_params_
        assert_allclose(split_scores(model), split_scores(tuned()))

    def test_number_of_threads_does_not(self):
        assert_array_equal(split_scores(tuned(n_jobs=1)), split_scores(tuned(n_jobs=3)))

    def test_labels_of_training_samples_do(self):
        y = np.random.default_rng(0).permutation(ZOO.y)
        model = JCMSPLCV(**SMALL, extend=0).fit(ZOO.X, y, class_vectors=ZOO.table)
        assert model.best_score_ < tuned().best_score_ - 0.1

    def test_ties_go_to_the_simplest(self):
        clear = make_zoo(n_seen=10, noise=0.01)
        model = tuned(clear, space=("concept", "semantic"))
        ties = [
            p for p, m in zip(model.cv_results_["params"], model.cv_results_["mean_test_score"], strict=True) if m == 1
        ]
        assert len(ties) > 1
        smallest = min(ties, key=lambda p: [p[name] for name in WEIGHTS] + [p["space"] == "semantic"])
        assert model.best_params_ == smallest
        ridge = tuned(clear, ClassSearchCV(RidgeVS(), {"alpha": (1e-6, 1e-5, 1e-4)}, **BEST))
        assert (ridge.best_score_, ridge.best_params_) == (1, {"alpha": 1e-4})

    def test_folds(self):
        assert tuned(cv=20).n_splits_ == 5  # of ten classes, so that there are two to tell apart
        assert tuned(random_state=1).best_score_ != tuned(random_state=2).best_score_
        with pytest.raises(ValueError, match="10 folds of 10 classes hold out 1 to 1 of them"):
            tuned(cv=ClassKFold(10))


class TestFewClasses:
    """The best of many settings on few held-out classes is mostly luck."""

    def test_folds_are_drawn_several_times(self):
        assert tuned(cv=None).n_splits_ == 25
        many = make_zoo(n_seen=20, per_class=3)
        assert tuned(many, cv=None).n_splits_ == 5

    def test_prudent_is_nearest_to_the_defaults_of_all_within_a_standard_error(self):
        model = tuned(choose="prudent")
        means, scores = model.cv_results_["mean_test_score"], split_scores(model)
        best = means.argmax()
        good = means >= means[best] - scores[best].std(ddof=1) / np.sqrt(scores.shape[1])
        assert good[model.best_index_]
        default = JCMSPL()

        def distance(params):
            weights = [abs(np.log10(params[name] / getattr(default, name))) for name in WEIGHTS]
            return sum(weights) + (params["space"] != default.space)

        distances = np.array([distance(params) for params in model.cv_results_["params"]])
        assert distances[model.best_index_] == pytest.approx(distances[good].min())

    def test_auto(self):
        assert tuned(choose="auto").best_params_ == tuned(choose="prudent").best_params_
        many = make_zoo(n_seen=20, per_class=3)
        assert tuned(many, choose="auto").best_index_ == tuned(many, choose="best").best_index_
        with pytest.raises(ValueError, match="choose must be one of"):
            tuned(choose="lucky")


class TestGrowing:
    # on this data the best decade is 1, and beyond 100 nothing changes any more
    def search(self, *alphas, extend):
        return tuned(model=ClassSearchCV(RPL(metric="euclidean"), {"alpha": alphas}, extend=extend, **BEST))

    def test_the_grid_grows_towards_the_best(self):
        assert self.search(10, 100, extend=0).best_params_ == {"alpha": 10}
        model = self.search(10, 100, extend=4)
        assert model.best_params_ == {"alpha": 1}
        assert sorted(model.cv_results_["param_alpha"]) == [0.1, 1, 10, 100]  # one beyond the best tells that it is
        assert self.search(0.001, 0.01, extend=4).best_params_ == {"alpha": 1}

    def test_so_many_times_at_most(self):
        for extend in (0, 1, 2):
            model = self.search(1e-4, 1e-3, 1e-2, extend=extend)
            assert sorted(model.cv_results_["param_alpha"]) == [1e-4, 1e-3, 1e-2, 1e-1, 1][: 3 + extend]

    def test_not_along_a_plateau(self):
        model = self.search(1e5, 1e6, extend=4)
        assert model.best_params_ == {"alpha": 1e6}
        assert sorted(model.cv_results_["param_alpha"]) == [1e5, 1e6, 1e7]

    def test_not_where_the_best_is_inside(self):
        model = self.search(1e-9, 1, 1e9, extend=4)
        assert model.best_params_ == {"alpha": 1}
        assert len(model.cv_results_["params"]) == 3

    def test_single_values_and_zeros_stay(self):
        grid = Grid({"a": (1.0, 10.0), "b": 5.0, "c": (0.0, 1.0), "d": "x"}, weights=("a", "b", "c"))
        assert grid.beyond((1.0, 5.0, 0.0, "x")) == [(0.1, 5.0, 0.0, "x")]
        assert grid.axes == {"a": [0.1, 1.0, 10.0], "b": [5.0], "c": [0.0, 1.0], "d": ["x"]}
        assert grid.beyond((1.0, 5.0, 0.0, "x")) == []

    def test_several_edges_at_once(self):
        grid = Grid({"a": (1.0, 100.0), "b": (10.0, 1.0)}, weights=("a", "b"))
        assert grid.beyond((100.0, 1.0)) == [(100.0, 0.1), (1e4, 1.0), (1e4, 0.1)]

    def test_presets_are_tuned_with_their_zeros(self):
        model = tuned(visual_reconstruction=0, semantic_reconstruction=[0], class_match=(0.1, 1), extend=2)
        assert set(model.cv_results_["param_visual_reconstruction"]) == {0.0}
        assert model.best_params_["semantic_reconstruction"] == 0


class TestHalving:
    def test_the_default_does_without(self):
        assert not JCMSPLCV().halving
        assert (tuned().cv_results_["iterations"] == 35).all()

    def test_drops_settings_and_chooses_among_the_rest(self):
        full, halved = tuned(max_iter=50, tol=0), tuned(max_iter=50, tol=0, halving=True)
        assert halved.cv_results_["params"] == full.cv_results_["params"]
        iterations = halved.cv_results_["iterations"]
        assert sorted(set(iterations.tolist())) == [2, 50]  # three of eight are left: too few for another round
        assert (iterations == 50).sum() == 3 * 3
        kept = iterations == 50
        assert_array_equal(split_scores(halved)[kept], split_scores(full)[kept])
        assert halved.best_score_ == halved.cv_results_["mean_test_score"][kept].max()
        ranks = halved.cv_results_["rank_test_score"]
        assert ranks[kept].max() < ranks[~kept].min()
        assert halved.n_iter_ == 50

    def test_makes_no_difference_without_iterations(self):
        one, two = (tuned(model=ClassSearchCV(RPL(), halving=halving, **BEST)) for halving in (False, True))
        assert_array_equal(split_scores(one), split_scores(two))


class TestWarmStart:
    def test_is_off_by_default(self):
        assert not JCMSPLCV().warm_start
        assert not ClassSearchCV(RidgeVS()).warm_start

    def test_fits_that_converge_end_where_they_would_have(self):
        grid = {**SMALL, "class_match": (1.0, 10.0), "extend": 0, "tol": 1e-13, "max_iter": 2000}
        cold, warm = (tuned(**grid, warm_start=warm) for warm in (False, True))
        assert_allclose(split_scores(warm), split_scores(cold), atol=0.05)
        assert warm.best_params_ == cold.best_params_

    def test_starts_from_codes_of_the_fold(self, monkeypatch):
        starts = []
        original = JCMSPL._solution

        def spy(self, spectrum, *args, **kwargs):
            if not kwargs.get("return_codes"):
                starts.append(self.init if isinstance(self.init, str) else np.shape(self.init))
            return original(self, spectrum, *args, **kwargs)

        monkeypatch.setattr(JCMSPL, "_solution", spy)
        tuned(warm_start=True, n_jobs=1)
        assert set(starts[:-1]) == {(8, 8)}  # ten classes, two of them held out
        assert starts[-1] == "codes"  # the fit with the chosen setting is a plain one

    def test_means_nothing_to_models_without_iterations(self):
        one, two = (tuned(model=ClassSearchCV(RPL(), warm_start=warm, **BEST)) for warm in (False, True))
        assert_array_equal(split_scores(one), split_scores(two))


class TestInterrupt:
    @pytest.fixture(params=[1, 2])
    def n_jobs(self, request):
        return request.param

    def stop_after(self, monkeypatch, n):
        """Press Ctrl-C in the n-th fit; fits that other threads have begun go on."""
        learnt, calls = JCMSPL._learnt, iter(range(10**6))

        def pressed(self, *args):
            if next(calls) == n:
                raise KeyboardInterrupt
            return learnt(self, *args)

        monkeypatch.setattr(JCMSPL, "_learnt", pressed)

    def test_the_best_so_far_is_fitted(self, monkeypatch, n_jobs):
        full = tuned()
        self.stop_after(monkeypatch, 5 * 5 + 2)
        with pytest.warns(RuntimeWarning, match=r"interrupted: the choice is among the 5 settings \(times 3 ways"):
            model = tuned(n_jobs=n_jobs)
        n = 5 * 3
        assert model.interrupted_
        assert model.cv_results_["params"] == full.cv_results_["params"][:n]
        assert_array_equal(split_scores(model), split_scores(full)[:n])
        assert model.best_score_ == full.cv_results_["mean_test_score"][:n].max()
        assert model.predict(ZOO.X_new).shape == ZOO.y_new.shape

    def test_nothing_so_far(self, monkeypatch, n_jobs):
        model = tuned(n_jobs=n_jobs)
        before = dict(vars(model))
        self.stop_after(monkeypatch, 3)
        with pytest.raises(KeyboardInterrupt):
            model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        assert vars(model) == before

    def test_a_real_one(self):
        script = """
            import numpy as np, warnings
            from jcmspl import JCMSPLCV
            warnings.simplefilter("ignore")
            rng = np.random.default_rng(0)
            y = np.arange(400) % 40
            vectors = rng.random((40, 20))
            X = vectors[y] @ rng.random((20, 60)) + 0.1 * rng.standard_normal((400, 60))
            print("started", flush=True)
            many = np.geomspace(1e-3, 1e3, 60)
            model = JCMSPLCV(semantic_match=many, class_match=many, max_iter=200, tol=0)
            try:
                model.fit(X, y, class_vectors=vectors)
                print(model.interrupted_, len(model.predict(X)))
            except KeyboardInterrupt:
                print("too early")
        """
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline() == "started\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(3.0)  # the search takes minutes
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=300)
        finally:
            process.kill()
        assert output in ("True 400\n", "too early\n")
        assert process.returncode == 0


def test_settings_that_diverge_rank_last(monkeypatch):
    learnt = JCMSPL._learnt

    def sometimes(self, *args):
        if self.class_match == 10:
            raise DivergenceError("overflow")
        return learnt(self, *args)

    monkeypatch.setattr(JCMSPL, "_learnt", sometimes)
    model = tuned()
    failed = np.array([value == 10 for value in model.cv_results_["param_class_match"]])
    assert np.isnan(split_scores(model)[failed]).all()
    assert model.cv_results_["rank_test_score"][failed].min() > model.cv_results_["rank_test_score"][~failed].max()
    assert model.best_params_["class_match"] != 10
    with pytest.raises(DivergenceError, match="with every setting"):
        tuned(class_match=10)


@pytest.mark.parametrize(
    ("fit", "error", "message"),
    [
        (lambda: JCMSPLCV().fit(iter([(ZOO.X, ZOO.y)]), class_vectors=ZOO.table), TypeError, "more than once"),
        (lambda: tuned(class_match=(1, -1)), ValueError, "class_match must be a finite number of at least 0"),
        (lambda: tuned(class_match=()), ValueError, "no value of class_match to try"),
        (lambda: tuned(space=("semantic", "audio")), ValueError, "space must be one of"),
        (lambda: tuned(feature_normalisation="magic"), ValueError, "feature_normalisation must be one of"),
        (lambda: tuned(init=np.eye(10)), ValueError, "folds have other numbers of classes"),
        (lambda: tuned(cv=1), ValueError, "cv must be from 2"),
        (lambda: tuned(cv="many"), TypeError, "cv must be a whole number"),
        (lambda: tuned(extend=-1), ValueError, "extend must be from 0"),
        (lambda: tuned(n_jobs=0), ValueError, "n_jobs must be from 1"),
        (lambda: JCMSPLCV().fit(ZOO.X[:5], ZOO.y[:4], class_vectors=ZOO.table), ValueError, "inconsistent numbers"),
        (lambda: tuned(ZOO._replace(y=np.where(ZOO.y == "animal 0", "yeti", ZOO.y))), ValueError, "in y: 'yeti'"),
        (lambda: JCMSPLCV().fit_from_statistics(None), TypeError, "statistics are not enough"),
        (lambda: tuned(model=ClassSearchCV(RidgeVS(), {"beta": 1})), ValueError, "'beta', which RidgeVS does not have"),
        (lambda: tuned(model=ClassSearchCV(JCMSPLCV())), TypeError, "not yet tuned"),
    ],
)
def test_bad_input(fit, error, message):
    with pytest.raises(error, match=message):
        fit()


def test_bad_values_are_found_where_they_are():
    X = ZOO.X.copy()
    X[17, 3] = np.nan
    with pytest.raises(ValueError, match=r"NaN or infinity, first at index \(17, 3\)"):
        tuned(ZOO._replace(X=X))


def test_where_nothing_can_be_held_out_the_defaults_are_fitted():
    with pytest.warns(UserWarning, match="without class_vectors no classes can be held out"):
        model = JCMSPLCV().fit(ZOO.X, ZOO.y)
    assert all(model.best_params_[name] == getattr(JCMSPL(), name) for name in (*WEIGHTS, "space"))
    other = JCMSPLCV(class_match=0, visual_reconstruction=(10, 1000))
    with pytest.warns(UserWarning, match="nothing is tuned"):
        other.fit(ZOO.X, ZOO.y)
    assert (other.best_params_["class_match"], other.best_params_["visual_reconstruction"]) == (0, 10)
    assert np.isnan(model.best_score_)
    assert model.score(ZOO.X, ZOO.y) > 0.5
    three = np.isin(ZOO.y, ZOO.seen[:3])
    with pytest.warns(UserWarning, match="less than four classes"):
        ClassSearchCV(RidgeVS()).fit(ZOO.X[three], ZOO.y[three], class_vectors=ZOO.table)


# All checks pass: there are no exceptions to justify. They know no class vectors, hence the warning.
@pytest.mark.filterwarnings("ignore:without class_vectors no classes can be held out:UserWarning")
@pytest.mark.filterwarnings("ignore:after normalisation all samples are the same:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([JCMSPLCV(), ClassSearchCV(ESZSL())])
def test_estimator(estimator, check):
    check(estimator)
