"""Recognising: candidates, scores, probabilities, projections, explanations."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from jcmspl import JCMSPL
from jcmspl.core.scoring import fold
from jcmspl.data.normalisation import NORMALISATIONS, Normalisation
from jcmspl.methods import ESZSL, SAE, RidgeVS
from jcmspl.model.recogniser import NearestScorer
from jcmspl.support.scaling import Scaling
from support.noisy_fits import METRICS, MODEL, SPACES, ZOO, fitted


def in_space(model, X, vectors):
    """Samples and classes where they are compared, by explicit products."""
    A, B = model.visual_projection_, model.semantic_projection_
    x, y = model.feature_normalisation_.of_rows(X), model.class_normalisation_.of_rows(vectors)
    return {"semantic": (x @ A.T @ B, y), "visual": (x, y @ B.T @ A), "concept": (x @ A.T, y @ B.T)}[model.space]


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("space", SPACES)
def test_scores_are_those_of_explicit_projections(space, metric, normalisation):
    model = fitted(
        space=space, metric=metric, feature_normalisation=normalisation, class_normalisation=normalisation, max_iter=500
    )
    z, p = in_space(model, ZOO.X_new, model.class_table_.vectors)
    scores = model.decision_function(ZOO.X_new)
    if metric == "cosine":
        expected = z @ (p / np.linalg.norm(p, axis=1, keepdims=True)).T
    elif metric == "dot":
        expected = z @ p.T
    else:
        expected = -cdist(z, p, "sqeuclidean") / 2 + np.sum(z**2, axis=1, keepdims=True) / 2
    assert_allclose(scores, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    best = np.array(list(model.class_table_))[expected.argmax(axis=1)]
    assert_array_equal(model.predict(ZOO.X_new), best)


class TestCandidates:
    def columns(self, **call):
        return MODEL.recogniser(**call).labels.tolist()

    def test_groups(self):
        assert self.columns() == [*ZOO.seen, *ZOO.unseen]
        assert self.columns(candidates="all") == [*ZOO.seen, *ZOO.unseen]
        assert self.columns(candidates="seen") == ZOO.seen
        assert self.columns(candidates="unseen") == ZOO.unseen
        mixed = [ZOO.unseen[1], ZOO.seen[3]]
        assert self.columns(candidates=mixed) == mixed
        assert self.columns(candidates=np.array(mixed)) == mixed

    def test_classes_given_at_the_call(self):
        given = {"yeti": np.ones(8), "unicorn": np.arange(8.0)}
        assert self.columns(class_vectors=given) == ["yeti", "unicorn"]
        assert self.columns(class_vectors=given, candidates="unseen") == [*ZOO.unseen, "yeti", "unicorn"]
        assert self.columns(class_vectors=given, candidates="all") == [*ZOO.seen, *ZOO.unseen, "yeti", "unicorn"]
        assert self.columns(candidates=set(ZOO.unseen)) == sorted(ZOO.unseen)
        assert self.columns(class_vectors=given, candidates=["yeti", ZOO.unseen[0]]) == ["yeti", ZOO.unseen[0]]
        assert self.columns(class_vectors=np.ones((3, 8))) == [0, 1, 2]
        frame = pd.DataFrame(ZOO.table.vectors, index=list(ZOO.table))
        assert self.columns(class_vectors=frame, candidates="unseen") == ZOO.unseen
        assert "yeti" not in MODEL.class_table_  # nothing was learned by the call

    def test_the_vector_given_counts(self):
        name, other = ZOO.unseen[:2]
        swapped = {name: ZOO.table[other], other: ZOO.table[name]}
        straight = MODEL.predict(ZOO.X_new, candidates=[name, other])
        crossed = MODEL.predict(ZOO.X_new, class_vectors=swapped)
        assert_array_equal(straight == name, crossed == other)

    def test_a_full_array_means_the_rows_of_training(self):
        numbers = {name: i for i, name in enumerate(ZOO.table)}
        y = np.array([numbers[name] for name in ZOO.y])
        model = JCMSPL(seen_penalty=1e9).fit(ZOO.X, y, class_vectors=ZOO.table.vectors)
        assert not set(model.predict(ZOO.X, class_vectors=ZOO.table.vectors)) & set(y)
        # rows of another array are other classes, whatever their numbers
        few = model.predict(ZOO.X_new, class_vectors=ZOO.table.vectors[[8, 7, 6]])
        expected = model.predict(ZOO.X_new, candidates=[8, 7, 6])
        assert_array_equal(np.array([8, 7, 6])[few], expected)

    def test_the_bias_is_for_classes_of_training_not_for_their_numbers(self):
        """Row 0 of an array is a class of training only if it has that class's vector."""
        vectors, seen = ZOO.table.select([*ZOO.seen, *ZOO.unseen]).vectors, list(ZOO.seen)
        model = JCMSPL(seen_penalty=0.25).fit(ZOO.X, [seen.index(name) for name in ZOO.y], class_vectors=vectors[:6])
        given = vectors[[0, 7, 8, 6, 4]]  # the rows 0 and 4 are what they were
        plain, biased = (model.decision_function(ZOO.X_new, class_vectors=given, seen_penalty=b) for b in (0, None))
        assert_allclose(plain - biased, np.tile([0.25, 0, 0, 0, 0.25], (len(ZOO.X_new), 1)), atol=1e-12)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            ({"candidates": []}, "no candidate classes"),
            ({"candidates": "sene"}, "candidates must be one of 'seen', 'unseen', 'all', or a list of labels"),
            ({"candidates": ["yeti"]}, "no class vectors for 1 of the 1 classes in candidates: 'yeti'"),
            ({"candidates": [ZOO.seen[0], ZOO.seen[0]]}, "names some classes twice"),
            ({"class_vectors": {"yeti": [1.0]}}, "1 attributes, but those of the model have 8"),
            ({"class_vectors": {ZOO.seen[0]: np.ones(8)}, "candidates": "all"}, "has another vector for 'animal"),
            ({"seen_penalty": np.nan}, "seen_penalty must be a finite number"),
        ],
    )
    def test_bad_candidates(self, call, message):
        with pytest.raises(ValueError, match=message):
            MODEL.predict(ZOO.X, **call)

    def test_row_numbers_that_meant_other_classes_are_not_mixed_up(self):
        numbers = {name: i for i, name in enumerate([*ZOO.seen, *ZOO.unseen])}
        vectors = ZOO.table.select(numbers).vectors
        model = JCMSPL().fit(ZOO.X, [numbers[name] for name in ZOO.y], class_vectors=vectors[:6])
        for given in (vectors[6:], pd.DataFrame(vectors[6:])):
            assert set(model.predict(ZOO.X_new, class_vectors=given)) <= {0, 1, 2}
            with pytest.raises(ValueError, match="give it another name"):
                model.predict(ZOO.X_new, class_vectors=given, candidates="all")

    def test_attributes_are_known_by_name(self):
        reordered = pd.DataFrame(ZOO.table.vectors, list(ZOO.table), ZOO.table.attributes).iloc[:, ::-1]
        expected = MODEL.predict(ZOO.X_new, class_vectors=ZOO.table)
        assert_array_equal(MODEL.predict(ZOO.X_new, class_vectors=reordered), expected)
        assert_allclose(MODEL.reconstruct_visual(reordered), MODEL.reconstruct_visual(ZOO.table))

    def test_a_supervised_model_knows_no_other_classes(self):
        with pytest.raises(ValueError, match="trained without class_vectors"):
            JCMSPL().fit(ZOO.X, ZOO.y).predict(ZOO.X, class_vectors=np.ones((2, 6)))

    def test_no_unseen_class_is_known(self):
        model = JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table.select(ZOO.seen))
        with pytest.raises(ValueError, match="no candidate classes: give class_vectors"):
            model.predict(ZOO.X, candidates="unseen")


class TestSeenBias:
    def test_is_taken_off_the_scores_of_seen_classes_where_both_are_candidates(self):
        plain, biased = (MODEL.decision_function(ZOO.X, seen_penalty=bias) for bias in (0, 0.25))
        assert_allclose(plain[:, :6] - 0.25, biased[:, :6], atol=1e-12)
        assert_array_equal(plain[:, 6:], biased[:, 6:])
        for group in ("seen", "unseen"):
            one, two = (MODEL.decision_function(ZOO.X, candidates=group, seen_penalty=bias) for bias in (0, 0.25))
            assert_array_equal(one, two)

    def test_of_the_model(self):
        model = fitted(seen_penalty=0.25)
        assert model.seen_penalty_ == 0.25
        assert_array_equal(model.decision_function(ZOO.X), MODEL.decision_function(ZOO.X, seen_penalty=0.25))
        assert not set(model.predict(ZOO.X, seen_penalty=1e6)) & set(ZOO.seen)
        assert not set(model.predict(ZOO.X, seen_penalty=-1e6)) & set(ZOO.unseen)


class TestTopK:
    def test_is_the_order_of_the_scores(self):
        scores = MODEL.decision_function(ZOO.X_new)
        labels, best = MODEL.predict_topk(ZOO.X_new, 4, return_scores=True)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :4]
        assert_array_equal(labels, MODEL.recogniser().labels[order])
        assert_allclose(best, np.take_along_axis(scores, order, axis=1))
        assert_array_equal(MODEL.predict_topk(ZOO.X_new, 1)[:, 0], MODEL.predict(ZOO.X_new))

    def test_default(self):
        assert MODEL.predict_topk(ZOO.X_new).shape == (45, 5)
        assert MODEL.predict_topk(ZOO.X_new, candidates="unseen").shape == (45, 3)

    def test_bad_k(self):
        with pytest.raises(ValueError, match="k is 4, but there are only 3 candidates"):
            MODEL.predict_topk(ZOO.X_new, 4, candidates="unseen")


@pytest.mark.parametrize("dtype", [np.float16, np.int32, bool])
def test_samples_that_must_be_converted_go_in_blocks(dtype):
    X = np.tile(ZOO.X * 3, (60, 1)).astype(dtype)
    assert len(X) > 4096
    expected = MODEL.decision_function(X.astype(np.float64))
    assert_allclose(MODEL.decision_function(X), expected, atol=1e-12)
    assert_array_equal(MODEL.predict(X), MODEL.predict(X.astype(np.float64)))


def test_precision_of_the_samples_is_kept():
    single = ZOO.X_new.astype(np.float32)
    for method in ("decision_function", "predict_proba", "transform", "reconstruct_semantic"):
        assert getattr(MODEL, method)(single).dtype == np.float32
        assert_allclose(getattr(MODEL, method)(single), getattr(MODEL, method)(ZOO.X_new), atol=2e-4)
    assert np.mean(MODEL.predict(single) == MODEL.predict(ZOO.X_new)) > 0.95


class TestProbabilities:
    def test_softmax(self):
        scores = MODEL.decision_function(ZOO.X_new) / 0.05
        expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        assert_allclose(MODEL.predict_proba(ZOO.X_new, temperature=0.05), expected, rtol=1e-10)
        assert_allclose(fitted(temperature=0.05).predict_proba(ZOO.X_new), expected, rtol=1e-10)

    def test_automatic_temperature_follows_the_scale_of_the_scores(self):
        model = fitted(feature_normalisation="center", metric="dot", tol=0, max_iter=10)
        scaled = JCMSPL(**model.get_params()).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        scaled.arrays_["visual_projection"] = scaled.visual_projection_ * 1000
        assert_allclose(scaled.predict_proba(ZOO.X_new), model.predict_proba(ZOO.X_new), rtol=1e-8)
        assert model.predict_proba(ZOO.X_new).max(axis=1).mean() > 2 / 9

    def test_extreme_temperatures(self):
        for X in (ZOO.X_new, ZOO.X_new.astype(np.float32)):
            for temperature in (1e-30, 5e-324):
                cold = MODEL.predict_proba(X, temperature=temperature)
                assert_allclose(cold.max(axis=1), 1)
                assert_allclose(cold.sum(axis=1), 1)
        assert_allclose(MODEL.predict_proba(ZOO.X_new, temperature=1e30), 1 / 9)
        with pytest.raises(ValueError, match="temperature must be a finite number above 0"):
            MODEL.predict_proba(ZOO.X_new, temperature=-1)
        with pytest.raises(TypeError, match="temperature must be a number or 'auto'"):
            MODEL.predict_proba(ZOO.X_new, temperature="hot")


def test_two_classes_give_one_column_only_where_scikit_learn_asks_for_it():
    rows = np.isin(ZOO.y, ZOO.seen[:2])
    model = JCMSPL().fit(ZOO.X[rows], ZOO.y[rows], class_vectors=ZOO.table.select(ZOO.seen[:2]))
    one = model.decision_function(ZOO.X[rows])
    two = model.decision_function(ZOO.X[rows], candidates="seen")
    assert one.shape == (rows.sum(),)
    assert_allclose(one, two[:, 1] - two[:, 0])
    assert MODEL.decision_function(ZOO.X, candidates=ZOO.unseen[:2]).shape == (len(ZOO.X), 2)


class TestScore:
    def test_per_class_and_per_sample(self):
        rows = np.concatenate(
            [np.flatnonzero(ZOO.y_new == ZOO.unseen[0])[:4], np.flatnonzero(ZOO.y_new != ZOO.unseen[0])]
        )
        X, y = ZOO.X_new[rows], ZOO.y_new[rows]
        predicted = MODEL.predict(X, candidates="unseen")
        assert MODEL.score(X, y) == pytest.approx(balanced_accuracy_score(y, predicted))
        assert MODEL.score(X, y, average="sample") == pytest.approx(accuracy_score(y, predicted))

    def test_candidates(self):
        rows = ZOO.y_new != ZOO.unseen[0]
        X, y = ZOO.X_new[rows], ZOO.y_new[rows]
        among = MODEL.predict(X, candidates=ZOO.unseen[1:])
        assert MODEL.score(X, y) == pytest.approx(balanced_accuracy_score(y, among))
        X, y = np.vstack([ZOO.X, ZOO.X_new]), np.concatenate([ZOO.y, ZOO.y_new])
        assert MODEL.score(X, y) == pytest.approx(balanced_accuracy_score(y, MODEL.predict(X)))

    def test_bad_input(self):
        with pytest.raises(ValueError, match="45 samples in X, 3 labels in y"):
            MODEL.score(ZOO.X_new, ZOO.y_new[:3])
        with pytest.raises(ValueError, match="no class vectors for 1 of the 1 classes in y: 'yeti'"):
            MODEL.score(ZOO.X_new[:1], ["yeti"])
        with pytest.raises(ValueError, match="average must be one of"):
            MODEL.score(ZOO.X_new, ZOO.y_new, average="macro")
        with pytest.raises(ValueError, match=r"single unseen class 'animal .*name the candidates"):
            MODEL.score(ZOO.X_new[ZOO.y_new == ZOO.unseen[0]], ZOO.y_new[ZOO.y_new == ZOO.unseen[0]])
        with pytest.raises(ValueError, match="not among the candidates and could never be right"):
            MODEL.score(ZOO.X, ["yeti", *ZOO.y[1:]])

    def test_sample_weights(self):
        weights = np.random.default_rng(0).random(len(ZOO.y_new))
        predicted = MODEL.predict(ZOO.X_new, candidates="unseen")
        expected = balanced_accuracy_score(ZOO.y_new, predicted, sample_weight=weights)
        assert MODEL.score(ZOO.X_new, ZOO.y_new, weights) == pytest.approx(expected)
        expected = accuracy_score(ZOO.y_new, predicted, sample_weight=weights)
        assert MODEL.score(ZOO.X_new, ZOO.y_new, weights, average="sample") == pytest.approx(expected)


class TestMetricOfOnesOwn:
    @pytest.mark.parametrize("space", SPACES)
    def test_any_distance(self, space):
        model = fitted(space=space, metric=lambda Z, P: cdist(Z, P, "cityblock"), seen_penalty=0.1)
        z, p = in_space(model, ZOO.X_new, model.class_table_.vectors)
        expected = -cdist(z, p, "cityblock") - 0.1 * (np.arange(9) < 6)
        assert_allclose(model.decision_function(ZOO.X_new), expected, rtol=1e-9)
        order = np.argsort(-expected, axis=1, kind="stable")[:, :3]
        assert_array_equal(model.predict_topk(ZOO.X_new, 3), model.recogniser().labels[order])
        assert_allclose(model.predict_proba(ZOO.X_new).sum(axis=1), 1)

    def test_blocks(self):
        sizes = []

        def distance(Z, P):
            sizes.append(len(Z))
            return cdist(Z, P)

        X = np.tile(ZOO.X, (30, 1))
        model = fitted(metric=distance)
        euclidean = fitted(metric="euclidean")
        assert_array_equal(model.predict(X), euclidean.predict(X))
        assert max(sizes) < len(X) == sum(sizes)

    def test_bad_distances(self):
        with pytest.raises(ValueError, match=r"shape \(45,\) for 45 samples and 9.*D\(Z, P\)"):
            fitted(metric=lambda Z, P: np.ones(len(Z))).predict(ZOO.X_new)
        with pytest.raises(ValueError, match="NaN or infinity"):
            fitted(metric=lambda Z, P: np.full((len(Z), len(P)), np.nan)).predict(ZOO.X_new)
        with pytest.raises(ValueError, match="explain needs a metric by name"):
            fitted(metric=cdist).explain(ZOO.X_new)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.predict(ZOO.X),
        lambda m: m.predict_topk(ZOO.X),
        lambda m: m.decision_function(ZOO.X),
        lambda m: m.predict_proba(ZOO.X),
        lambda m: m.transform(ZOO.X),
        lambda m: m.score(ZOO.X, ZOO.y),
        lambda m: m.reconstruct_semantic(ZOO.X),
        lambda m: m.reconstruct_visual(),
        lambda m: m.explain(ZOO.X),
        lambda m: m.recogniser(),
        lambda m: m.calibrate(ZOO.X, ZOO.y),
        lambda m: m.add_classes(ZOO.table),
        lambda m: m.save("model.safetensors"),
    ],
)
def test_before_fit(call):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(JCMSPL())


def test_bad_samples():
    X = ZOO.X.copy()
    X[3, 3] = np.inf
    for method in (MODEL.predict, MODEL.decision_function, MODEL.predict_proba, MODEL.transform):
        with pytest.raises(ValueError, match="sample 3 holds NaN or infinity"):
            method(X)
        with pytest.raises(ValueError, match="5 features, but JCMSPL is expecting 20"):
            method(ZOO.X[:, :5])
        with pytest.raises(ValueError, match="2D array"):
            method(ZOO.X[0])
        with pytest.raises(ValueError, match="X has masked values"):
            method(np.ma.masked_greater(ZOO.X, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("space", SPACES)
def test_a_far_class_does_not_change_who_is_nearest(space, dtype):
    parameters = {"space": space, "metric": "euclidean", "class_normalisation": "none"}
    model, X = fitted(**parameters), ZOO.X_new.astype(dtype)
    expected, top = model.predict(X), model.predict_topk(X, 3)
    far = {"far": 1e9 * ZOO.table.vectors[0], "farther": -1e13 * ZOO.table.vectors[1]}
    grown = fitted(**parameters).add_classes(far)
    assert_array_equal(grown.predict(X), expected)
    assert_array_equal(grown.predict_topk(X, 3), top)
    z, p = in_space(grown, ZOO.X_new, grown.class_table_.vectors)
    order = np.argsort(cdist(z, p), axis=1, kind="stable")[:, :3]
    if dtype == np.float64:
        assert_array_equal(top, np.array(list(grown.class_table_))[order])


@pytest.mark.parametrize("calibration", [0.0, 0.4])
def test_classes_that_are_all_far_away_are_still_told_apart(calibration):
    # one dimension, the identity, and classes at far + 0, 1, 2, ...: squares of far have no digits left for these
    far, places = 1e9, np.arange(6.0)[:, None]
    X, bias = far + np.linspace(0, 5, 50)[:, None], np.r_[calibration, np.zeros(5)]
    plain = Normalisation("none", Scaling(), np.zeros(1), np.ones(1))
    layer = fold(np.eye(1), np.eye(1), far + places, space="visual", metric="euclidean")
    scorer = NearestScorer(*layer, np.asarray, 1.0, far + places)
    recogniser = scorer.recogniser(plain, np.arange(6), bias)
    expected = np.argsort((X - far - places.T) ** 2 / 2 - bias, axis=1, kind="stable")[:, :3]
    indices, scores = recogniser.top_k(X, 3)
    assert_array_equal(indices, expected)
    assert (np.diff(scores, axis=1) <= 0).all()
    assert not np.array_equal(scorer.recogniser(plain, np.arange(6), bias).scores(X).argmax(axis=1), expected[:, 0])


@pytest.mark.filterwarnings("ignore:the class vector of .* is all zero")
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("model", [JCMSPL(), RidgeVS(), SAE(), ESZSL()], ids=lambda model: type(model).__name__)
def test_a_class_of_which_nothing_is_known_wins_no_samples(model, space):
    # Centred, the vectors of the seen classes span all but one direction, and the new class lies in that one.
    X = np.repeat(np.eye(5), 8, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((40, 5))
    y = np.repeat(list("abcde"), 8)
    model = clone(model).set_params(class_normalisation="center", space=space)
    model.fit(X, y, class_vectors=dict(zip("abcde", np.eye(5), strict=True)))
    model.add_classes({"nothing": np.zeros(5)})
    if space == "semantic":  # its own vector is a direction like any other; the mean of the others is none
        model.add_classes({"mean": np.full(5, 0.2)})
        assert_allclose(model.decision_function(X, candidates=["mean", "a"])[:, 0], 0, atol=0)
    else:
        assert_allclose(model.decision_function(X, candidates=["nothing", "a"])[:, 0], 0, atol=1e-15)
        assert "nothing" not in model.predict(X)


@pytest.mark.parametrize("metric", METRICS)
def test_a_bad_sample_has_its_own_number(metric):
    samples = np.tile(ZOO.X_new, (1 + 3000 // len(ZOO.X_new), 1))
    samples[2500, 0] = np.nan
    with pytest.raises(ValueError, match="sample 2500 holds NaN"):
        fitted(metric=metric).predict(samples, candidates="unseen")


def test_a_linear_layer_is_shown_in_a_line():
    text = repr(fitted().recogniser(candidates="unseen"))
    assert text.startswith("<LinearRecogniser: ")
    assert f" candidates, {ZOO.X.shape[1]} features" in text
    assert "\n" not in text


@pytest.mark.parametrize("form", [pd.DataFrame, dict])
def test_score_takes_class_vectors_of_any_form(form):
    model, unseen = fitted(), {label: ZOO.table[label] for label in ZOO.unseen}
    given = pd.DataFrame(unseen).T if form is pd.DataFrame else unseen
    expected = model.score(ZOO.X_new, ZOO.y_new, candidates="unseen")
    assert model.score(ZOO.X_new, ZOO.y_new, class_vectors=given) == expected
