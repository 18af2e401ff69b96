"""Weights of samples and of classes, in every method."""

import copy
import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from jcmspl import JCMSPL, JCMSPLCV, ClassSearchCV, cli, load
from jcmspl.core import Statistics
from jcmspl.methods import ESZSL, FPL, RPL, SAE, RidgeVS
from jcmspl.model import registry
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8, noise=0.8)
RNG = np.random.default_rng(5)
REPEATS = RNG.integers(0, 4, len(ZOO.X))
BY_CLASS = {name: float(i % 3 + 1) for i, name in enumerate(ZOO.seen)}
MODELS = [
    JCMSPL(),
    JCMSPL(feature_normalisation="power+sample_l2+center+whiten", space="visual"),
    JCMSPL(feature_normalisation="zscore", class_kernel="rbf", metric="euclidean", space="concept"),
    RidgeVS(),
    FPL(feature_normalisation="feature_l2"),
    RPL(),
    SAE(),
    ESZSL(),
]
EACH = pytest.mark.parametrize("model", MODELS, ids=repr)


def fit(model, X=ZOO.X, y=ZOO.y, **options):
    return clone(model).set_params(progress=False).fit(X, y, class_vectors=ZOO.table, **options)


def repeated(model, repeats=REPEATS):
    return fit(model, np.repeat(ZOO.X, repeats, axis=0), np.repeat(ZOO.y, repeats))


def assert_same(one, two, rtol=1e-7):
    assert one.classes_.tolist() == two.classes_.tolist()
    expected = two.decision_function(ZOO.X_new)
    assert_allclose(one.decision_function(ZOO.X_new), expected, atol=rtol * np.abs(expected).max())


@EACH
def test_a_whole_weight_is_as_good_as_repeating(model):
    weighted = fit(model, sample_weight=REPEATS)
    assert_same(weighted, repeated(model))
    with pytest.raises(AssertionError):
        assert_same(weighted, fit(model))


@EACH
def test_class_weights_are_weights_of_samples(model):
    weights = np.array([BY_CLASS[label] for label in ZOO.y])
    plain = fit(model, sample_weight=REPEATS * weights)
    assert_same(fit(clone(model).set_params(class_weight=BY_CLASS), sample_weight=REPEATS), plain)
    kept = np.flatnonzero(np.arange(len(ZOO.y)) % 3 != 0)
    counts = {name: np.sum(ZOO.y[kept] == name) for name in ZOO.seen}
    share = len(kept) / len(ZOO.seen)
    balanced = fit(clone(model).set_params(class_weight="balanced"), ZOO.X[kept], ZOO.y[kept])
    by_hand = fit(model, ZOO.X[kept], ZOO.y[kept], sample_weight=[share / counts[name] for name in ZOO.y[kept]])
    assert_same(balanced, by_hand)
    assert_allclose(balanced.statistics_.counts, share)


@EACH
def test_chunks_and_parts(model):
    thirds = np.array_split(np.arange(len(ZOO.X)), 3)
    expected = fit(clone(model).set_params(class_weight=BY_CLASS), sample_weight=REPEATS)
    chunks = [(ZOO.X[rows], ZOO.y[rows], REPEATS[rows]) for rows in thirds]
    for given in (chunks, iter(chunks)):
        assert_same(fit(clone(model).set_params(class_weight=BY_CLASS), given, None), expected)
    in_parts = clone(model).set_params(class_weight=BY_CLASS, progress=False)
    for X, y, weights in chunks:
        in_parts.partial_fit(X, y, class_vectors=ZOO.table, sample_weight=weights)
    assert_same(in_parts, expected)
    some_weighted = [chunks[0], (ZOO.X[thirds[1]], ZOO.y[thirds[1]]), chunks[2]]
    weights = np.concatenate([REPEATS[thirds[0]], np.ones(len(thirds[1])), REPEATS[thirds[2]]])
    assert_same(fit(model, iter(some_weighted), None), fit(model, sample_weight=weights))


def test_what_weighs_nothing_is_as_if_it_were_not_there():
    X, y = ZOO.X.copy(), ZOO.y.astype(object)
    gone = y == ZOO.seen[2]
    X[gone], y[np.flatnonzero(gone)[0]] = np.nan, "a class without a vector"
    weights = np.where(gone, 0.0, 1.0)
    for model in (JCMSPL(), JCMSPL(feature_normalisation="auto_power+sample_l2+center")):
        weighted = fit(model, X, y, sample_weight=weights)
        assert_same(weighted, fit(model, ZOO.X[~gone], ZOO.y[~gone]))
        assert ZOO.seen[2] in weighted.unseen_classes_
    X = np.abs(ZOO.X)
    X[0] = -1.0  # which would decide against roots
    auto = fit(JCMSPL(feature_normalisation="auto_power+center"), X, sample_weight=np.arange(len(X)) > 0)
    assert auto.feature_normalisation_.scaling.power
    left_out = fit(JCMSPL(class_weight={ZOO.seen[2]: 0}))
    assert_same(left_out, fit(JCMSPL(), ZOO.X[~gone], ZOO.y[~gone]))
    chunks = [(ZOO.X[gone], ZOO.y[gone], np.zeros(gone.sum())), (ZOO.X[~gone], ZOO.y[~gone])]
    assert_same(fit(JCMSPL(), chunks, None), left_out)


def test_forms_that_weights_come_in():
    weights = RNG.random(len(ZOO.X))
    expected = fit(RidgeVS(), sample_weight=weights)
    for given in (weights.tolist(), pd.Series(weights, index=range(9, 9 + len(weights))), weights.astype(np.float64)):
        assert_same(fit(RidgeVS(), sample_weight=given), expected)
    tiny = fit(JCMSPL(), sample_weight=np.full(len(ZOO.X), 1e-90))
    assert_same(tiny, fit(JCMSPL()), rtol=1e-5)  # all terms of the objective scale alike
    whitened = JCMSPL(feature_normalisation="sample_l2+center+whiten")
    assert_same(fit(whitened, sample_weight=np.full(len(ZOO.X), 1e-3)), fit(whitened), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fit(JCMSPL(), sample_weight=np.ones(3)), ValueError, "sample_weight must have one number for each"),
        (lambda: fit(JCMSPL(), sample_weight=-REPEATS), ValueError, "sample_weight must be 0 or a number from"),
        (lambda: fit(JCMSPL(), sample_weight=REPEATS * np.nan), ValueError, "sample_weight must be 0 or"),
        (lambda: fit(JCMSPL(), sample_weight=0 * REPEATS), ValueError, "weights of all samples are zero"),
        (lambda: fit(JCMSPL(), iter([(ZOO.X, ZOO.y, 0 * REPEATS)]), None), ValueError, "all weights are zero"),
        (lambda: fit(JCMSPL(), sample_weight=ZOO.y == ZOO.seen[0]), ValueError, "y holds only one class"),
        (lambda: fit(JCMSPL(), [(ZOO.X, ZOO.y)], None, sample_weight=REPEATS), TypeError, "each chunk brings its"),
        (lambda: fit(JCMSPL(), iter([(ZOO.X, ZOO.y, REPEATS, 1)]), None), TypeError, "chunk 0 is not a pair"),
        (lambda: fit(JCMSPL(), iter([(ZOO.X, ZOO.y, REPEATS[1:])]), None), ValueError, "one number for each"),
        (lambda: fit(JCMSPL(class_weight={"yeti": 2})), ValueError, "1 of the 1 classes in class_weight: 'yeti'"),
        (lambda: fit(JCMSPLCV(class_weight={"yeti": 2})), ValueError, "1 of the 1 classes in class_weight: 'yeti'"),
        (
            lambda: JCMSPL(class_weight={"yeti": 2}).partial_fit(ZOO.X, ZOO.y, class_vectors=ZOO.table),
            ValueError,
            "1 of the 1 classes in class_weight: 'yeti'",
        ),
        (lambda: fit(JCMSPL(class_weight="even")), ValueError, "class_weight must be None, 'balanced' or a dict"),
        (lambda: fit(JCMSPL(class_weight="balanced"), [(ZOO.X, ZOO.y)], None), ValueError, "with chunks .* a dict"),
        (
            lambda: JCMSPL(class_weight="balanced").partial_fit(ZOO.X, ZOO.y),
            ValueError,
            "with partial_fit",
        ),
        (
            lambda: JCMSPLCV(class_weight="balanced").partial_fit(ZOO.X, ZOO.y),
            ValueError,
            "with partial_fit",
        ),
        (
            lambda: JCMSPL(class_weight=BY_CLASS).fit_from_statistics(Statistics(20, 8)),
            ValueError,
            "does not apply to statistics",
        ),
        (
            lambda: fit(ClassSearchCV(RidgeVS(), {"class_weight": [None, "balanced"]})),
            ValueError,
            "class_weight cannot be tuned",
        ),
    ],
)
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_statistics_with_weights():
    numbers = np.array([ZOO.seen.index(name) for name in ZOO.y])
    statistics = Statistics.from_samples(ZOO.X, numbers, unit_rows=True, sample_weight=REPEATS)
    model = RidgeVS(progress=False).fit_from_statistics(statistics, ZOO.seen, class_vectors=ZOO.table)
    assert_same(model, fit(RidgeVS(), sample_weight=REPEATS))


@pytest.mark.parametrize("weights", [REPEATS, REPEATS * 0.3], ids=["whole", "parts"])
@pytest.mark.parametrize(
    "class_weight", [None, "balanced", {np.str_(name): np.float32(weight) for name, weight in BY_CLASS.items()}]
)
def test_files_and_copies(tmp_path, weights, class_weight):
    model = fit(JCMSPL(class_weight=class_weight), sample_weight=weights)
    model.save(tmp_path / "model", statistics=True)
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(again.decision_function(ZOO.X_new), model.decision_function(ZOO.X_new))
        assert_array_equal(again.statistics_.counts, model.statistics_.counts)
        assert again.class_weight == class_weight
        if class_weight != "balanced":
            further = [
                one.partial_fit(ZOO.X[:9], ZOO.y[:9], sample_weight=np.full(9, 0.7))
                for one in (again, copy.copy(model))
            ]
            assert_same(*further, rtol=1e-12)


def test_whole_counts_are_stored_as_they_always_were(tmp_path):
    from safetensors.numpy import load_file

    for weights, kind in ((None, "i"), (REPEATS, "i"), (REPEATS * 0.3, "f")):
        fit(RidgeVS(), sample_weight=weights).save(tmp_path / "model", statistics=True, overwrite=True)
        assert load_file(tmp_path / "model")["counts"].dtype.kind == kind


def test_calibration_weighs_classes_as_the_model_does():
    even = fit(JCMSPL(class_match=np.inf, class_weight=dict.fromkeys(ZOO.seen, 1.0))).calibrate(ZOO.X, ZOO.y)
    assert even.seen_penalty_ == pytest.approx(fit(JCMSPL(class_match=np.inf)).calibrate(ZOO.X, ZOO.y).seen_penalty_)
    uneven = {name: 100.0 if i % 2 else 0.01 for i, name in enumerate(ZOO.seen)}
    biases = [
        fit(JCMSPL(class_match=np.inf, class_weight=how)).calibrate(ZOO.X, ZOO.y).seen_penalty_
        for how in (uneven, "balanced")
    ]
    assert biases[0] != pytest.approx(even.seen_penalty_)
    assert biases[1] == pytest.approx(even.seen_penalty_)  # there are as many samples of each class


def test_metadata_is_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, RidgeVS(progress=False))
        pipeline.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table, sample_weight=REPEATS)
    assert_array_equal(pipeline[-1].statistics_.counts, fit(RidgeVS(), sample_weight=REPEATS).statistics_.counts)


@pytest.fixture
def reads_samples():
    """A method that reads the samples themselves, and one that reads their weights too."""

    class Blind(RidgeVS):
        PAPER: ClassVar = "made up"
        NEEDS: ClassVar = "samples"
        ARRAYS: ClassVar = {"sums": ("c", "m"), "expected": ("c", "m"), **RidgeVS.ARRAYS}

        def _prepare(self, training):
            return training, super()._prepare(training)

        def _fit(self, prepared, monitor):
            training, moments = prepared
            weights, done = training.sample_weights, 0
            sums = np.zeros((len(training.class_vectors), 20))
            for Z, numbers in training.samples(size=7):
                of_block = 1 if weights is None else weights[done : done + len(Z), None]
                np.add.at(sums, numbers, Z * of_block)
                done += len(Z)
            return {"sums": sums, "expected": training.statistics.class_sums, **super()._fit(moments, monitor)}

    class Weighing(Blind):
        PAPER: ClassVar = "made up"
        READS_WEIGHTS: ClassVar = True

    yield Blind, Weighing
    registry.unregister("Blind")
    registry.unregister("Weighing")


def test_methods_that_read_samples(reads_samples):
    blind, weighing = reads_samples
    with pytest.raises(ValueError, match="Blind cannot weigh samples"):
        fit(blind(), sample_weight=REPEATS)
    with pytest.raises(ValueError, match="cannot weigh samples: leave sample_weight"):
        fit(ClassSearchCV(blind()), sample_weight=REPEATS)
    models = [fit(blind()), fit(weighing(), sample_weight=REPEATS), fit(weighing(class_weight=BY_CLASS))]
    models.append(fit(ClassSearchCV(weighing(), {"alpha": 1.0}, cv=2), sample_weight=REPEATS).best_estimator_)
    models.append(models[2].calibrate(ZOO.X, ZOO.y))
    for model in models:
        assert_allclose(model.arrays_["sums"], model.arrays_["expected"], atol=1e-9)
    assert_same(models[1], fit(RidgeVS(), sample_weight=REPEATS))


@pytest.mark.parametrize("value", ["balanced", "none"])
def test_command_line(tmp_path, value, capsys):
    output = str(tmp_path / "m.safetensors")
    assert not cli.main(
        ["fit", "digits", "--model", "RidgeVS", "--set", f"class_weight={value}", "-o", output, "--quiet"]
    )
    assert load(output).class_weight == (None if value == "none" else value)


SEARCHES = [ClassSearchCV(RidgeVS(), cv=3), JCMSPLCV(cv=3)]


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_searches(search):
    weighted = fit(search, sample_weight=REPEATS)
    expected = repeated(search)
    for name in ("mean_test_score", "split0_test_score"):
        assert_allclose(weighted.cv_results_[name], expected.cv_results_[name], atol=1e-12)
    assert weighted.best_params_ == expected.best_params_
    assert_same(weighted.best_estimator_, expected.best_estimator_)
    first = slice(0, 5)  # what is tried later depends on these
    plain = fit(search).cv_results_["mean_test_score"]
    assert not np.allclose(weighted.cv_results_["mean_test_score"][first], plain[first])
    assert_same(*(one.partial_fit(ZOO.X, ZOO.y, sample_weight=REPEATS).best_estimator_ for one in (weighted, expected)))


def test_a_search_passes_over_what_weighs_nothing():
    gone = ZOO.y == ZOO.seen[2]
    X = np.where(gone[:, None], np.nan, ZOO.X)
    search = ClassSearchCV(RidgeVS(feature_normalisation="auto_power+sample_l2+center"), cv=3)
    weighted, expected = fit(search, X, sample_weight=~gone), fit(search, ZOO.X[~gone], ZOO.y[~gone])
    assert_allclose(weighted.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    assert_same(weighted.best_estimator_, expected.best_estimator_)
    X[np.flatnonzero(~gone)[4], 2] = np.inf
    with pytest.raises(ValueError, match=rf"first at index \({np.flatnonzero(~gone)[4]}, 2\)"):
        fit(search, X, sample_weight=~gone)
    balanced = JCMSPLCV(class_match=1, semantic_match=1, semantic_reconstruction=1, cv=2, class_weight="balanced")
    assert fit(balanced).best_estimator_.class_weight == "balanced"
    assert_allclose(fit(balanced, sample_weight=~gone).statistics_.counts, np.sum(~gone) / 7)
