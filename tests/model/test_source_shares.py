"""Class vectors of several sources, and what each counts for."""

import json
import pickle
import struct

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from jcmspl import JCMSPL, JCMSPLCV, ClassSearchCV, ClassTable, load
from jcmspl.io.archive import ModelFileError
from jcmspl.methods import ESZSL, RPL, SAE, RidgeVS
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8, noise=0.8)
TEXT = ClassTable(list(ZOO.table), np.random.default_rng(3).standard_normal((ZOO.table.n_classes, 5)))
TABLE = ClassTable.joined(look=ZOO.table, text=TEXT)
SHARES = (3, 1)
BY_HAND = ClassTable.joined(look=ZOO.table, text=TEXT, shares=SHARES)
MODELS = [
    JCMSPL(),
    JCMSPL(class_normalisation="center", space="visual"),
    JCMSPL(class_kernel="rbf", class_normalisation="none", metric="euclidean", space="concept"),
    RidgeVS(class_kernel="poly2"),
    RPL(),
    SAE(),
    ESZSL(),
]
EACH = pytest.mark.parametrize("model", MODELS, ids=repr)


def fit(model, table=TABLE, **parameters):
    return clone(model).set_params(progress=False, **parameters).fit(ZOO.X, ZOO.y, class_vectors=table)


def assert_same(one, two, rtol=1e-8, vectors=(None, None)):
    scores = [m.decision_function(ZOO.X_new, class_vectors=v) for m, v in zip((one, two), vectors, strict=True)]
    assert_allclose(*scores, atol=rtol * np.abs(scores[1]).max())


@EACH
def test_as_if_they_had_been_joined_so(model):
    found, expected = fit(model, source_shares=SHARES), fit(model, BY_HAND)
    assert_same(found, expected)
    assert_same(found, fit(model, source_shares=[0.75, 0.25]))
    with pytest.raises(AssertionError):
        assert_same(found, fit(model))
    assert_same(fit(model, source_shares=(2, 2)), fit(model))
    # classes that come later, joined alike, in another order, or as a plain table of that width
    new = dict(zip("abc", np.random.default_rng(4).random((3, 8)), strict=True))
    text = dict(zip("abc", np.random.default_rng(5).random((3, 5)), strict=True))
    named = pd.DataFrame(new, ZOO.table.attributes).T
    then = ClassTable.joined(look=named, text=text)
    hand = ClassTable.joined(look=new, text=text, shares=SHARES).vectors
    later = ClassTable(list(then), hand)
    turned = ClassTable.joined(text=text, look=named.iloc[:, ::-1])
    unnamed = ClassTable.joined(look=new, text=text)
    for given in (then, turned, unnamed, {name: then[name] for name in then}):
        assert_same(found, expected, vectors=(given, later))
    assert_same(found.add_classes(then), expected.add_classes(later))
    assert found.class_table_.sources == TABLE.sources


@EACH
def test_a_source_without_a_share_does_not_count(model):
    other = ClassTable(list(ZOO.table), np.random.default_rng(9).standard_normal((ZOO.table.n_classes, 5)))
    scrambled = ClassTable.joined(look=ZOO.table, text=other)
    assert_same(fit(model, source_shares=(1, 0)), fit(model, scrambled, source_shares=(1, 0)))


def test_reconstruction_is_in_the_units_of_the_table():
    found, expected = fit(JCMSPL(), source_shares=SHARES), fit(JCMSPL(), BY_HAND)
    ratio = np.repeat(np.sqrt([0.75 / 0.5, 0.25 / 0.5]), [8, 5])
    assert_allclose(found.reconstruct_semantic(ZOO.X), expected.reconstruct_semantic(ZOO.X) / ratio, atol=1e-8)
    assert_allclose(found.reconstruct_visual(), expected.reconstruct_visual(), atol=1e-8)
    silent = fit(JCMSPL(), source_shares=(1, 0)).reconstruct_semantic(ZOO.X)
    assert not silent[:, 8:].any()
    assert np.isfinite(silent).all()
    assert found.explain(ZOO.X_new[:1], candidates="unseen")[0].attributes[-1].startswith("text: ")


def test_parts_and_calibration():
    found, expected = fit(JCMSPL(), source_shares=SHARES), fit(JCMSPL(), BY_HAND)
    assert found.calibrate(ZOO.X, ZOO.y).seen_penalty_ == pytest.approx(expected.calibrate(ZOO.X, ZOO.y).seen_penalty_)
    in_parts = JCMSPL(source_shares=SHARES, progress=False)
    for part in (slice(0, 60), slice(60, None)):
        in_parts.partial_fit(ZOO.X[part], ZOO.y[part], class_vectors=TABLE)
    assert_same(in_parts, fit(JCMSPL(), BY_HAND))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_files_and_pickles(tmp_path, kernel):
    model = fit(JCMSPL(), source_shares=SHARES, class_kernel=kernel)
    model.save(tmp_path / "model", statistics=True)
    new = ClassTable.joined(
        look={"yeti": np.ones(8), "elf": np.arange(8)}, text={"yeti": np.ones(5), "elf": -np.ones(5)}
    )
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert again.source_shares == SHARES
        assert again.class_table_ == model.class_table_
        for given in (None, new, {name: new[name] for name in new}):
            scores = [one.decision_function(ZOO.X_new, class_vectors=given) for one in (again, model)]
            assert_array_equal(*scores)
        again.partial_fit(ZOO.X[:20], ZOO.y[:20])
        assert again.class_table_.sources == TABLE.sources
    plain = fit(JCMSPL())  # of several sources, but with no shares
    plain.save(tmp_path / "plain")
    assert load(tmp_path / "plain").class_table_.sources == TABLE.sources


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content.update(sources=[["look", 8], ["text", 6]]),
        lambda content: content.update(sources=[["look", 8.5], ["text", 4.5]]),
        lambda content: content.update(sources=7),
        lambda content: content["parameters"].update(source_shares=[-1, 2]),
        lambda content: content["parameters"].update(source_shares=5),
        lambda content: content["parameters"].update(class_weight={"zebra": 1}),
        lambda content: content["parameters"].update(class_weight=[[["str", "zebra"], -1]]),
        lambda content: content["parameters"].update(class_weight=[[["int", "zebra"], 1]]),
    ],
)
def test_damaged_files(tmp_path, damage):
    path = tmp_path / "model"
    fit(RidgeVS(), source_shares=SHARES).save(path)
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    content = json.loads(header["__metadata__"]["content"])
    damage(content)
    header["__metadata__"]["content"] = json.dumps(content)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + size :])
    with pytest.raises(ModelFileError):
        load(path)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fit(JCMSPL(), ZOO.table, source_shares=SHARES), ValueError, "join them, class_vectors=ClassTable.joi"),
        (lambda: JCMSPL(source_shares=SHARES).fit(ZOO.X, ZOO.y), ValueError, "for class vectors of several sources"),
        (lambda: fit(JCMSPL(), source_shares=(1, 2, 3)), ValueError, "has 3 numbers, .* 2 sources: 'look', 'text'"),
        (lambda: fit(JCMSPL(), source_shares=(0, 0)), ValueError, "source_shares must have a number above 0"),
        (lambda: fit(JCMSPL(), source_shares=(1, -1)), ValueError, "source_shares must be a finite number of at least"),
        (lambda: fit(JCMSPL(), source_shares=1), TypeError, "source_shares must be None or a tuple of numbers"),
        (lambda: fit(JCMSPL(), source_shares="1, 2"), TypeError, "source_shares must be None or a tuple of numbers"),
        (lambda: fit(JCMSPLCV(source_shares=[(1, -1)])), ValueError, "source_shares must be a finite number"),
        (lambda: fit(JCMSPLCV(source_shares=[(1, 1), 3])), TypeError, "source_shares must be None or a tuple"),
        (lambda: fit(ClassSearchCV(RidgeVS(source_shares=SHARES)), ZOO.table), ValueError, "leave source_shares out"),
        (
            lambda: fit(JCMSPL()).predict(ZOO.X, class_vectors=ClassTable.joined(a=ZOO.table, b=TEXT)),
            ValueError,
            "joined of other sources",
        ),
    ],
)
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()


AXIS = [(1, 1), (3, 1), (1, 3), (1, 0)]
SEARCHES = [
    ClassSearchCV(RidgeVS(), {"alpha": [0.1, 1.0], "source_shares": AXIS}, cv=3),
    JCMSPLCV(class_match=1, semantic_match=1, semantic_reconstruction=1, visual_reconstruction=1, cv=3).set_params(
        source_shares=AXIS, space="semantic"
    ),
]


@pytest.mark.parametrize("search", SEARCHES, ids=["ClassSearchCV", "JCMSPLCV"])
def test_searches_try_them(search):
    fitted = fit(search)
    tried = fitted.cv_results_["param_source_shares"]
    assert sorted(set(tried)) == sorted(AXIS)
    assert [setting["source_shares"] for setting in fitted.cv_results_["params"]] == list(tried)
    assert fitted.best_estimator_.source_shares == fitted.best_params_["source_shares"]
    assert len(fitted.cv_results_table_) == len(tried)
    for shares in AXIS:  # each as if the table had been joined so
        alone = clone(search)
        if isinstance(search, JCMSPLCV):
            alone.set_params(source_shares=None)
        else:
            alone.set_params(param_grid={"alpha": [0.1, 1.0]})
        expected = fit(alone, ClassTable.joined(look=ZOO.table, text=TEXT, shares=shares))
        found = [
            score
            for score, setting in zip(fitted.cv_results_["mean_test_score"], fitted.cv_results_["params"], strict=True)
            if setting["source_shares"] == shares
        ]
        few = min(len(found), len(expected.cv_results_["params"]))
        assert_allclose(found[:few], expected.cv_results_["mean_test_score"][:few], atol=1e-12)


def test_one_value_needs_no_list():
    for value in ((3, 1), [(3, 1)], [[3, 1]]):
        search = ClassSearchCV(RidgeVS(), {"alpha": 1.0, "source_shares": value}, cv=2)
        assert fit(search).best_params_["source_shares"] == (3, 1)
        assert fit(JCMSPLCV(source_shares=value, cv=2, space="semantic", extend=0)).source_shares == value
    both = ClassSearchCV(RidgeVS(), {"alpha": 1.0, "source_shares": [None, (3, 1)]}, cv=2)
    assert list(fit(both).cv_results_["param_source_shares"]) == [None, (3, 1)]
