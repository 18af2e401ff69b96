"""Knowledge of a class besides its vector: labelled samples, and the class vector itself where it is aligned."""

import copy
import json
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file, save_file
from scipy.spatial.distance import cdist

from jcmspl import JCMSPL, JCMSPLCV, ClassKFold, ClassSearchCV, ClassTable, load
from jcmspl.exceptions import ModelFileError
from jcmspl.io.archive import read_archive
from jcmspl.methods import RPL, RidgeVS
from support.animals import make_zoo
from support.threads import in_threads

ZOO = make_zoo(n_seen=8, n_unseen=4, noise=1.0)
WHITENED = {"feature_normalisation": "sample_l2+center+whiten", "class_normalisation": "sample_l2+center_unit"}
SHOTS = np.concatenate([np.flatnonzero(ZOO.y_new == name)[:3] for name in ZOO.unseen[:3]])  # none of the last class
X_SHOT, Y_SHOT = ZOO.X_new[SHOTS], ZOO.y_new[SHOTS]
X_TEST = np.delete(ZOO.X_new, SHOTS, axis=0)


def fitted(table=ZOO.table, method=JCMSPL, **parameters):
    parameters = {"space": "visual", **WHITENED, "progress": False, **parameters}
    return method(**parameters).fit(ZOO.X, ZOO.y, class_vectors=table)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def normalised(model, X):
    return model.feature_normalisation_.of_rows(np.asarray(X, dtype=np.float64))


def predicted(model, names):
    """A'By of each class."""
    y = model.class_normalisation_.of_rows(ZOO.table.select(names).vectors)
    return y @ model.semantic_projection_.T @ model.visual_projection_


def scores(model, names=tuple(ZOO.unseen)):
    return model.decision_function(X_TEST, candidates=list(names))


def assert_same_scores(one, two):
    assert_allclose(scores(one), scores(two), rtol=0, atol=1e-10 * np.abs(scores(two)).max())


class TestSeenClasses:
    @pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
    def test_cosine(self, share):
        model = fitted(seen_mean_share=share)
        means = np.array([normalised(model, ZOO.X[ZOO.y == name]).mean(axis=0) for name in ZOO.seen])
        prototypes = unit((1 - share) * unit(predicted(model, ZOO.seen)) + share * unit(means))
        assert_allclose(scores(model, ZOO.seen), normalised(model, X_TEST) @ prototypes.T, atol=1e-9)

    @pytest.mark.parametrize("metric", ["euclidean", "dot", "function"])
    def test_points(self, metric):
        model = fitted(seen_mean_share=0.3, metric=cdist if metric == "function" else metric)
        z = normalised(model, X_TEST)
        means = np.array([normalised(model, ZOO.X[ZOO.y == name]).mean(axis=0) for name in ZOO.seen])
        prototypes = 0.7 * predicted(model, ZOO.seen) + 0.3 * means
        expected = {
            "dot": z @ prototypes.T,
            "euclidean": z @ prototypes.T - (prototypes**2).sum(axis=1) / 2,
            "function": -cdist(z, prototypes),
        }[metric]
        assert_allclose(scores(model, ZOO.seen), expected, atol=1e-9)

    def test_only_in_the_visual_space(self):
        for space in ("semantic", "concept"):
            one, two = (fitted(space=space, seen_mean_share=share) for share in (0, 1))
            assert_array_equal(scores(one, ZOO.seen), scores(two, ZOO.seen))
        assert_array_equal(scores(fitted(), ZOO.seen), scores(fitted(seen_mean_share=0.5), ZOO.seen))
        assert RPL().seen_mean_share == 0

    def test_another_vector_is_another_class(self):
        model = fitted(seen_mean_share=0.8)
        name = ZOO.seen[0]
        vectors = {name: ZOO.table[name], "other": ZOO.table[ZOO.unseen[0]]}
        as_trained = model.decision_function(X_TEST, class_vectors=vectors)[:, 0]
        assert_allclose(as_trained, scores(model, ZOO.seen)[:, 0])
        vectors[name] = vectors[name] + 1e-6
        changed = model.decision_function(X_TEST, class_vectors=vectors)[:, 0]
        assert_allclose(changed, scores(fitted(seen_mean_share=0), ZOO.seen)[:, 0], atol=1e-4)
        assert np.abs(changed - as_trained).max() > 0.01


class TestFewShots:
    @pytest.mark.parametrize("normalisation", ["sample_l2+center+whiten", "none", "zscore", "power+center"])
    @pytest.mark.parametrize("kappa", [0.0, 0.5, 1.0, 7.0])
    def test_cosine(self, normalisation, kappa):
        model = fitted(feature_normalisation=normalisation, prediction_count=kappa).add_classes(X=X_SHOT, y=Y_SHOT)
        z, length = normalised(model, X_SHOT), np.sqrt((normalised(model, ZOO.X) ** 2).sum(axis=1).mean())
        sums = np.array([z[name == Y_SHOT].sum(axis=0) for name in ZOO.unseen[:3]])
        prototypes = unit(kappa * unit(predicted(model, ZOO.unseen[:3])) + sums / length)
        expected = normalised(model, X_TEST) @ prototypes.T
        assert_allclose(scores(model, ZOO.unseen[:3]), expected, atol=1e-9 * np.abs(expected).max())
        alone = ZOO.unseen[3:]  # a class without samples is where it was
        assert_array_equal(scores(model, alone), scores(fitted(feature_normalisation=normalisation), alone))

    def test_points(self):
        model = fitted(metric="dot", prediction_count=2).add_classes(X=X_SHOT, y=Y_SHOT)
        sums = np.array([normalised(model, X_SHOT[name == Y_SHOT]).sum(axis=0) for name in ZOO.unseen[:3]])
        prototypes = (2 * predicted(model, ZOO.unseen[:3]) + sums) / (2 + 3)
        assert_allclose(scores(model, ZOO.unseen[:3]), normalised(model, X_TEST) @ prototypes.T, atol=1e-9)

    def test_infinity_is_without_samples_and_zero_without_prediction(self):
        plain = fitted()
        model = fitted(prediction_count=np.inf).add_classes(X=X_SHOT, y=Y_SHOT)
        assert_array_equal(scores(model), scores(plain))
        names = ZOO.unseen[:3]
        means = np.array([normalised(plain, X_SHOT[name == Y_SHOT]).mean(axis=0) for name in names])
        nearest = np.array(names)[cdist(normalised(plain, X_TEST), means, "cosine").argmin(axis=1)]
        assert_array_equal(model.set_params(prediction_count=0).predict(X_TEST, candidates=names), nearest)

    def test_order_and_chunks_do_not_matter(self):
        expected = fitted().add_classes(X=X_SHOT, y=Y_SHOT)
        order = np.random.default_rng(0).permutation(len(SHOTS))
        one_by_one = fitted()
        for i in order:
            one_by_one.add_classes(X=X_SHOT[i : i + 1], y=Y_SHOT[i : i + 1])
        assert_same_scores(one_by_one, expected)
        chunks = [(X_SHOT[order[:4]], Y_SHOT[order[:4]]), (X_SHOT[order[4:]], Y_SHOT[order[4:]])]
        assert_same_scores(fitted().add_classes(X=iter(chunks)), expected)
        assert_same_scores(fitted().partial_fit(X_SHOT[order], Y_SHOT[order], refit=False), expected)

    @pytest.mark.parametrize("add", ["add_classes", "partial_fit"])
    def test_new_classes_are_candidates_at_once(self, add):
        new = ZOO.table.select(ZOO.unseen)
        model = fitted(ZOO.table.select(ZOO.seen))
        A = model.visual_projection_
        if add == "add_classes":
            model.add_classes(new, X_SHOT, Y_SHOT)
        else:
            model.partial_fit(X_SHOT, Y_SHOT, class_vectors=new, refit=False)
        assert_array_equal(model.visual_projection_, A)
        assert_array_equal(model.classes_, ZOO.seen)
        assert set(model.unseen_classes_) == set(ZOO.unseen)
        assert_same_scores(model, fitted().add_classes(X=X_SHOT, y=Y_SHOT))

    def test_a_later_solution_learns_from_them(self):
        model = fitted().add_classes(X=X_SHOT, y=Y_SHOT)
        rest = (ZOO.X[:10], ZOO.y[:10])
        assert_array_equal(sorted(model.partial_fit(*rest).classes_), sorted([*ZOO.seen, *ZOO.unseen[:3]]))
        assert_same_scores(model, fitted().partial_fit(X_SHOT, Y_SHOT).partial_fit(*rest))

    def test_further_samples_of_trained_classes_count_at_once(self):
        model = fitted(seen_mean_share=1).partial_fit(ZOO.X[:40], ZOO.y[:40], refit=False)
        X, y = np.vstack([ZOO.X, ZOO.X[:40]]), np.concatenate([ZOO.y, ZOO.y[:40]])
        means = np.array([normalised(model, X[y == name]).mean(axis=0) for name in ZOO.seen])
        assert_allclose(scores(model, ZOO.seen), normalised(model, X_TEST) @ unit(means).T, atol=1e-9)

    def test_a_new_vector_keeps_the_samples(self):
        name, other = ZOO.unseen[:2]
        model = fitted(prediction_count=0).add_classes(X=X_SHOT, y=Y_SHOT)
        before = scores(model)
        model.add_classes({name: ZOO.table[other]}, replace=True)
        assert_allclose(scores(model), before, atol=1e-12)
        given = {name: ZOO.table[ZOO.unseen[2]], "rival": ZOO.table[other]}  # at a call it is another class
        alone = fitted().decision_function(X_TEST, class_vectors=given)
        assert_array_equal(model.decision_function(X_TEST, class_vectors=given), alone)

    def test_searches_hand_samples_on(self):
        search = ClassSearchCV(RPL(**WHITENED), {"alpha": (1.0, 10.0)}, cv=2, extend=0)
        search.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        before = scores(search)
        search.add_classes(X=X_SHOT, y=Y_SHOT)
        assert_same_scores(search, search.best_estimator_)
        assert np.abs(scores(search) - before).max() > 0.01
        tuned = JCMSPLCV(prediction_count=np.inf, seen_mean_share=0.25, cosine_share=0)
        assert (tuned._template().prediction_count, tuned._template().seen_mean_share) == (np.inf, 0.25)

    def test_one_set_of_samples_from_many_threads(self):
        model = fitted()
        halves = [SHOTS[::2], SHOTS[1::2]]
        in_threads(*[lambda rows=rows: model.add_classes(X=ZOO.X_new[rows], y=ZOO.y_new[rows]) for rows in halves])
        assert_same_scores(model, fitted().add_classes(X=X_SHOT, y=Y_SHOT))


class TestMistakes:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({}, "nothing was given: pass class_vectors, or samples X"),
            ({"y": Y_SHOT}, "y came without X"),
            ({"X": X_SHOT}, "requires y to be passed"),
            ({"X": X_SHOT, "y": Y_SHOT[:-1]}, "inconsistent numbers of samples"),
            ({"X": X_SHOT[:, :5], "y": Y_SHOT}, "X has 5 features, but JCMSPL is expecting 20"),
            ({"X": X_SHOT, "y": ["yeti"] * len(X_SHOT)}, "no class vectors for 1 of the 1 classes in y: 'yeti'"),
            ({"X": X_SHOT, "y": [ZOO.seen[0]] * len(X_SHOT)}, "which the model was trained on: use partial_fit"),
            ({"X": X_SHOT * np.nan, "y": Y_SHOT}, "NaN"),
            ({"X": [], "y": []}, "0 sample|1D array"),
        ],
    )
    def test_change_nothing(self, arguments, message):
        model = fitted()
        before = scores(model)
        with pytest.raises(ValueError, match=message):
            model.add_classes(**({"class_vectors": {"new": ZOO.table.vectors[0] + 1}} if arguments else {}) | arguments)
        assert_array_equal(scores(model), before)
        assert "new" not in model.class_table_
        assert model.statistics_.n_samples == len(ZOO.X)

    def test_a_metric_that_there_is_not(self):
        with pytest.raises(ValueError, match="metric must be one of"):
            fitted().set_params(metric="cosin").predict(X_TEST, candidates="unseen")

    def test_without_class_vectors(self):
        model = RPL().fit(ZOO.X, ZOO.y)
        with pytest.raises(ValueError, match="trained without class_vectors"):
            model.add_classes(X=X_SHOT, y=Y_SHOT)

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("seen_mean_share", 1.5, "seen_mean_share must be from 0 to 1, but is 1.5"),
            ("seen_mean_share", "half", "from 0 to 1 or .auto., but is .half."),
            ("prediction_count", -1, "at least 0, but is -1"),
            ("prediction_count", np.nan, "must be a finite number"),
            ("prediction_count", -np.inf, "must be a finite number"),
            ("cosine_share", -0.1, "cosine_share must be from 0 to 1"),
            ("cosine_share", 0.5, "samples have 20 features and class vectors 8 attributes"),
        ],
    )
    def test_parameters(self, name, value, message):
        with pytest.raises((ValueError, TypeError), match=message):
            fitted(**{name: value})
        with pytest.raises((ValueError, TypeError), match=message):
            fitted().set_params(**{name: value}).predict(X_TEST, candidates="unseen")


def described(content):
    """The facts of a model file."""
    return {"format": "jcmspl model", "format_version": "2", "content": json.dumps(content)}


class TestFiles:
    @pytest.mark.parametrize("statistics", [False, True])
    @pytest.mark.parametrize("normalisation", ["sample_l2+center+whiten", "center"])
    def test_round_trip(self, tmp_path, statistics, normalisation):
        model = fitted(feature_normalisation=normalisation, prediction_count=0.7, seen_mean_share=0.4)
        model.add_classes({"a first one": ZOO.table.vectors[0] + 1}, X_SHOT[:2], ["a first one"] * 2)
        model.add_classes(X=X_SHOT[:5], y=Y_SHOT[:5])
        model.save(tmp_path / "model", statistics=statistics)
        for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            assert_array_equal(again.decision_function(X_TEST), model.decision_function(X_TEST))
            again.add_classes(X=X_SHOT[5:], y=Y_SHOT[5:])
            expected = pickle.loads(pickle.dumps(model)).add_classes(X=X_SHOT[5:], y=Y_SHOT[5:])
            assert_same_scores(again, expected)

    def test_infinity(self, tmp_path):
        fitted(prediction_count=np.inf).save(tmp_path / "model")
        assert load(tmp_path / "model").prediction_count == np.inf

    def test_files_without_samples(self, tmp_path):
        """As older versions wrote them: the means of classes, no counts, and no parameters of this kind."""
        model = fitted(seen_mean_share=0.6)
        model.save(tmp_path / "model")
        content = read_archive(tmp_path / "model", 2, lambda *_: ()).content
        arrays = {name: a for name, a in load_file(tmp_path / "model").items() if name not in ("class_sums", "counts")}
        content |= {"sampled_labels": []}
        del content["sample_length"], content["arrays"]
        for name in ("seen_mean_share", "prediction_count", "cosine_share"):
            del content["parameters"][name]
        save_file(arrays, tmp_path / "old", described(content))
        old = load(tmp_path / "old")
        assert old.seen_mean_share == 0  # as it was
        assert_array_equal(scores(old, ZOO.seen), scores(fitted(seen_mean_share=0), ZOO.seen))
        assert_allclose(scores(old.set_params(seen_mean_share=0.6), ZOO.seen), scores(model, ZOO.seen), atol=1e-12)
        assert_same_scores(old.add_classes(X=X_SHOT, y=Y_SHOT), model.add_classes(X=X_SHOT, y=Y_SHOT))

    @pytest.mark.parametrize(
        ("damage", "message"),
        [("counts", "number of samples of each class"), ("labels", "two sums"), ("length", "is not above 0")],
    )
    def test_damaged_files(self, tmp_path, damage, message):
        fitted().save(tmp_path / "model")
        content = read_archive(tmp_path / "model", 2, lambda *_: ()).content
        arrays = load_file(tmp_path / "model")
        if damage == "counts":
            arrays["counts"] = -arrays["counts"]
        elif damage == "labels":
            content["sampled_labels"][1] = content["sampled_labels"][0]
        else:
            content["sample_length"] = 0.0
        save_file(arrays, tmp_path / "bad", described(content))
        with pytest.raises(ModelFileError, match=message):
            load(tmp_path / "bad")


class TestExplain:
    @pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
    def test_parts_sum_up_and_samples_are_one_of_them(self, metric):
        model = fitted(metric=metric, seen_penalty=0.3).add_classes(X=X_SHOT, y=Y_SHOT)
        for label, share_of_samples in ((ZOO.unseen[0], True), (ZOO.unseen[3], False), (ZOO.seen[0], True)):
            explanation = model.explain(X_TEST[:1], label=label, against=None, candidates="all")[0]
            bias = 0.3 if label in ZOO.seen else 0
            assert explanation.contributions.sum() == pytest.approx(explanation.score + bias)
            assert explanation.attributes[-1] == "(its samples)"
            assert (abs(explanation.contributions[-1]) > 1e-6) == share_of_samples
        plain = fitted(metric=metric).explain(X_TEST[:1], candidates="unseen")[0]
        assert plain.attributes == ZOO.table.attributes


class TestAligned:
    """Samples and class vectors of one encoder."""

    RNG = np.random.default_rng(4)
    VECTORS = RNG.standard_normal((12, 16)) + 0.5
    Y = np.repeat(np.arange(12), 10)
    X = VECTORS[Y] + 1.5 * RNG.standard_normal((120, 16))

    def fitted(self, **parameters):
        seen = self.Y < 8
        options = {"space": "visual", "progress": False, **WHITENED, **parameters}
        return JCMSPL(**options).fit(self.X[seen], self.Y[seen], class_vectors=ClassTable(range(12), self.VECTORS))

    @pytest.mark.filterwarnings("ignore::jcmspl.exceptions.AlignmentWarning")
    def test_share_of_the_cosine(self):
        model, plain = self.fitted(cosine_share=0.3), self.fitted(cosine_share=0.0)
        X, names = self.X[80:], [8, 9, 10, 11]
        cosines = unit(X) @ unit(self.VECTORS[8:]).T
        means = np.array([unit(self.X[c == self.Y]).mean(axis=0) for c in range(8)])
        z = (means - plain.feature_normalisation_.shift) @ plain.feature_normalisation_.whitening.T
        y = plain.class_normalisation_.of_rows(self.VECTORS[:8])
        of_model = z @ unit(y @ plain.semantic_projection_.T @ plain.visual_projection_).T
        of_cosine = means @ unit(self.VECTORS[:8]).T
        ratio = np.std(of_model - of_model.mean(axis=1)[:, None]) / np.std(of_cosine - of_cosine.mean(axis=1)[:, None])
        expected = 0.7 * plain.decision_function(X, candidates=names) + 0.3 * ratio * cosines
        assert_allclose(model.decision_function(X, candidates=names), expected, atol=1e-9)
        explanation = model.explain(X[:1], candidates=names, against=None)[0]
        assert explanation.attributes[-1] == "(its vector)"
        assert explanation.contributions.sum() == pytest.approx(explanation.score)

    def test_all_of_the_score(self):
        nearest = cdist(self.X[80:], self.VECTORS[8:], "cosine").argmin(axis=1) + 8
        assert_array_equal(self.fitted(cosine_share=1).predict(self.X[80:], candidates="unseen"), nearest)

    def test_lengths_that_are_left_alone(self):
        model = self.fitted(cosine_share=1, feature_normalisation="zscore_unit")
        expected = self.X[80:] @ unit(self.VECTORS[8:]).T
        found = model.decision_function(self.X[80:], candidates="unseen")
        assert_allclose(found / found[0, 0], expected / expected[0, 0], atol=1e-9)

    def test_in_a_search_and_with_samples(self):
        search = ClassSearchCV(RPL(**WHITENED), {"alpha": (1.0,), "cosine_share": (0.0, 0.5)}, cv=2, extend=0)
        seen = self.Y < 8
        search.fit(self.X[seen], self.Y[seen], class_vectors=ClassTable(range(12), self.VECTORS))
        for number, share in enumerate((0.0, 0.5)):
            model = RPL(**WHITENED, cosine_share=share)
            means = []
            for train, test in self.folds(search):
                model.fit(self.X[train], self.Y[train], class_vectors=ClassTable(range(12), self.VECTORS))
                means.append(model.score(self.X[test], self.Y[test]))
            assert search.cv_results_["mean_test_score"][number] == pytest.approx(np.mean(means))
        model = self.fitted(cosine_share=0.5).add_classes(X=self.X[80:90], y=self.Y[80:90])
        assert np.isfinite(model.predict_proba(self.X)).all()

    def folds(self, search):
        seen = np.flatnonzero(self.Y < 8)
        for train, test in ClassKFold(search.n_splits_, random_state=0).split(self.X[seen], self.Y[seen]):
            yield seen[train], seen[test]

    @pytest.mark.parametrize("metric", ["euclidean", "dot", cdist])
    def test_refused(self, metric):
        with pytest.raises(ValueError, match="cosine_share takes metric='cosine'"):
            self.fitted(cosine_share=0.5, metric=metric)
        with pytest.raises(ValueError, match="cosine_share takes metric='cosine'"):
            self.fitted(metric=metric).set_params(cosine_share=0.5).predict(self.X)
        with pytest.raises(ValueError, match="takes roots of samples"):
            self.fitted(cosine_share=0.5, feature_normalisation="power+sample_l2")
        with pytest.raises(ValueError, match="20 features and class vectors 8 attributes"):
            fitted().set_params(cosine_share=0.5).predict(X_TEST, candidates="unseen")


def test_other_spaces_and_methods_are_as_they_were():
    for model in (RidgeVS(), JCMSPL(space="concept")):
        one = model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
        before = scores(one)
        assert_array_equal(scores(one.add_classes(X=X_SHOT, y=Y_SHOT)), before)


def test_a_huge_weight_of_the_prediction_is_as_an_infinite_one():
    zoo = make_zoo(n_seen=6, n_unseen=3, per_class=6, noise=0.5)
    model = JCMSPL(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    model.add_classes(X=zoo.X_new[:4], y=zoo.y_new[:4])
    scores = [
        model.set_params(prediction_count=weight).decision_function(zoo.X_new, candidates="unseen")
        for weight in (1e200, 1e308, np.inf)
    ]
    assert_allclose(scores[0], scores[2])
    assert_allclose(scores[1], scores[2])


@pytest.mark.parametrize("scale", [1e160, 1e-160, 1e-310])
def test_class_vectors_of_any_size_are_aligned_alike(scale):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((9, 12))
    y = np.repeat(np.arange(6), 8)
    X = vectors[y] + rng.standard_normal((48, 12))
    scores = [
        JCMSPL(cosine_share=0.5, progress=False).fit(X, y, class_vectors=vectors * size).decision_function(X)
        for size in (1.0, scale)
    ]
    assert_allclose(scores[1], scores[0], atol=1e-6 if scale > 1e-300 else 1e-2)


def test_samples_of_two_calls_count_as_those_of_one():
    zoo = make_zoo(n_seen=6, n_unseen=3, per_class=6, noise=0.5)
    models = [
        JCMSPL(class_weight="balanced", progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table) for _ in range(2)
    ]
    models[0].add_classes(X=zoo.X_new, y=zoo.y_new)
    for rows in (slice(0, 1), slice(1, None)):
        models[1].add_classes(X=zoo.X_new[rows], y=zoo.y_new[rows])
    assert_allclose(*(model.decision_function(zoo.X_new) for model in models))


def test_a_copy_has_statistics_of_its_own():
    zoo = make_zoo(n_seen=6, per_class=6)
    model = JCMSPL(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    twin = copy.copy(model).partial_fit(zoo.X, zoo.y, refit=False)
    assert (model.statistics_.n_samples, twin.statistics_.n_samples) == (len(zoo.X), 2 * len(zoo.X))


def test_new_labels_undo_an_adaptation():
    zoo = make_zoo(n_seen=6, n_unseen=3, per_class=10, noise=0.3)
    model = JCMSPL(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table).adapt(zoo.X_new, candidates="unseen")
    model.partial_fit(zoo.X_new[:5], zoo.y_new[:5], refit=False)
    assert not hasattr(model, "adapted_")
    with pytest.raises(ValueError, match="adaptation_pull must be above 0"):
        model.set_params(adaptation_pull=-1.0).adapt(zoo.X_new, candidates="unseen")
