"""Models that choose their own parameters: by what, among what, and what they then are."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from jcmspl import JCMSPL, JCMSPLCV, ClassKFold, ClassSearchCV, load
from jcmspl.exceptions import DivergenceError
from jcmspl.methods import ESZSL, FPL, RPL, SAE, RidgeVS
from jcmspl.methods.jcmspl import WEIGHTS
from jcmspl.model.parameters import weight_names
from support.animals import make_zoo
from support.searches import BEST, SMALL, ZOO, split_scores, tuned
from support.sklearn_checks import expected_failures, run_check


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


@pytest.mark.parametrize(
    "peer", [RidgeVS(), FPL(), RPL(), SAE(), ESZSL(), JCMSPL(visual_reconstruction=0.1, max_iter=9, tol=0)], ids=repr
)
def test_any_model_equals_a_plain_loop(peer):
    grid = dict.fromkeys(weight_names(peer)[:2], (0.1, 10.0)) | {"space": ("semantic", "visual")}
    model = ClassSearchCV(peer, grid, cv=3, extend=0).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert_equals_the_plain_loop(model, peer, ClassKFold(3))


def test_a_distance_of_the_users_own():
    def city_block(Z, P):
        return np.abs(Z[:, None] - P).sum(axis=2)

    grid = {"space": ("semantic", "concept"), "class_match": (10.0, 100.0)}
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
        assert model.calibrate(ZOO.X, ZOO.y).seen_penalty_ == pytest.approx(plain.calibrate(ZOO.X, ZOO.y).seen_penalty_)

    def test_attributes(self):
        model = tuned()
        results, best = model.cv_results_, model.best_index_
        assert results["params"][best] == model.best_params_
        assert results["rank_test_score"][best] == 1
        assert results["mean_test_score"][best] == model.best_score_ == results["mean_test_score"].max()
        folds = split_scores(model)[best]
        assert model.best_score_stderr_ == pytest.approx(folds.std(ddof=1) / np.sqrt(5))
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


def test_settings_that_diverge_rank_last(monkeypatch):
    learnt = JCMSPL._fit

    def sometimes(self, *args):
        if self.class_match == 10:
            raise DivergenceError("overflow")
        return learnt(self, *args)

    monkeypatch.setattr(JCMSPL, "_fit", sometimes)
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
    assert [model.best_params_[name] for name in (*WEIGHTS, "space")] == [1.0, 100.0, 10.0, 1.0, "visual"]
    other = JCMSPLCV(class_match=0, visual_reconstruction=(10, 1000))
    with pytest.warns(UserWarning, match="nothing is tuned"):
        other.fit(ZOO.X, ZOO.y)
    assert (other.best_params_["class_match"], other.best_params_["visual_reconstruction"]) == (0, 10)
    assert np.isnan(model.best_score_)
    assert model.score(ZOO.X, ZOO.y) > 0.5
    three = np.isin(ZOO.y, ZOO.seen[:3])
    with pytest.warns(UserWarning, match="less than four classes"):
        ClassSearchCV(RidgeVS()).fit(ZOO.X[three], ZOO.y[three], class_vectors=ZOO.table)


# They know no class vectors, hence the warning.
@pytest.mark.filterwarnings("ignore:without class_vectors no classes can be held out:UserWarning")
@pytest.mark.filterwarnings("ignore:after normalisation all samples are the same:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([JCMSPLCV(), ClassSearchCV(ESZSL())], expected_failed_checks=expected_failures)
def test_estimator(estimator, check):
    run_check(check, estimator)
