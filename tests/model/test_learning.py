"""Learning: what goes into fit, and what comes out."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from jcmspl import JCMSPL, ClassTable
from jcmspl.exceptions import DivergenceError
from jcmspl.model import learning
from support.animals import make_zoo
from support.fits import ZOO, assert_same_model, fitted


def test_names_never_seen_are_recognised():
    model = fitted()
    assert model.score(ZOO.X_new, ZOO.y_new) > 0.8
    assert model.score(ZOO.X, ZOO.y, candidates="seen") > 0.9
    assert model.converged_


def test_all_forms_of_class_vectors_are_the_same():
    names, vectors = list(ZOO.table), ZOO.table.vectors
    frame = pd.DataFrame(vectors, index=names, columns=ZOO.table.attributes)
    expected = fitted()
    for form in (ZOO.attributes, frame):
        assert_same_model(JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=form), expected)
    # an array is known by row numbers
    numbers = {name: number for number, name in enumerate(names)}
    y, y_new = (np.array([numbers[name] for name in labels]) for labels in (ZOO.y, ZOO.y_new))
    by_number = JCMSPL().fit(ZOO.X, y, class_vectors=vectors)
    assert by_number.score(ZOO.X_new, y_new) == pytest.approx(expected.score(ZOO.X_new, ZOO.y_new))
    assert_array_equal(by_number.classes_, np.unique(y))


def test_all_forms_of_samples_are_the_same(tmp_path):
    expected = fitted()
    np.save(tmp_path / "X.npy", ZOO.X)
    wide = np.zeros((len(ZOO.X), 40))
    wide[:, ::2] = ZOO.X
    read_only = ZOO.X.copy()
    read_only.flags.writeable = False
    forms = {
        "fortran": np.asfortranarray(ZOO.X),
        "strided": wide[:, ::2],
        "read-only": read_only,
        "memory map": np.load(tmp_path / "X.npy", mmap_mode="r"),
        "frame": pd.DataFrame(ZOO.X),
        "list": ZOO.X.tolist(),
    }
    for form in forms.values():
        assert_same_model(JCMSPL().fit(form, ZOO.y, class_vectors=ZOO.table), expected)
    for y in (ZOO.y.tolist(), pd.Series(ZOO.y), pd.Series(ZOO.y, dtype="category"), ZOO.y.astype(object)):
        assert_same_model(JCMSPL().fit(ZOO.X, y, class_vectors=ZOO.table), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, bool])
def test_other_dtypes(dtype):
    X = ZOO.X > 0 if dtype is bool else (ZOO.X * 3).astype(dtype)
    expected = JCMSPL().fit(X.astype(np.float64), ZOO.y, class_vectors=ZOO.table)
    model = JCMSPL().fit(X, ZOO.y, class_vectors=ZOO.table)
    assert_same_model(model, expected, rtol=1e-6)
    assert np.mean(model.predict(X) == expected.predict(X.astype(np.float64))) > 0.98


def test_order_of_samples_and_of_classes_does_not_matter():
    rng = np.random.default_rng(1)
    order, classes = rng.permutation(len(ZOO.X)), rng.permutation(list(ZOO.table))
    expected = fitted()
    model = JCMSPL().fit(ZOO.X[order], ZOO.y[order], class_vectors=ZOO.table.select(classes.tolist()))
    assert_allclose(model.visual_projection_, expected.visual_projection_, rtol=1e-7, atol=1e-9)
    assert_array_equal(model.predict(ZOO.X_new), expected.predict(ZOO.X_new))


def test_number_of_threads_does_not_matter():
    zoo = make_zoo(n_seen=80, n_features=300)
    with threadpool_limits(1):
        one = fitted(zoo)
    with threadpool_limits(2):
        two = fitted(zoo)
    assert_same_model(one, two)
    assert_array_equal(one.predict(zoo.X_new), two.predict(zoo.X_new))


@settings(max_examples=25)
@given(
    st.lists(
        st.one_of(st.text(max_size=4), st.integers(-(2**66), 2**66), st.tuples(st.integers(), st.text(max_size=2))),
        min_size=5,
        max_size=5,
        unique=True,
    )
)
def test_labels_of_odd_types(labels):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((5, 4))
    numbers = np.repeat(np.arange(4), 6)
    X = vectors[numbers] @ rng.standard_normal((4, 6)) + 0.01 * rng.standard_normal((24, 6))
    y = [labels[number] for number in numbers]
    model = JCMSPL(space="visual").fit(X, y, class_vectors=dict(zip(labels, vectors, strict=True)))
    predicted = model.predict(X, candidates="seen").tolist()
    assert set(predicted) <= set(labels[:4])
    assert all(type(label) in {type(other) for other in labels} for label in predicted)
    assert np.mean([a == b for a, b in zip(predicted, y, strict=True)]) > 0.9
    assert model.unseen_classes_.tolist() == labels[4:]


def test_without_class_vectors_it_is_a_supervised_classifier():
    model = JCMSPL().fit(ZOO.X, ZOO.y)
    assert model.score(ZOO.X, ZOO.y) > 0.95
    assert len(model.unseen_classes_) == 0
    with pytest.raises(ValueError, match="trained without class_vectors"):
        model.add_classes({"new": np.zeros(6)})


def test_early_stop_is_told():
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 iterations.*Raise max_iter"):
        model = fitted(max_iter=2)
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(max_iter=2, tol=0)  # asked for exactly two


def test_diagnostics():
    model = fitted(random_state=0)
    assert np.all(np.diff(model.objective_) <= 0)
    assert_allclose(model.objective_terms_.sum(axis=1), model.objective_)
    assert model.objective_terms_.shape == (model.n_iter_, 5)
    stages = {"read", "normalise", "whiten", "visual_basis", "semantic_basis", "projections", "concepts", "other"}
    assert set(model.timings_) >= stages
    assert set(model.stationarity_) == {"visual", "semantic", "concepts"}


def test_timings_add_up_to_the_time_of_the_fit(monkeypatch):
    monkeypatch.setattr(learning, "warn_of_equal_vectors", lambda table, normalisation: time.sleep(0.05))
    started = time.perf_counter()
    timings = fitted().timings_
    assert all(seconds >= 0 for seconds in timings.values())
    assert timings["other"] >= 0.05  # a stage without a name
    assert sum(timings.values()) <= time.perf_counter() - started


def test_random_starts_are_seeded():
    kwargs = {"init": "random", "max_iter": 2, "tol": 0}
    one, two, three = (fitted(**kwargs, random_state=seed) for seed in (0, 0, 1))
    assert_array_equal(one.visual_projection_, two.visual_projection_)
    assert not np.allclose(one.visual_projection_, three.visual_projection_)
    seeds = [np.random.RandomState(0), np.random.default_rng(0)]
    assert all(fitted(**kwargs, random_state=seed).n_iter_ == 2 for seed in seeds)
    given_codes = np.random.default_rng(0).standard_normal((6, 6))
    given = fitted(init=given_codes, max_iter=2, tol=0)
    assert_array_equal(given.visual_projection_, one.visual_projection_)


def test_more_concepts_than_classes():
    assert fitted(n_concepts=10).transform(ZOO.X).shape == (len(ZOO.X), 10)


def test_a_huge_offset_is_told():
    with pytest.warns(RuntimeWarning, match=r"20 of the 20 features \(the first is number 0\).*subtract a constant"):
        fitted(ZOO._replace(X=ZOO.X + 1e6), feature_normalisation="center")
    with pytest.warns(RuntimeWarning, match="too small beside their mean.*subtract a constant"):
        fitted(ZOO._replace(X=ZOO.X + 1e9), feature_normalisation="center")
    X = ZOO.X.copy()
    X[:, 3] = 1e6  # a constant column is no reason to warn
    fitted(ZOO._replace(X=X), feature_normalisation="zscore")


def test_classes_that_cannot_be_told_apart_are_told():
    lines = {name: (i + 1) * np.ones(8) for i, name in enumerate(ZOO.table)}
    with pytest.warns(
        RuntimeWarning, match="same class vector after 'sample_l2\\+center_unit'.*another class_normalisation"
    ):
        JCMSPL(max_iter=2, tol=0).fit(ZOO.X, ZOO.y, class_vectors=lines)
    JCMSPL(class_normalisation="center", max_iter=2, tol=0).fit(ZOO.X, ZOO.y, class_vectors=lines)


def test_samples_that_do_not_differ_are_told():
    with pytest.warns(RuntimeWarning, match="all samples are the same"):
        fitted(ZOO._replace(X=np.ones_like(ZOO.X)))


def bad(X=ZOO.X, y=ZOO.y, table=ZOO.table, **parameters):
    return JCMSPL(**parameters).fit(X, y, class_vectors=table)


def with_nan():
    X = ZOO.X.copy()
    X[17, 4] = np.nan
    return X


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: bad(X=with_nan()), ValueError, "sample 17 holds NaN"),
        (lambda: bad(y=["yeti", *ZOO.y[1:]]), ValueError, "no class vectors for 1 of the 7 classes in y: 'yeti'"),
        (lambda: bad(y=ZOO.y[:-1]), ValueError, "90 samples in X, 89 labels in y"),
        (lambda: bad(y=None), ValueError, "requires y to be passed"),
        (lambda: bad(y=[None] * 90), ValueError, "missing label at position 0"),
        (lambda: bad(y=np.linspace(0, 1, 90)), ValueError, "Unknown label type: continuous"),
        (lambda: bad(y=np.zeros((90, 2))), ValueError, "1d array of labels"),
        (lambda: bad(y=np.full(90, ZOO.seen[0])), ValueError, "only one class, 'animal"),
        (lambda: bad(table={"a": [1], "b": [1, 2]}), ValueError, "same length"),
        (lambda: bad(X=ZOO.X[:, :0]), ValueError, "0 feature"),
        (lambda: bad(X=ZOO.X[:0], y=ZOO.y[:0]), ValueError, "0 sample"),
        (lambda: bad(X=ZOO.X + 1j), ValueError, "Complex data not supported"),
        (lambda: bad(X=iter([(ZOO.X, ZOO.y)])), TypeError, "leave y out"),
        (lambda: bad(X=np.ma.masked_greater(ZOO.X, 1)), ValueError, "X has masked values"),
        (lambda: bad(init=None), (TypeError, ValueError), "init"),
        (lambda: bad(seen_penalty="auto"), TypeError, "seen_penalty must be a number"),
        (lambda: bad(X=iter([]), y=None), ValueError, "no samples: the iterator gave no chunk"),
        (lambda: bad(X=iter([1]), y=None), TypeError, r"chunk 0 is not a pair \(X, y\)"),
        (lambda: bad(X=iter([(ZOO.X, ZOO.y[:3])]), y=None), ValueError, "chunk 0 has 90 samples but 3 labels"),
        (lambda: bad(X=iter([(ZOO.X, ZOO.y), (ZOO.X[:, 1:], ZOO.y)]), y=None), ValueError, "19 features"),
        (lambda: bad(semantic_match=-1), ValueError, "semantic_match must be a finite number of at least 0"),
        (lambda: bad(class_match="much"), TypeError, "class_match must be a number"),
        (lambda: bad(space="audio"), ValueError, "space must be one of"),
        (lambda: bad(metric="cosin"), ValueError, "metric must be one of"),
        (lambda: bad(init="zeros"), ValueError, "init must be"),
        (lambda: bad(init=np.ones((3, 3))), ValueError, r"must have shape \(n_concepts, n_classes\) = \(6, 6\)"),
        (lambda: bad(n_concepts=3), ValueError, "at least the number of classes, 6"),
        (lambda: bad(max_iter=0), ValueError, "max_iter must be from 1"),
        (lambda: bad(temperature=0), ValueError, "temperature must be a finite number above 0"),
        (lambda: bad(seen_penalty=np.inf), ValueError, "seen_penalty must be a finite number"),
        (lambda: bad(feature_normalisation="l1"), ValueError, "feature_normalisation must be one of"),
        (lambda: bad(visual_reconstruction=1e308), DivergenceError, "overflow|not a number|diverge"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_bad_parameters_are_found_before_the_data_is_read():
    def chunks():
        raise AssertionError("read")
        yield

    with pytest.raises(ValueError, match="space"):
        JCMSPL(space="audio").fit(chunks(), class_vectors=ZOO.table)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = fitted()
    before = dict(vars(model))

    def chunks():
        yield ZOO.X[:, :5], ZOO.y
        raise KeyboardInterrupt

    for bad_samples in (chunks(), iter([(ZOO.X[:, :4], ["yeti"] * 90)])):
        with pytest.raises((KeyboardInterrupt, ValueError)):
            model.fit(bad_samples, class_vectors=ZOO.table)
        assert vars(model) == before


@pytest.mark.filterwarnings("ignore:the class vector of .* is all zero")
def test_degenerate_data_gives_finite_answers():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 4)
    vectors = {"a": [1.0, 0], "b": [0, 1.0], "c": [1, 1], "d": [0.0, 0.0]}
    for X in (
        rng.standard_normal((12, 1)),
        np.ones((12, 5)),
        np.zeros((12, 5)),
        rng.standard_normal((12, 50)),
        np.outer(rng.standard_normal(12), rng.standard_normal(6)),
        rng.standard_normal((12, 3)) * 1e-150,
        rng.standard_normal((12, 3)) * 1e150,
    ):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "after normalisation all samples are the same")
            model = JCMSPL(max_iter=3, tol=0).fit(X, y, class_vectors=vectors)
        for space in ("semantic", "visual", "concept"):
            model.space = space
            assert np.isfinite(model.decision_function(X)).all()
            assert np.isfinite(model.predict_proba(X)).all()


def test_class_table_may_hold_other_classes_only_by_name():
    table = ClassTable.of(ZOO.table)
    model = JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=table)
    assert_array_equal(model.unseen_classes_, ZOO.unseen)
    assert set(model.class_table_) == set(table)


@pytest.mark.parametrize("step", ["center_unit", "zscore_unit"])
def test_weights_mean_the_same_in_any_units(step):
    """The number of samples, of features and of attributes does not matter either, as far as copies of them tell."""
    X, vectors = ZOO.X + np.arange(20), ZOO.table.vectors

    def scores(X, y, vectors, normalisation=step):
        model = JCMSPL(feature_normalisation=normalisation, class_normalisation=normalisation)
        model.fit(X, y, class_vectors=ClassTable(list(ZOO.table), vectors))
        return model.decision_function(X[:30])

    expected = scores(X, ZOO.y, vectors)
    tolerance = 1e-7 * np.abs(expected).max()
    assert_allclose(scores(1000 * X, ZOO.y, vectors), expected, atol=tolerance)
    assert_allclose(scores(X, ZOO.y, 0.01 * vectors), expected, atol=tolerance)
    assert_allclose(scores(np.tile(X, (1, 3)), ZOO.y, np.tile(vectors, (1, 2))), expected, atol=tolerance)
    assert_allclose(scores(np.tile(X, (2, 1)), np.tile(ZOO.y, 2), vectors), expected, atol=tolerance)
    # the names without _unit do not have that: scores differ by more than a factor
    raw, tripled = (scores(np.tile(X, (1, n)), ZOO.y, vectors, step.removesuffix("_unit")) for n in (1, 3))
    assert not np.allclose(tripled / np.abs(tripled).max(), raw / np.abs(raw).max(), rtol=0, atol=1e-3)
