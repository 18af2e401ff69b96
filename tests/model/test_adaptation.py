"""Adaptation to unlabelled samples: what it does, what it takes, what it leaves behind."""

import contextlib
import copy
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file
from scipy.special import softmax

from jcmspl import JCMSPL, ClassSearchCV, ClassTable, evaluate, load
from jcmspl.data.samples import PartResults
from jcmspl.datasets import load_dataset, load_digits
from jcmspl.datasets.digits import PIXEL_SETTINGS
from jcmspl.exceptions import ModelFileError
from jcmspl.io.archive import Archive, read_archive, write_archive
from jcmspl.methods import RidgeVS
from jcmspl.model import adaptation_rounds
from jcmspl.model.adaptation import Adaptation, neighbour_agreement
from jcmspl.model.adaptation_rounds import Directions, Settings, StoredDirections, moved_to_samples
from jcmspl.model.adapting import AdaptationTrials
from jcmspl.model.persistence import FORMAT_VERSION
from jcmspl.model.recogniser import LinearScorer
from support.animals import make_zoo

ZOO = make_zoo(n_seen=10, n_unseen=5, per_class=30, noise=1.0)
UNSEEN = ZOO.unseen


def fitted(**parameters):
    return JCMSPL(space="visual", **parameters).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


@pytest.fixture(scope="module")
def plain():
    return fitted()


@pytest.fixture
def model(plain):
    return copy.copy(plain)


def adapted_by_the_book(Z, W, offsets, bias, labelled, pull, temperature):
    """The definition, in float64, with all samples at once."""
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    U, n = Z / lengths, len(Z)
    S0 = (Z @ W.T + offsets + bias) / lengths
    P0 = W / np.linalg.norm(W, axis=1, keepdims=True)
    logits, Q = 1.3 * S0, P0
    for _ in range(15):
        r = softmax(logits / temperature, axis=1)
        anchor = pull * min(17, (r.sum(axis=0) ** 2).sum() / n)
        new = (anchor + labelled)[:, None] * P0 + r.T @ U
        new /= np.linalg.norm(new, axis=1, keepdims=True)
        moved, Q = np.linalg.norm(new - Q, axis=1).max(), new
        logits = U @ Q.T + 0.3 * S0 + bias / lengths
        if moved <= 1e-4:
            break
    return Q, (Z @ Q.T + 0.3 * (Z @ W.T + offsets)) / 1.3


def problem(seed, n=60, m=6, c=4):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((c, m))
    Z = W[rng.integers(0, c, n)] + rng.standard_normal((n, m))
    return Z, W, rng.standard_normal(c) / 5, -rng.random(c) / 5, rng.integers(0, 5, c).astype(float)


def directions_of(*blocks, rows=16, in_memory=2**20):
    stored = StoredDirections(blocks[0].shape[1], rows, in_memory)
    for block in blocks:
        stored.add(block)
    return Directions(PartResults([stored]))


def moved(Z, W, offsets, bias, labelled, pull=0.1, temperature=0.1, rows=16, in_memory=2**20, shares=None):
    with directions_of(*np.array_split(Z, 3), rows=rows, in_memory=in_memory) as directions:
        settings = Settings(pull, temperature, shares)
        return moved_to_samples(directions, W, offsets, settings, bias=bias, labelled=labelled)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([0.03, 1.0]), st.sampled_from([0.05, 0.5]))
def test_oracle(seed, pull, temperature):
    Z, W, offsets, bias, labelled = problem(seed)
    found = moved(Z, W, offsets, bias, labelled, pull, temperature)
    prototypes, scores = adapted_by_the_book(Z, W, offsets, bias, labelled, pull, temperature)
    assert_allclose(found.after, prototypes, atol=2e-3)  # it may end a round earlier or later
    assert_allclose(Z @ found.weights.T + found.offsets, scores, atol=2e-2)
    assert found.backing.sum() == pytest.approx(len(Z))


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(1, 70))
def test_chunks_order_and_where_directions_are_kept_change_nothing(seed, rows):
    Z, *rest = problem(seed)
    expected = moved(Z, *rest)
    shuffled = moved(np.random.default_rng(seed).permutation(Z), *rest, rows=rows, in_memory=0)
    for one, two in zip(expected[:5], shuffled[:5], strict=True):
        assert_allclose(one, two, atol=1e-3)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_samples_twice_are_the_same_as_once(seed):
    Z, W, offsets, bias, labelled = problem(seed, n=16)  # classes that stay below the size that counts as large
    once, twice = moved(Z, W, offsets, bias, labelled), moved(np.vstack([Z, Z]), W, offsets, bias, 2 * labelled)
    assert_allclose(twice.after, once.after, atol=1e-3)
    assert_allclose(twice.backing, 2 * once.backing, rtol=1e-2, atol=0.1)


def test_samples_of_length_zero_carry_no_weight():
    Z, *rest = problem(0)
    with_zeros = moved(np.insert(Z, [0, 20, 60], 0, axis=0), *rest)
    assert_allclose(with_zeros.after, moved(Z, *rest).after, atol=1e-6)


def test_labelled_samples_hold_a_prototype():
    Z, W, offsets, bias, _ = problem(0)
    free, held = (moved(Z, W, offsets, bias, np.full(4, many)) for many in (0.0, 1e6))
    assert_allclose(held.after, held.before, atol=1e-3)
    assert np.linalg.norm(free.after - free.before) > 0.1


def test_huge_and_tiny_samples_have_directions():
    Z = np.array([[3e300, 4e300], [3e-300, 4e-300]])
    stored = StoredDirections(2, 4)
    stored.add(Z)
    ((block, lengths),) = stored.blocks()
    assert_allclose(block, [[0.6, 0.8]] * 2, rtol=1e-6)
    assert_allclose(lengths, [5e300, 5e-300])


def test_it_helps(model):
    before = model.score(ZOO.X_new, ZOO.y_new, candidates="unseen")
    assert model.adapt(ZOO.X_new, candidates="unseen") is model
    assert model.score(ZOO.X_new, ZOO.y_new, candidates="unseen") > before


def test_it_is_the_definition_in_the_space_of_the_model(model):
    Z = model.feature_normalisation_.of_rows(ZOO.X_new)
    P = model.class_normalisation_.of_rows(ZOO.table.select(UNSEEN).vectors)
    P = P @ model.semantic_projection_.T @ model.visual_projection_
    P /= np.linalg.norm(P, axis=1, keepdims=True)
    zero = np.zeros(len(UNSEEN))
    _, expected = adapted_by_the_book(Z, P, zero, zero, zero, 0.3, 0.02)
    found = model.adapt(ZOO.X_new, candidates="unseen").decision_function(ZOO.X_new, candidates="unseen")
    assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("read", [
    np.asfortranarray,
    lambda X: X[::-1],
    lambda X: X.astype(">f8"),
    lambda X: X.tolist(),
    lambda X: [X[:7], X[7:7], X[7:]],
    lambda X: (block for block in np.array_split(X, 11)),
    pd.DataFrame,
    lambda X: [pd.DataFrame(X[:7]), pd.DataFrame(X[7:])],
])  # fmt: skip
def test_samples_in_any_form(plain, read):
    expected, found = (
        copy.copy(plain).adapt(form, candidates="unseen").decision_function(ZOO.X_new, candidates="unseen")
        for form in (ZOO.X_new, read(ZOO.X_new))
    )
    assert_allclose(found, expected, atol=1e-4)


def test_float32_memory_maps_and_a_file_for_what_is_too_much(tmp_path, model, monkeypatch):
    np.save(tmp_path / "X.npy", ZOO.X_new.astype(np.float32))
    monkeypatch.setattr(adaptation_rounds.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("jcmspl.data.samples.IN_MEMORY", 0)
    monkeypatch.setattr("jcmspl.model.adaptation_rounds.rows_at_a_time", lambda *_: 16)
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    found = model.adapt(X, candidates="unseen").decision_function(ZOO.X_new, candidates="unseen")
    monkeypatch.undo()
    expected = model.adapt(ZOO.X_new, candidates="unseen").decision_function(ZOO.X_new, candidates="unseen")
    assert_allclose(found, expected, atol=1e-4)
    assert [path.name for path in tmp_path.iterdir()] == ["X.npy"]


def test_a_full_disk_is_told_of(model, monkeypatch):
    class Full:
        def write(self, _):
            raise OSError(28, "No space left on device")

        def close(self):
            pass

    monkeypatch.setattr(adaptation_rounds.tempfile, "TemporaryFile", lambda **_: Full())
    monkeypatch.setattr("jcmspl.data.samples.IN_MEMORY", 0)
    monkeypatch.setattr("jcmspl.model.adaptation_rounds.rows_at_a_time", lambda *_: 16)
    with pytest.raises(OSError, match="No space left on device") as raised:
        model.adapt(ZOO.X_new)
    assert raised.value.filename


@pytest.mark.parametrize(("X", "message"), [
    (ZOO.X_new[:0], "no samples"),
    ([], "Expected 2D"),
    (iter([]), "no samples"),
    (iter([ZOO.X_new[:0]]), "no samples"),
    (ZOO.X_new[:, :3], "3 features"),
    (iter([ZOO.X_new, ZOO.X_new[:, :3]]), "3 features"),
    ([(ZOO.X_new, ZOO.y_new)], r"chunk 0 is a pair \(X, y\)"),
    (iter([(ZOO.X_new, ZOO.y_new)]), r"chunk 0 is a pair \(X, y\)"),
    (np.where(np.arange(20) == 3, np.nan, ZOO.X_new), r"NaN or infinity, first at index \(0, 3\)"),
    (iter([ZOO.X_new, np.full((2, 20), np.inf)]), r"NaN or infinity, first at index \(150, 0\)"),
    (ZOO.X_new[0], "1D array|reshape"),
    ("samples.npy", "read the file first"),
])  # fmt: skip
def test_bad_samples(model, X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.adapt(X, candidates="unseen")
    assert not hasattr(model, "adapted_")


def test_labels_are_refused(model):
    with pytest.raises(TypeError, match="adapt takes only X by position"):
        model.adapt(ZOO.X_new, ZOO.y_new)


@pytest.mark.parametrize(
    "parameters",
    [{"space": "semantic"}, {"space": "concept"}, {"metric": "euclidean"}, {"metric": lambda Z, P: Z @ P.T}],
)
def test_where_it_cannot_be(model, parameters):
    model.set_params(**parameters)
    with pytest.raises(ValueError, match="by cosine in the visual space"):
        model.adapt(ZOO.X_new)
    with pytest.raises(ValueError, match="by cosine in the visual space"):
        model.calibrate(ZOO.X, ZOO.y, adaptation=True)


@pytest.mark.parametrize("name", ["adaptation_pull", "adaptation_temperature"])
@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, "much"])
def test_bad_parameters(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        fitted(**{name: value})


def test_a_model_that_is_not_fitted():
    with pytest.raises(ValueError, match="not fitted"):
        JCMSPL(space="visual").adapt(ZOO.X_new)


class TestWhoIsAdapted:
    def test_among_other_candidates_nothing_has_changed(self, plain, model):
        model.adapt(ZOO.X_new, candidates="unseen")
        for options in ({"candidates": "seen"}, {"candidates": "all", "seen_penalty": 0.1}):
            assert_array_equal(
                model.decision_function(ZOO.X_new, **options), plain.decision_function(ZOO.X_new, **options)
            )

    def test_among_some_of_them_in_any_order(self, plain, model):
        model.adapt(ZOO.X_new, candidates="unseen")
        some = UNSEEN[3:0:-1]
        among_all = model.decision_function(ZOO.X_new, candidates="unseen")[:, 3:0:-1]
        assert_allclose(model.decision_function(ZOO.X_new, candidates=some), among_all, rtol=1e-9)
        assert not np.allclose(plain.decision_function(ZOO.X_new, candidates=some), among_all, rtol=1e-3)

    def test_vectors_that_are_given_count(self, plain, model):
        new = {f"new {i}": ZOO.table[name] for i, name in enumerate(UNSEEN)}
        model.adapt(ZOO.X_new, class_vectors=new)
        assert not np.allclose(
            model.decision_function(ZOO.X_new, class_vectors=new), plain.decision_function(ZOO.X_new, class_vectors=new)
        )
        other = new | {"new 0": new["new 0"] + 0.5}
        for options in ({"class_vectors": other}, {"candidates": "unseen"}):
            assert_array_equal(
                model.decision_function(ZOO.X_new, **options), plain.decision_function(ZOO.X_new, **options)
            )

    def test_all_predictions_are_of_the_adapted_model(self, model, tmp_path):
        model.adapt(ZOO.X_new, candidates="unseen")
        scores = model.decision_function(ZOO.X_new, candidates="unseen")
        best = np.array(UNSEEN)[scores.argmax(axis=1)]
        assert_array_equal(model.predict(ZOO.X_new, candidates="unseen"), best)
        assert_array_equal(model.predict_topk(ZOO.X_new, 1, candidates="unseen")[:, 0], best)
        assert_array_equal(model.predict_proba(ZOO.X_new, candidates="unseen").argmax(axis=1), scores.argmax(axis=1))
        recogniser = model.recogniser(candidates="unseen")
        assert_allclose(recogniser.scores(ZOO.X_new), scores)
        onnx = pytest.importorskip("onnx.reference")
        recogniser.to_onnx(tmp_path / "layer.onnx")
        session = onnx.ReferenceEvaluator(str(tmp_path / "layer.onnx"))
        found = session.run(["scores"], {"features": ZOO.X_new.astype(np.float32)})[0]
        assert_allclose(found, scores, atol=1e-4)

    def test_in_other_spaces_nothing_has_changed(self, plain, model):
        model.adapt(ZOO.X_new, candidates="unseen")
        for parameters in ({"space": "semantic"}, {"metric": "dot"}):
            one, two = (copy.copy(each).set_params(**parameters) for each in (plain, model))
            assert_array_equal(
                one.decision_function(ZOO.X_new, candidates="unseen"),
                two.decision_function(ZOO.X_new, candidates="unseen"),
            )

    def test_seen_and_unseen(self, model):
        model.calibrate(ZOO.X, ZOO.y)
        before = model.score(ZOO.X_new, ZOO.y_new, candidates="all")
        model.adapt(np.vstack([ZOO.X, ZOO.X_new]), candidates="all")
        assert model.score(ZOO.X_new, ZOO.y_new, candidates="all") > before
        assert model.adapted_.classes.n_classes == 15
        # the bias is still what it was: something that is taken off the scores of seen classes
        with_bias, without = (model.decision_function(ZOO.X_new, seen_penalty=bias) for bias in (0.25, 0.0))
        assert_allclose(without - with_bias, np.tile([0.25] * 10 + [0.0] * 5, (150, 1)), atol=1e-9)

    def test_labelled_samples_hold_their_class(self, model):
        """A class of which there are many labelled samples stays where these are."""
        known = ZOO.y_new == UNSEEN[0]
        model.add_classes(X=np.tile(ZOO.X_new[known], (100, 1)), y=np.tile(ZOO.y_new[known], 100))
        model.adapt(ZOO.X_new, candidates="unseen")
        assert model.adapted_.moved[0] < 1 < model.adapted_.moved[1:].min()

    def test_explanations_add_up(self, model):
        model.adapt(ZOO.X_new, candidates="unseen")
        scores = model.decision_function(ZOO.X_new[:3], candidates="unseen")
        for row, one in zip(scores, model.explain(ZOO.X_new[:3], candidates="unseen", against=None), strict=True):
            assert one.score == pytest.approx(row.max())
            assert one.contributions.sum() == pytest.approx(row.max())
            assert one.attributes[-1] == "(the adaptation)"

    @pytest.mark.filterwarnings("ignore:almost none of the 150 samples")
    def test_the_cosine_with_class_vectors_is_adapted_too(self):
        zoo = make_zoo(n_seen=10, n_unseen=5, n_attributes=20, per_class=30, noise=1.0, aligned=True)
        model = JCMSPL(space="visual", cosine_share=0.5).fit(zoo.X, zoo.y, class_vectors=zoo.table)
        Z = model.feature_normalisation_.of_rows(zoo.X_new)
        layer = model._visual_scorer(zoo.table.select(zoo.unseen))
        zero = np.zeros(5)
        _, expected = adapted_by_the_book(Z, layer.weights, layer.offsets, zero, zero, 0.3, 0.02)
        found = model.adapt(zoo.X_new, candidates="unseen").decision_function(zoo.X_new, candidates="unseen")
        assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())

    def test_one_candidate(self, model):
        model.adapt(ZOO.X_new, candidates=UNSEEN[:1])
        assert set(model.predict(ZOO.X_new, candidates=UNSEEN[:1])) == set(UNSEEN[:1])


class TestForgetting:
    @pytest.mark.parametrize(
        "change",
        [
            lambda model: model.partial_fit(ZOO.X[:9], ZOO.y[:9], refit=False),
            lambda model: model.reset_adaptation(),
            lambda model: model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table),
            lambda model: model.partial_fit(ZOO.X[:9], ZOO.y[:9]),
            lambda model: model.fit_from_statistics(model.statistics_, model.classes_, class_vectors=ZOO.table),
            lambda model: model.add_classes({UNSEEN[0]: np.ones(8)}, replace=True),
            lambda model: model.add_classes(X=ZOO.X_new[:9], y=ZOO.y_new[:9]),
        ],
    )
    def test_it_is_forgotten(self, change):
        model = fitted().adapt(ZOO.X_new, candidates="unseen")
        change(model)
        assert not hasattr(model, "adapted_")

    @pytest.mark.parametrize(
        "change",
        [
            lambda model: model.add_classes({"yeti": np.ones(8)}, replace=True),
            lambda model: model.calibrate(ZOO.X, ZOO.y),
        ],
    )
    def test_it_is_not(self, change):
        model = fitted().adapt(ZOO.X_new, candidates=UNSEEN)
        expected = model.decision_function(ZOO.X_new, candidates=UNSEEN)
        change(model)
        assert_array_equal(model.decision_function(ZOO.X_new, candidates=UNSEEN), expected)

    def test_the_next_one_starts_anew(self, plain):
        twice, once = copy.copy(plain), copy.copy(plain)
        twice.adapt(ZOO.X_new[:80], candidates="unseen").adapt(ZOO.X_new, candidates="unseen")
        once.adapt(ZOO.X_new, candidates="unseen")
        assert_array_equal(twice.adapted_.weights, once.adapted_.weights)


class TestDiagnosis:
    def test_what_it_tells(self, model):
        found = model.adapt(ZOO.X_new, candidates="unseen").adapted_
        assert isinstance(found, Adaptation)
        assert found.labels.tolist() == UNSEEN
        assert_array_equal(found.class_vectors, ZOO.table.select(UNSEEN).vectors)
        assert found.n_samples == 150
        assert found.backing.sum() == pytest.approx(150)
        assert 1 <= found.rounds <= 15
        assert found.moved.shape == (5,)
        lines = str(found).splitlines()
        assert lines[0].startswith(f"5 classes adapted to 150 samples in {found.rounds} rounds")
        most = UNSEEN[int(found.moved.argmax())]
        assert lines[3].split("  ")[1] == most
        assert repr(found).startswith("<Adaptation: 5 classes")

    def test_classes_that_do_not_occur(self, model):
        there = np.isin(ZOO.y_new, UNSEEN[:2])
        with pytest.warns(RuntimeWarning, match=r"almost none of the 60 samples were assigned to .*: names are surer"):
            model.adapt(ZOO.X_new[there], candidates="unseen")
        assert set(model.adapted_.lost) <= set(UNSEEN[2:])
        assert "note: almost none" in str(model.adapted_)

    def test_few_samples(self, model):
        for n in (1, 4):
            with pytest.warns(RuntimeWarning, match=f"adapted to {n} samples among 5 candidates"):
                model.adapt(ZOO.X_new[:n], candidates="unseen")

    def test_prototypes_that_merge(self, plain):
        model = copy.copy(plain)
        tiny = model.set_params(adaptation_pull=1e-9, adaptation_temperature=100.0)
        with pytest.warns(RuntimeWarning, match=r"'animal \d+' and 'animal \d+'.* can hardly be told apart"):
            tiny.adapt(np.repeat(ZOO.X_new[:1], 20, axis=0), candidates="unseen")
        assert len(tiny.adapted_.merged) >= 9  # of ten pairs: one may have been near before

    def test_samples_that_are_all_the_mean(self, model):
        model.set_params(feature_normalisation="center").fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        before = model.decision_function(ZOO.X_new, candidates="unseen")
        mean = model.feature_normalisation_.shift
        with pytest.warns(RuntimeWarning, match="adapted to 0 samples"):
            model.adapt(np.tile(mean, (9, 1)), candidates="unseen")
        assert_allclose(model.decision_function(ZOO.X_new, candidates="unseen"), before, rtol=1e-9)

    def test_no_warnings_where_all_is_well(self, model):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.adapt(ZOO.X_new, candidates="unseen")


MANY = make_zoo(n_seen=30, n_unseen=30, per_class=20, noise=1.5, n_attributes=12, n_features=40)


@pytest.fixture(scope="module")
def many():
    return JCMSPL(space="visual").fit(MANY.X, MANY.y, class_vectors=MANY.table)


def some_present(n_present, seed):
    """Return the samples of a few of the unseen classes, and their labels."""
    chosen = np.random.default_rng(seed).choice(MANY.unseen, n_present, replace=False)
    rows = np.isin(MANY.y_new, chosen)
    return MANY.X_new[rows], MANY.y_new[rows]


class TestAbsentCandidates:
    """Fewer classes occur than there are candidates."""

    @pytest.mark.parametrize(("n_present", "worst"), [(3, -0.07), (6, -0.05), (15, -0.02)])
    def test_little_is_lost(self, many, n_present, worst):
        """An anchor in even shares of the samples loses 0.12, 0.10 and 0.03 here."""
        gains = []
        for seed in range(6):
            X, y = some_present(n_present, seed)
            before = many.score(X, y, candidates="unseen")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                adapted = copy.copy(many).adapt(X, candidates="unseen", check=False)
            gains.append(adapted.score(X, y, candidates="unseen") - before)
        assert np.mean(gains) >= worst

    def test_the_anchor_is_a_share_of_the_classes_that_occur(self):
        """More candidates that get no samples change nothing for the others."""
        Z, W, offsets, bias, labelled = problem(0)
        Z, W = np.hstack([Z, np.ones((60, 1))]), np.hstack([W, np.ones((4, 1))])
        far = np.zeros((40, 7))
        far[:, 6] = -1
        far[:, 0] = np.linspace(-0.1, 0.1, 40)
        found = moved(
            Z, np.vstack([W, far]), *(np.append(part, np.zeros(40)) for part in (offsets, bias, labelled)),
            temperature=0.02,
        )  # fmt: skip
        expected = moved(Z, W, offsets, bias, labelled, temperature=0.02)
        assert_allclose(found.after[:4], expected.after, atol=1e-3)

    def test_a_class_of_many_samples_pulls_as_one_of_seventeen(self):
        Z, W, offsets, bias, _ = problem(0, n=2000)
        wide = moved(Z, W, offsets, bias, np.zeros(4), pull=3.0)
        held = moved(Z, W, offsets, bias, np.full(4, 3.0 * 17), pull=1e-9)
        assert_allclose(wide.after, held.after, atol=1e-3)


class TestWhetherToTrustIt:
    def test_neighbours_agree_where_names_follow_the_classes(self):
        rng = np.random.default_rng(0)
        centres = np.eye(4, 8)
        y = rng.integers(0, 4, 300)
        Z = centres[y] + rng.normal(scale=0.1, size=(300, 8))
        right = LinearScorer(centres, np.zeros(4))
        wild = LinearScorer(rng.standard_normal((4, 8)), np.zeros(4))
        with directions_of(Z, rows=32) as directions:
            better = neighbour_agreement(directions, wild, right, 75)
            worse = neighbour_agreement(directions, right, wild, 75)
        assert worse.before > 0.99 > worse.after
        assert worse.has_fallen
        assert not better.has_fallen
        assert (better.before, better.after) == (worse.after, worse.before)
        assert better.error == pytest.approx(worse.error)

    def test_agreement_is_that_of_the_definition(self):
        rng = np.random.default_rng(1)
        Z = rng.standard_normal((90, 6))
        one, two = (LinearScorer(rng.standard_normal((5, 6)), rng.standard_normal(5)) for _ in range(2))
        with directions_of(Z) as directions:
            found = neighbour_agreement(directions, one, two, 5.9)
        U = Z / np.linalg.norm(Z, axis=1, keepdims=True)
        cosines = U @ U.T
        np.fill_diagonal(cosines, -2)
        nearest = np.argsort(-cosines, axis=1)[:, :10]
        names = [(Z @ layer.weights.T + layer.offsets).argmax(axis=1) for layer in (one, two)]
        shares = [(own[nearest] == own[:, None]).mean(axis=1) for own in names]
        assert_allclose(found[:2], [share.mean() for share in shares], atol=1e-9)
        assert found.error == pytest.approx((shares[1] - shares[0]).std(ddof=1) / np.sqrt(90))

    def test_copies_of_a_sample_are_no_neighbours(self):
        rng = np.random.default_rng(2)
        layers = [LinearScorer(rng.standard_normal((5, 6)), np.zeros(5)) for _ in range(2)]
        with directions_of(np.repeat(rng.standard_normal((1, 6)), 30, axis=0)) as directions:
            assert neighbour_agreement(directions, *layers, 30) is None

    def test_samples_of_small_classes_have_no_neighbours_of_their_own(self):
        rng = np.random.default_rng(2)
        layers = [LinearScorer(rng.standard_normal((5, 6)), np.zeros(5)) for _ in range(2)]
        with directions_of(rng.standard_normal((40, 6))) as directions:
            assert neighbour_agreement(directions, *layers, 2.9) is None
            assert neighbour_agreement(directions, *layers, 3.0) is not None

    def test_it_falls_back_where_a_class_is_shared_out_among_absent_ones(self, many):
        X, _ = some_present(3, 0)
        model = copy.copy(many)
        with pytest.warns(RuntimeWarning, match="predicts as without the adaptation.*neighbouring samples"):
            model.adapt(X, candidates="unseen")
        adapted = model.adapted_
        assert not adapted.is_trusted
        assert adapted.agreement.after < adapted.agreement.before
        assert "note: the model predicts as without the adaptation" in str(adapted)
        assert "not used" in repr(adapted)
        assert "not to be trusted" in adapted._repr_html_()
        assert_array_equal(
            model.decision_function(X, candidates="unseen"), many.decision_function(X, candidates="unseen")
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "almost none")
            model.adapt(X, candidates="unseen", check=False)
        assert model.adapted_.is_trusted
        assert model.adapted_.agreement is None
        assert not np.allclose(
            model.decision_function(X, candidates="unseen"), many.decision_function(X, candidates="unseen")
        )

    def test_what_falls_back_loses_more(self, many):
        """Over many draws, adaptations that are not trusted are worse than those that are."""
        gains = {True: [], False: []}
        for seed in range(30):
            X, y = some_present(3, seed)
            model = copy.copy(many)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                trusted = model.adapt(X, candidates="unseen").adapted_.is_trusted
                model.adapt(X, candidates="unseen", check=False)
            gain = model.score(X, y, candidates="unseen") - many.score(X, y, candidates="unseen")
            gains[trusted].append(gain)
        assert np.mean(gains[True]) > np.mean(gains[False])

    def test_it_is_trusted_where_all_is_well(self, model):
        found = model.adapt(ZOO.X_new, candidates="unseen").adapted_
        assert found.is_trusted
        assert found.agreement.after > found.agreement.before
        assert "neighbouring samples have the same name in" in str(found)

    def test_files_keep_it(self, many, tmp_path):
        X, _ = some_present(3, 0)
        model = copy.copy(many)
        with pytest.warns(RuntimeWarning):
            model.adapt(X, candidates="unseen").save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.adapted_.agreement == model.adapted_.agreement
        assert str(again.adapted_) == str(model.adapted_)
        assert_array_equal(again.predict(X, candidates="unseen"), many.predict(X, candidates="unseen"))


class TestClassShares:
    def test_names_have_the_shares_that_are_told(self):
        Z, W, offsets, bias, labelled = problem(3, n=400)
        shares = np.array([0.4, 0.3, 0.2, 0.1])
        found = moved(Z, W, offsets, bias, labelled, shares=shares)
        lengths = np.linalg.norm(Z, axis=1, keepdims=True)
        names = softmax(1.3 * (Z @ found.weights.T + found.offsets) / lengths / 0.1, axis=1)
        assert_allclose(names.mean(axis=0), shares, atol=0.02)
        assert not np.allclose(moved(Z, W, offsets, bias, labelled).backing / 400, shares, atol=0.05)

    def test_the_truth_helps(self, many):
        before = copy.copy(many).adapt(MANY.X_new, candidates="unseen")
        told = copy.copy(many).adapt(MANY.X_new, candidates="unseen", class_shares="even")
        scores = [one.score(MANY.X_new, MANY.y_new, candidates="unseen") for one in (many, before, told)]
        assert scores == sorted(scores)
        assert scores[2] > scores[0] + 0.01

    def test_all_forms_are_the_same(self, plain):
        counts = [3.0, 1.0, 2.0, 2.0, 4.0]
        shares = dict(zip(UNSEEN, counts, strict=True))
        forms = [counts, np.array(counts) / 12, shares, dict(reversed(shares.items()))]
        found = [
            copy.copy(plain).adapt(ZOO.X_new, candidates="unseen", class_shares=form, check=False).adapted_.weights
            for form in forms
        ]
        for one in found[1:]:
            assert_allclose(one, found[0], atol=1e-6)

    @pytest.mark.parametrize(("shares", "message"), [
        ("equal", "'even', a dict or an array of numbers, but is 'equal'"),
        ([1, 2], r"has the shape \(2,\), but there are 5 candidates"),
        ([1, 2, 3, 0, 1], "above 0, but that of .* is 0.0: leave classes that do not occur out"),
        ([1, 2, 3, np.nan, 1], "finite numbers above 0"),
        (["a"] * 5, "must be 'even'"),
        (7, "has the shape"),
        (dict.fromkeys(UNSEEN[1:], 1), "no number for"),
        (dict.fromkeys([*UNSEEN, "yeti"], 1), "names 'yeti', which is not among the candidates"),
    ])  # fmt: skip
    def test_bad_shares(self, model, shares, message):
        with pytest.raises((ValueError, TypeError), match=message):
            model.adapt(ZOO.X_new, candidates="unseen", class_shares=shares)
        assert not hasattr(model, "adapted_")


class TestSeenAndUnseen:
    """Adaptation makes up for the preference for seen classes: the bias is not taken off a second time."""

    def test_digits(self):
        digits = load_digits()
        X, y = digits.part("trainval")
        model = JCMSPL(**PIXEL_SETTINGS).fit(X, y, class_vectors=digits.classes).calibrate(X, y)
        model.set_params(space="visual")
        (X_seen, y_seen), (X_new, y_new) = digits.part("test_seen"), digits.part("test_unseen")
        model.adapt(np.vstack([X_seen, X_new]), candidates="all")
        seen = model.score(X_seen, y_seen, candidates="all")
        unseen = model.score(X_new, y_new, candidates="all")
        assert 2 * seen * unseen / (seen + unseen) >= 0.85

    def test_predictions_and_scores_take_no_bias_off(self, model):
        model.calibrate(ZOO.X, ZOO.y).adapt(np.vstack([ZOO.X, ZOO.X_new]), candidates="all")
        assert model.seen_penalty_ != 0
        scores = model.decision_function(ZOO.X_new, candidates="all")
        assert_array_equal(scores, model.decision_function(ZOO.X_new, candidates="all", seen_penalty=0.0))
        labels = np.array([*model.classes_, *model.unseen_classes_])
        assert_array_equal(model.predict(ZOO.X_new, candidates="all"), labels[scores.argmax(axis=1)])

    def test_other_candidates_have_their_bias(self, plain, model):
        model.calibrate(ZOO.X, ZOO.y)
        expected = model.decision_function(ZOO.X_new, candidates="all")
        model.adapt(ZOO.X_new, candidates="unseen")
        assert_array_equal(model.decision_function(ZOO.X_new, candidates="all"), expected)

    def test_the_bias_counts_again_in_the_next_adaptation(self, model):
        X = np.vstack([ZOO.X, ZOO.X_new])
        once = copy.copy(model).calibrate(ZOO.X, ZOO.y).adapt(X, candidates="all")
        twice = copy.copy(once).adapt(X, candidates="all")
        assert_array_equal(once.adapted_.weights, twice.adapted_.weights)

    def test_evaluate_takes_none_off_either(self):
        digits = load_digits()
        X, y = digits.part("trainval")
        model = JCMSPL(**PIXEL_SETTINGS).fit(X, y, class_vectors=digits.classes).calibrate(X, y)
        report = evaluate(model, digits, spaces=["visual"], adapt=True, progress=False)
        assert report.results[1].generalized.harmonic_mean >= 0.85


def test_vectors_that_say_nothing_do_no_harm():
    """Class vectors shuffled among the unseen classes: what was chance stays chance."""
    zoo = make_zoo(n_seen=20, n_unseen=10, n_attributes=12, n_features=40, per_class=30, noise=1.0)
    model = JCMSPL(space="visual").fit(zoo.X, zoo.y, class_vectors=zoo.table)
    changes = []
    for seed in range(12):
        order = np.random.default_rng(seed).permutation(10)
        vectors = ClassTable(zoo.unseen, zoo.table.select(zoo.unseen).vectors[order])
        before = model.reset_adaptation().score(zoo.X_new, zoo.y_new, class_vectors=vectors)
        with contextlib.suppress(RuntimeWarning):
            model.adapt(zoo.X_new, class_vectors=vectors)
        changes.append(model.score(zoo.X_new, zoo.y_new, class_vectors=vectors) - before)
    assert abs(np.mean(changes)) < 0.05


class TestConstants:
    def test_they_are_chosen_on_training_classes(self, model):
        model.calibrate(ZOO.X, ZOO.y, adaptation=True)
        pull, temperature = model.adaptation_constants_
        assert pull in (0.03, 0.1, 0.3, 1.0)
        assert temperature in (0.01, 0.02, 0.05, 0.1)
        chosen = copy.copy(model).adapt(ZOO.X_new, candidates="unseen")
        given = fitted(adaptation_pull=pull, adaptation_temperature=temperature).adapt(ZOO.X_new, candidates="unseen")
        assert_array_equal(chosen.adapted_.weights, given.adapted_.weights)
        assert model.partial_fit(ZOO.X[:9], ZOO.y[:9]).adaptation_constants_ == (pull, temperature)
        assert not hasattr(model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table), "adaptation_constants_")

    def test_only_if_they_are_asked_for(self, model):
        assert not hasattr(model.calibrate(ZOO.X, ZOO.y), "adaptation_constants_")

    @pytest.mark.parametrize(("gains", "leaves"), [([0.1, 0.1, 0.1], True), ([0.3, -0.1, 0.0], False)])
    def test_others_must_be_better_for_sure(self, gains, leaves):
        trials = AdaptationTrials(0.1, 0.02)
        trials._accuracies = [[0.5, 0.5 + gain, *[0.0] * 14] for gain in gains]
        assert (trials.chosen() != (0.1, 0.02)) is leaves


@pytest.fixture(scope="module")
def adapted():
    model = fitted().calibrate(ZOO.X, ZOO.y, adaptation=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.adapt(ZOO.X_new[np.isin(ZOO.y_new, UNSEEN[:2])], candidates="unseen")


class TestLeavingTheProcess:
    def test_files(self, adapted, tmp_path):
        adapted.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.adaptation_constants_ == adapted.adaptation_constants_
        assert str(again.adapted_) == str(adapted.adapted_)
        for name in ("lost", "merged", "n_samples", "rounds"):
            assert getattr(again.adapted_, name) == getattr(adapted.adapted_, name)
        assert_array_equal(
            again.decision_function(ZOO.X_new, candidates="unseen"),
            adapted.decision_function(ZOO.X_new, candidates="unseen"),
        )
        assert_array_equal(
            again.reset_adaptation().predict(ZOO.X_new, candidates="unseen"),
            fitted().predict(ZOO.X_new, candidates="unseen"),
        )

    @pytest.mark.parametrize("change", [
        lambda about, arrays: arrays.pop("adapted.weights"),
        lambda about, arrays: arrays.update({"adapted.weights": arrays["adapted.weights"][:-1]}),
        lambda about, arrays: arrays["adapted.offsets"].fill(np.nan),
        lambda about, arrays: arrays.update({"adapted.class_vectors": arrays["adapted.class_vectors"][:, :-1]}),
        lambda about, arrays: about["adaptation"]["labels"].pop(),
        lambda about, arrays: about["adaptation"]["labels"].append(about["adaptation"]["labels"][0]),
        lambda about, arrays: about["adaptation"].update(lost=[99]),
        lambda about, arrays: about["adaptation"].update(lost=[-1]),
        lambda about, arrays: about["adaptation"].update(merged=[[0]]),
        lambda about, arrays: about["adaptation"].update(n_samples="many"),
        lambda about, arrays: about["adaptation"].pop("rounds"),
        lambda about, arrays: about["adaptation"].update(agreement=[0.5, 2.0, 0.1]),
        lambda about, arrays: about["adaptation"].update(agreement=[0.5]),
        lambda about, arrays: about.update(adaptation=7),
        lambda about, arrays: about.update(adaptation_constants=[0.1, 0]),
        lambda about, arrays: about.update(adaptation_constants=[0.1]),
    ])  # fmt: skip
    def test_damaged_files(self, adapted, tmp_path, change):
        adapted.save(tmp_path / "model")
        archive = read_archive(tmp_path / "model", FORMAT_VERSION, lambda *_: list(load_file(tmp_path / "model")))
        content, arrays = archive.content, {name: np.array(array) for name, array in archive.arrays.items()}
        change(content, arrays)
        write_archive(tmp_path / "damaged", Archive(FORMAT_VERSION, content, arrays), overwrite=False)
        with pytest.raises(ModelFileError):
            load(tmp_path / "damaged")

    def test_pickles_and_copies(self, adapted):
        for twin in (pickle.loads(pickle.dumps(adapted)), copy.deepcopy(adapted)):
            assert_array_equal(
                twin.decision_function(ZOO.X_new, candidates="unseen"),
                adapted.decision_function(ZOO.X_new, candidates="unseen"),
            )


class TestSearches:
    def test_they_hand_it_on(self):
        search = ClassSearchCV(RidgeVS(space="visual"), {"alpha": (0.1, 1.0)}, cv=2)
        search.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        before = search.predict(ZOO.X_new, candidates="unseen")
        assert not hasattr(search, "adapted_")
        assert search.adapt(ZOO.X_new, candidates="unseen") is search
        assert search.adapted_ is search.best_estimator_.adapted_
        assert not np.array_equal(search.predict(ZOO.X_new, candidates="unseen"), before)
        search.reset_adaptation()
        assert_array_equal(search.predict(ZOO.X_new, candidates="unseen"), before)


class TestInterruptions:
    def test_ctrl_c_leaves_the_model_as_it_was(self, model):
        before = model.adapt(ZOO.X_new[:100], candidates="unseen").adapted_

        def chunks():
            yield ZOO.X_new
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            model.adapt(chunks(), candidates="unseen")
        assert model.adapted_ is before

    def test_readers_see_the_model_before_or_after(self, model):
        before = model.decision_function(ZOO.X_new, candidates="unseen")
        reading, looked = threading.Event(), threading.Event()

        def chunks():
            yield ZOO.X_new
            reading.set()
            assert looked.wait(60)

        thread = threading.Thread(target=lambda: model.adapt(chunks(), candidates="unseen"))
        thread.start()
        assert reading.wait(60)
        now = model.decision_function(ZOO.X_new, candidates="unseen")
        looked.set()
        thread.join()
        assert_array_equal(now, before)
        assert not np.array_equal(model.decision_function(ZOO.X_new, candidates="unseen"), before)


REAL = {
    "feature_normalisation": "auto_power+sample_l2+center+whiten",
    "class_normalisation": "sample_l2+center_unit",
    "semantic_match": 1.0,
    "class_match": 100.0,
    "visual_reconstruction": 10.0,
    "semantic_reconstruction": 1.0,
    "space": "visual",
}


def real_data(folder, name):
    """Return training samples, their labels, unseen samples, their labels, and the vectors of all classes."""
    if not (folder / name).exists():
        pytest.skip(f"no {name} in the folder of benchmark data")
    if name == "cub":
        data = load_dataset(folder / name)
        return *data.part("trainval"), *data.part("test_unseen"), data.classes
    with np.load(folder / name) as data:
        unseen = np.isin(data["y"], data["unseen"])
        X, y, vectors = data["X"], data["y"], data["S"].astype(np.float64)
    return X[~unseen], y[~unseen], X[unseen], y[unseen], ClassTable(range(len(vectors)), vectors)


@pytest.mark.filterwarnings("ignore:the classes 70 and 109 have the same class vector")
@pytest.mark.parametrize(("name", "least"), [("cub", 0.77), ("clinc150.npz", 0.81), ("esc50.npz", 0.5)])
def test_real_data(data_folder, name, least):
    X, y, X_new, y_new, classes = real_data(data_folder, name)
    model = JCMSPL(**REAL).fit(X, y, class_vectors=classes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if name == "esc50.npz":  # of which one class of fifteen gets almost no samples
            warnings.filterwarnings("ignore", "almost none of the 600 samples were assigned to 14")
        model.adapt(X_new, candidates="unseen")
    assert model.adapted_.is_trusted
    assert model.score(X_new, y_new, candidates="unseen") >= least
    # a third of the candidates is there: it must say so
    there = np.isin(y_new, model.unseen_classes_[::3])
    with pytest.warns(RuntimeWarning) as told:
        model.adapt(X_new[there], candidates="unseen")
    assert "almost none of the" in str(told[0].message)
