"""The contract of every method of the registry.

A method that is added is found here by itself. It needs one file of its own beside this, with a test against an
independent oracle: ``tests/methods/test_<module>.py`` with a function ``test_oracle_...``.
"""

import ast
import pickle
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import jcmspl
from jcmspl import JCMSPL, ClassKFold, ClassSearchCV, load
from jcmspl.checks import find_label_issues
from jcmspl.core import Statistics
from jcmspl.methods import SSE, IdentityRidge, TextPrototypes
from jcmspl.model import registry
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.parameters import (
    COUNT,
    FLAG,
    INFINITE_WEIGHT,
    OPTIONAL_COUNT,
    POSITIVE,
    SHARE,
    SHARE_OR_AUTO,
    WEIGHT,
    weight_names,
)
from jcmspl.support.names import GROUPS
from support.animals import make_zoo
from support.sklearn_checks import expected_failures, run_check
from support.small_networks import small

ZOO = make_zoo(n_seen=8)
ALIGNED = make_zoo(n_seen=8, n_attributes=20, aligned=True)  # samples and class vectors of one encoder
FOR_ALIGNED = (TextPrototypes, IdentityRidge)  # methods that take class vectors for samples
RECTIFIED = make_zoo(n_seen=8, rectified=True)  # no feature is negative
OWN = [method for method in registry.methods().values() if method.__module__.startswith("jcmspl.")]
MODELS = [small(method) for method in OWN]
EACH = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
# Values that are refused, by the metadata of a parameter.
REFUSED = (
    (COUNT, (0, 1.5)),
    (FLAG, ("yes",)),
    (INFINITE_WEIGHT, (-1.0, np.nan)),
    (OPTIONAL_COUNT, (0, 1.5)),
    (POSITIVE, (0.0, -1.0, np.inf)),
    (SHARE, (-0.1, 1.5)),
    (SHARE_OR_AUTO, (1.5, "sometimes")),
    (WEIGHT, (-1.0, np.nan, np.inf)),
)
REFUSED_BY = {metadata["check"]: values for metadata, values in REFUSED}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def zoo_of(model):
    if isinstance(model, FOR_ALIGNED):
        return ALIGNED
    return RECTIFIED if isinstance(model, SSE) else ZOO


def fit(model, zoo=None, **options):
    zoo = zoo or zoo_of(model)
    return clone(model).set_params(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table, **options)


def scores_of(model, zoo=None):
    zoo = zoo or zoo_of(model)
    return model.decision_function(zoo.X_new, candidates=sorted(zoo.table))


def assert_same_scores(one, two, rtol=1e-8, zoo=None):
    a, b = scores_of(one, zoo), scores_of(two, zoo)
    assert_allclose(a, b, rtol=0, atol=rtol * np.abs(b).max())


def has_oracle(method, folder=Path(__file__).parents[1] / "methods"):
    """Whether a method has a test file with a test that is called test_oracle_..."""
    path = folder / f"test_{method.__module__.rpartition('.')[2]}.py"
    if not path.exists():
        return False
    functions = [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    return any(name.startswith("test_oracle_") for name in functions)


@EACH
def test_has_an_oracle(model):
    assert has_oracle(type(model)), f"{type(model).__name__} has no test against an independent oracle"


def test_a_method_without_an_oracle_is_noticed(tmp_path):
    (tmp_path / "test_sae.py").write_text("def test_that_it_runs(): ...")
    assert not has_oracle(jcmspl.methods.SAE, tmp_path)
    assert not has_oracle(jcmspl.methods.RPL, tmp_path)
    (tmp_path / "test_sae.py").write_text("def test_oracle_scipy(): ...")
    assert has_oracle(jcmspl.methods.SAE, tmp_path)


@pytest.mark.filterwarnings("ignore:after normalisation all samples are the same:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:the classes 1 and 2 have the same class vector:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(MODELS, expected_failed_checks=expected_failures)
def test_estimator(estimator, check):
    run_check(check, estimator)


@EACH
class TestRegistry:
    def test_says_what_it_is(self, model):
        method = type(model)
        assert method.__doc__
        assert len(method.PAPER) > 10
        assert method.NEEDS in ("statistics", "samples")
        assert issubclass(method, ZeroShotClassifier)
        assert getattr(jcmspl.methods, method.__name__) is method
        assert method.__name__ in jcmspl.methods.__all__
        assert set(method.GRID) <= set(model.get_params())
        assert set(weight_names(model)) <= set(model.get_params())

    def test_bad_values_of_parameters_are_refused(self, model):
        zoo = zoo_of(model)
        for field in fields(model):
            values = [object(), *REFUSED_BY.get(field.metadata["check"], ()), *["bogus"] * ("names" in field.metadata)]
            for value in values:
                with pytest.raises((TypeError, ValueError), match=field.name):
                    clone(model).set_params(**{field.name: value}).fit(zoo.X, zoo.y, class_vectors=zoo.table)

    def test_every_value_that_a_search_tries_is_allowed(self, model):
        for name, values in model.GRID.items():
            for value in values:
                clone(model).set_params(**{name: value})._check_parameters()


@EACH
class TestLearning:
    def test_order_of_samples_and_classes(self, model):
        zoo = zoo_of(model)
        order = np.random.default_rng(3).permutation(len(zoo.X))
        table = zoo.table.select(sorted(zoo.table, reverse=True))
        other = clone(model).fit(zoo.X[order], zoo.y[order], class_vectors=table)
        assert_same_scores(other, fit(model), rtol=1e-7)

    def test_in_parts_and_from_statistics(self, model):
        zoo = zoo_of(model)
        if model.NEEDS == "samples":
            with pytest.raises(TypeError, match="does not support partial_fit"):
                clone(model).partial_fit(zoo.X, zoo.y, class_vectors=zoo.table)
            with pytest.raises(TypeError, match="does not support fit_from_statistics"):
                clone(model).fit_from_statistics(None)
            return
        parts = clone(model)
        for half in (slice(0, 40), slice(40, None)):
            parts.partial_fit(zoo.X[half], zoo.y[half], class_vectors=zoo.table)
        assert_same_scores(parts, fit(model))
        names = list(zoo.table)
        codes = [names.index(label) for label in zoo.y]
        statistics = Statistics.from_samples(zoo.X, codes, len(names), unit_rows=True)
        assert_same_scores(clone(model).fit_from_statistics(statistics, names, class_vectors=zoo.table), fit(model))

    def test_memory_maps_and_float32(self, model, tmp_path):
        zoo = zoo_of(model)
        np.save(tmp_path / "X.npy", zoo.X.astype(np.float32))
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        other = clone(model).fit(mapped, zoo.y, class_vectors=zoo.table)
        assert_same_scores(other, fit(model, zoo._replace(X=np.asarray(mapped))))

    def test_a_failure_changes_nothing(self, model):
        zoo = zoo_of(model)
        fitted = fit(model)
        before = scores_of(fitted)
        bad = zoo.X.copy()
        bad[5, 2] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            fitted.fit(bad, zoo.y, class_vectors=zoo.table)
        assert_array_equal(scores_of(fitted), before)

    def test_not_fitted(self, model):
        zoo = zoo_of(model)
        with pytest.raises(NotFittedError):
            clone(model).predict(zoo.X)


@EACH
class TestRecognition:
    def test_unseen_classes(self, model):
        zoo = zoo_of(model)
        assert fit(model).score(zoo.X_new, zoo.y_new) > 0.6  # chance is 0.33

    def test_the_methods_agree(self, model):
        zoo = zoo_of(model)
        fitted = fit(model)
        scores = fitted.decision_function(zoo.X_new, candidates="unseen")
        names = np.array(fitted.unseen_classes_)
        assert_array_equal(fitted.predict(zoo.X_new, candidates="unseen"), names[scores.argmax(axis=1)])
        labels, best = fitted.predict_topk(zoo.X_new, 2, candidates="unseen", return_scores=True)
        assert_array_equal(labels[:, 0], names[scores.argmax(axis=1)])
        assert_allclose(best, -np.sort(-scores, axis=1)[:, :2], atol=1e-12 * np.abs(scores).max())
        shares = fitted.predict_proba(zoo.X_new, candidates="unseen")
        assert_array_equal(shares.argmax(axis=1), scores.argmax(axis=1))
        assert_allclose(shares.sum(axis=1), 1)
        given = {name: zoo.table[name] for name in zoo.unseen}
        assert_array_equal(fitted.predict(zoo.X_new, class_vectors=given), names[scores.argmax(axis=1)])

    def test_generalized_with_calibration(self, model):
        zoo = zoo_of(model)
        fitted = fit(model).calibrate(zoo.X, zoo.y)
        assert np.isfinite(fitted.seen_penalty_)
        assert {space for space, _ in fitted.calibration_} == set(model.SPACES)
        X, y = np.vstack([zoo.X, zoo.X_new]), np.concatenate([zoo.y, zoo.y_new])
        assert 0 < fitted.generalized_curve(X, y).area() <= 1

    def test_calibrated_probabilities_and_sets(self, model, tmp_path):
        zoo = zoo_of(model)
        fitted = fit(model).calibrate(zoo.X, zoo.y, n_splits=2).calibrate_sets(zoo.X, zoo.y, n_splits=2)
        groups = {(space, fitted.own_metric, kind) for space in model.SPACES for kind in GROUPS}
        assert set(fitted.temperatures_) == groups
        assert set(fitted.set_calibration_) == set(GROUPS)
        fitted.save(tmp_path / "model")
        again = load(tmp_path / "model")
        for kind in GROUPS:
            shares = fitted.predict_proba(zoo.X_new, candidates=kind)
            sets = fitted.predict_set(zoo.X_new, coverage=0.8, candidates=kind)
            best = fitted.recogniser(candidates=kind).top_k(zoo.X_new)[0]
            assert sets.shape == shares.shape
            assert np.take_along_axis(sets, best, axis=1).all()
            assert_array_equal(again.predict_proba(zoo.X_new, candidates=kind), shares)
            assert_array_equal(again.predict_set(zoo.X_new, coverage=0.8, candidates=kind), sets)
            smaller = fitted.predict_set(zoo.X_new, coverage=0.5, candidates=kind)
            assert not (smaller & ~sets).any()
            promise = fitted.set_calibration_[kind].at(0.8)
            assert promise.promised < promise.asked == 0.8
            assert 1 <= promise.size <= promise.n_candidates

    def test_open_sets(self, model, tmp_path):
        zoo = zoo_of(model)
        fitted = fit(model).calibrate_rejection(zoo.X, zoo.y, max_false_rejection=0.2, n_splits=2)
        assert {(space, group) for space, _, group in fitted.rejection_} == {
            (space, group) for space in model.SPACES for group in ("seen", "unseen", "all")
        }
        for threshold in fitted.rejection_.values():
            assert threshold.lost <= 0.2
            assert 0 <= threshold.auroc <= 1
        fitted.save(tmp_path / "model")
        again, seen = load(tmp_path / "model"), fitted.decision_function(zoo.X_new, candidates="seen")
        assert again.rejection_ == fitted.rejection_
        for group in ("seen", "unseen", "all"):
            chosen = fitted.rejection_[fitted.own_space, model.own_metric, group]
            best = fitted.predict_topk(zoo.X_new, 1, candidates=group, return_scores=True, seen_penalty=0)[1][:, 0]
            rival = chosen.temperature * logsumexp(seen / chosen.temperature, axis=1)
            sure = best - chosen.weight * np.maximum(rival - chosen.floor, 0) >= chosen.value
            found = fitted.predict(zoo.X_new, candidates=group, reject="auto", seen_penalty=0)
            assert [label is not None for label in found] == sure.tolist()
            named = fitted.predict(zoo.X_new, candidates=group, seen_penalty=0)
            assert_array_equal(found[sure], named[sure])
            assert_array_equal(again.predict(zoo.X_new, candidates=group, reject="auto", seen_penalty=0), found)
            if group == "unseen":
                assert chosen.auroc >= 0.5  # without its class no sample scores higher

    def test_judges_labels(self, model):
        zoo = zoo_of(model)
        wrong = np.array(zoo.y)
        wrong[3] = zoo.seen[-1]
        issues = find_label_issues(zoo.X, wrong, class_vectors=zoo.table, model=clone(model).set_params(progress=False))
        assert sorted(issues.indices.tolist()) == list(range(len(wrong)))
        assert 3 in issues.indices[: len(wrong) // 4]
        assert (np.diff(issues.probabilities) >= 0).all()
        assert (issues.suggested != issues.given).all()

    def test_a_class_is_forgotten(self, model):
        zoo = zoo_of(model)
        gone, *rest = zoo.unseen
        fitted = fit(model)
        before = fitted.decision_function(zoo.X_new, candidates=rest)
        assert fitted.remove_classes([gone]).unseen_classes_.tolist() == rest
        assert_allclose(fitted.decision_function(zoo.X_new, candidates="unseen"), before, rtol=1e-12)
        with pytest.raises(ValueError, match="was trained on"):
            fitted.remove_classes(zoo.seen[:1])

    def test_every_space(self, model):
        zoo = zoo_of(model)
        fitted = fit(model)
        for space in model.SPACES:
            named = fitted.recogniser(candidates="unseen", space=space).predict(zoo.X_new)
            assert np.mean(named == zoo.y_new) > 0.4

    def test_onnx_is_predict_where_it_is_linear(self, model, tmp_path):
        zoo = zoo_of(model)
        onnxruntime = pytest.importorskip("onnxruntime")
        recogniser = fit(model).recogniser(candidates="unseen")
        if not hasattr(recogniser, "to_onnx"):
            pytest.skip("not linear in the sample")
        recogniser.to_onnx(tmp_path / "m.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
        scores, index = session.run(None, {"features": zoo.X_new.astype(np.float32)})
        expected = recogniser.scores(zoo.X_new)
        assert_allclose(scores, expected, atol=1e-4 * np.abs(expected).max())
        assert np.mean(recogniser.labels[index] == recogniser.predict(zoo.X_new)) > 0.95


@EACH
class TestFiles:
    def test_files_and_pickles(self, model, tmp_path):
        zoo = zoo_of(model)
        fitted = fit(model).calibrate(zoo.X, zoo.y)
        fitted.save(tmp_path / "model", statistics=model.NEEDS == "statistics")
        for again in (
            load(tmp_path / "model"),
            type(model).load(tmp_path / "model"),
            pickle.loads(pickle.dumps(fitted)),
        ):
            assert type(again) is type(model)
            assert repr(again.get_params()) == repr(fitted.get_params())
            assert_array_equal(scores_of(again), scores_of(fitted))
            assert again.seen_penalty_ == fitted.seen_penalty_
        if model.NEEDS == "statistics":
            load(tmp_path / "model").partial_fit(zoo.X, zoo.y)
        if type(model) is not JCMSPL:
            with pytest.raises(ValueError, match=f"holds a {type(model).__name__}, not a JCMSPL"):
                JCMSPL.load(tmp_path / "model")


@EACH
def test_a_search_is_a_plain_loop(model):
    aligned = isinstance(model, FOR_ALIGNED)
    kind = {"aligned": aligned, "rectified": isinstance(model, SSE)}
    zoo = make_zoo(n_seen=9, noise=0.9, n_attributes=20 if aligned else 8, **kind)
    base = clone(model).set_params(progress=False)
    few = {"max_iter": 9, "tol": 0}
    base.set_params(**{name: few[name] for name in few.keys() & base.get_params().keys()})
    grid = dict.fromkeys(weight_names(model)[:2], (0.1, 10.0))
    if len(model.SPACES) > 1:
        grid["space"] = model.SPACES[:2]
    search = ClassSearchCV(base, grid, cv=3, extend=0).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    for number, params in enumerate(search.cv_results_["params"]):
        for fold, (train, test) in enumerate(ClassKFold(3).split(zoo.X, zoo.y)):
            one = clone(base).set_params(**params).fit(zoo.X[train], zoo.y[train], class_vectors=zoo.table)
            held_out = sorted(set(zoo.y[test].tolist()))
            expected = one.score(zoo.X[test], zoo.y[test], candidates=held_out)
            assert search.cv_results_[f"split{fold}_test_score"][number] == pytest.approx(expected, abs=1e-12)
    best = clone(base).set_params(**search.best_params_).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    assert_same_scores(search, best, zoo=zoo)
