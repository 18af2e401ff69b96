"""cosine_share="auto": encoders that agree are recognised, and the plain cosine gets a share."""

import logging
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import JCMSPL, ClassTable, load
from jcmspl.core import Statistics
from jcmspl.exceptions import AlignmentWarning
from jcmspl.methods import RPL, TextPrototypes
from jcmspl.model.prototypes import COSINE_COUNT, LONE_SHARE, NEW_SHARE

N_SEEN, N_CLASSES, M = 12, 18, 24


def make(seed=0, noise=1.0, per_class=9):
    """Samples around their class vectors, moved by what all samples have in common."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((N_CLASSES, M))
    y = np.repeat(np.arange(N_CLASSES), per_class)
    X = vectors[y] + noise * rng.standard_normal((len(y), M)) + 0.5 * rng.standard_normal(M)
    return X, y, vectors


X, Y, VECTORS = make()
TABLE = ClassTable(range(N_CLASSES), VECTORS)
SEEN = Y < N_SEEN
NEW = list(range(N_SEEN, N_CLASSES))
X_NEW = X[~SEEN]


def fitted(X=X, table=TABLE, method=JCMSPL, **parameters):
    return method(progress=False, **parameters).fit(X[SEEN], Y[SEEN], class_vectors=table)


def scores(model, **options):
    return model.decision_function(X_NEW, **{"candidates": NEW, **options})


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class TestDecision:
    def test_fitted_attributes(self):
        model = fitted()
        means = np.array([unit(X[number == Y]).mean(axis=0) for number in range(N_SEEN)])
        nearest = (unit(means) @ unit(VECTORS[:N_SEEN]).T).argmax(axis=1)
        assert model.alignment_.share == np.mean(nearest == np.arange(N_SEEN))
        assert model.alignment_.is_aligned
        assert model.cosine_share_ == NEW_SHARE
        assert "own vector" in model._repr_html_()
        with pytest.raises(AttributeError, match="not fitted"):
            JCMSPL().alignment_  # noqa: B018

    def test_new_classes_get_the_share_that_a_number_means(self):
        """For classes without samples, "auto" is the same as the number it finds, but for what all scores have."""
        difference = scores(fitted()) - scores(fitted(cosine_share=NEW_SHARE))
        assert_allclose(difference, np.repeat(difference[:, :1], len(NEW), axis=1), atol=1e-12)

    def test_unaligned_vectors_of_equal_length_change_nothing(self):
        table = ClassTable(range(N_CLASSES), VECTORS[:, ::-1])
        model = fitted(table=table)
        assert not model.alignment_.is_aligned
        assert_array_equal(scores(model), scores(fitted(table=table, cosine_share=0.0)))
        seen = list(range(N_SEEN))
        plain = fitted(table=table, cosine_share=0.0, seen_mean_share=0.5)
        assert_array_equal(scores(model, candidates=seen), scores(plain, candidates=seen))

    @pytest.mark.parametrize("parameters", [{"space": "semantic"}, {"space": "concept"}, {"metric": "euclidean"}])
    def test_only_the_cosine_in_the_visual_space(self, parameters):
        model = fitted(**parameters)
        assert model.cosine_share_ == 0
        assert_array_equal(scores(model), scores(fitted(**parameters, cosine_share=0.0, seen_mean_share=0.5)))

    def test_other_lengths_and_no_class_vectors(self):
        model = fitted(table=ClassTable(range(N_CLASSES), VECTORS[:, :9]))
        assert model.alignment_ is None
        assert model.cosine_share_ == 0
        supervised = JCMSPL(progress=False).fit(np.eye(12)[Y[SEEN]] + 0.1 * X[SEEN][:, :12], Y[SEEN])
        assert supervised.alignment_ is None  # its class vectors are not the user's

    def test_methods_have_it_as_an_option(self):
        visual = {"space": "visual", "feature_normalisation": "sample_l2+center"}
        assert RPL().cosine_share == 0
        assert fitted(method=RPL, **visual).cosine_share_ == 0
        assert fitted(method=RPL, cosine_share="auto", **visual).cosine_share_ == NEW_SHARE

    def test_the_log_tells(self, caplog):
        with caplog.at_level(logging.INFO, "jcmspl"):
            fitted()
        assert "class vectors and samples are aligned: 100 %" in caplog.text


class TestSeenClasses:
    def test_shares_fall_with_the_number_of_samples(self):
        """The score is written out: prototype and cosine, both with shares that depend on n."""
        rows = np.concatenate([np.flatnonzero(number == Y)[: 2 + number % 4] for number in range(N_SEEN)])
        model = JCMSPL(progress=False).fit(X[rows], Y[rows], class_vectors=TABLE)
        n = np.bincount(Y[rows])
        f = model.feature_normalisation_
        z, z_new = f.of_rows(X[rows]), f.of_rows(X_NEW)
        y = model.class_normalisation_.of_rows(VECTORS[:N_SEEN])
        predicted = unit(y @ model.semantic_projection_.T @ model.visual_projection_)
        means = np.array([z[Y[rows] == number].mean(axis=0) for number in range(N_SEEN)])
        share = (n / (COSINE_COUNT + n))[:, None]
        prototypes = unit((1 - share) * predicted + share * unit(means))
        cosines, of_means = unit(X_NEW) @ unit(VECTORS[:N_SEEN]).T, z.reshape(len(rows), -1)
        assert of_means.shape == z.shape
        raw = np.array([unit(X[rows][Y[rows] == number]).mean(axis=0) for number in range(N_SEEN)])
        one, two = means @ predicted.T, raw @ unit(VECTORS[:N_SEEN]).T
        ratio = np.std(one - one.mean(axis=1)[:, None]) / np.std(two - two.mean(axis=1)[:, None])
        weight = NEW_SHARE * COSINE_COUNT / (COSINE_COUNT + n)
        level = unit(X_NEW) @ unit(VECTORS[:N_SEEN]).mean(axis=0)  # what all classes have in common
        expected = (1 - weight) * (z_new @ prototypes.T) + weight * ratio * (cosines - level[:, None])
        assert_allclose(scores(model, candidates=list(range(N_SEEN))), expected, atol=1e-9)

    def test_added_classes_with_a_few_samples(self):
        model = fitted().add_classes(X=X_NEW[:3], y=Y[~SEEN][:3])  # of the first new class
        before, after = scores(fitted()), scores(model)
        assert_allclose(after[:, 1:], before[:, 1:], atol=1e-12)
        assert np.abs(after[:, 0] - before[:, 0]).max() > 1e-3
        explanation = model.explain(X_NEW[:1], label=NEW[0], against=None, candidates=NEW)[0]
        assert explanation.attributes[-1] == "(its samples and vector)"
        assert explanation.contributions.sum() == pytest.approx(explanation.score)

    def test_no_kind_of_class_wins_by_its_share_alone(self):
        """Text vectors have a direction in common, which adds to the cosine of every sample and class."""
        common = 15 * np.eye(M)[0]
        table = ClassTable(range(N_CLASSES), VECTORS + common)
        model = JCMSPL(progress=False).fit(X[SEEN] + common, Y[SEEN], class_vectors=table)
        assert model.alignment_.is_aligned
        named = model.predict(np.vstack([X_NEW, X[SEEN]]) + common, seen_penalty=0.0)
        is_new = np.isin(named, NEW)
        assert is_new[: len(X_NEW)].mean() > 0.8
        assert is_new[len(X_NEW) :].mean() < 0.2  # 1 if the larger share of new classes decides

    def test_one_sample_of_each_class_does_not_outweigh_the_cosine(self):
        """Without scatter within classes nothing is whitened, and little is known of samples."""
        rows = np.array([np.flatnonzero(number == Y)[0] for number in range(N_SEEN)])
        with pytest.warns(RuntimeWarning, match="one sample of each class"):
            model = JCMSPL(progress=False).fit(X[rows], Y[rows], class_vectors=TABLE)
        assert model.cosine_share_ == LONE_SHARE
        assert_allclose(model._cosine_shares(TABLE), LONE_SHARE)

    def test_a_number_holds_for_all_classes(self):
        model = fitted(cosine_share=0.3)
        assert_allclose(model._cosine_shares(TABLE), 0.3)


class TestWays:
    """The same model, however the samples come and wherever it goes."""

    def test_files_pickles_and_set_params(self, tmp_path):
        model = fitted()
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.alignment_ == model.alignment_
        assert_allclose(scores(again), scores(model), atol=1e-12)
        assert_array_equal(scores(pickle.loads(pickle.dumps(model))), scores(model))
        changed = again.set_params(cosine_share=0.0)
        assert changed.cosine_share_ == 0
        assert_allclose(scores(changed.set_params(cosine_share="auto")), scores(model), atol=1e-12)

    def test_chunks_parts_and_statistics(self):
        whole = scores(fitted())
        chunks = [(X[SEEN][i : i + 17], Y[SEEN][i : i + 17]) for i in range(0, SEEN.sum(), 17)]
        streamed = JCMSPL(progress=False).fit(iter(chunks), class_vectors=TABLE)
        assert_allclose(scores(streamed), whole, atol=1e-9)
        grown = JCMSPL(progress=False)
        for chunk in chunks:
            grown.partial_fit(*chunk, class_vectors=TABLE)
        assert_allclose(scores(grown), whole, atol=1e-9)
        statistics = Statistics(M, N_SEEN, unit_rows=True).update(X[SEEN], Y[SEEN])
        summed = JCMSPL(progress=False).fit_from_statistics(statistics, class_vectors=TABLE)
        assert_allclose(scores(summed), whole, atol=1e-9)

    def test_class_vectors_at_predict(self):
        model = JCMSPL(progress=False).fit(X[SEEN], Y[SEEN], class_vectors=TABLE.select(range(N_SEEN)))
        given = {number: VECTORS[number] for number in NEW}
        assert_allclose(model.decision_function(X_NEW, class_vectors=given), scores(fitted()), atol=1e-12)

    def test_a_linear_layer(self, tmp_path):
        onnxruntime = pytest.importorskip("onnxruntime")
        model = fitted()
        recogniser = model.recogniser(candidates=NEW)
        assert_allclose(recogniser.scores(X_NEW), scores(model), atol=1e-12)
        recogniser.to_onnx(tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
        found = session.run(None, {session.get_inputs()[0].name: X_NEW.astype(np.float32)})
        assert any(out.shape == (len(X_NEW), len(NEW)) and np.allclose(out, scores(model), atol=1e-4) for out in found)

    def test_dask(self):
        da = pytest.importorskip("dask.array")
        parts = da.from_array(X[SEEN], chunks=(31, M)), da.from_array(Y[SEEN], chunks=31)
        model = JCMSPL(progress=False).fit(*parts, class_vectors=TABLE)
        assert model.alignment_.is_aligned
        assert_allclose(scores(model), scores(fitted()), atol=1e-9)

    def test_calibrated(self):
        model = fitted().calibrate(X[SEEN], Y[SEEN])
        assert np.isfinite(model.seen_penalty_)
        assert set(model.predict(X_NEW)) <= set(range(N_CLASSES))


class TestRoots:
    """A cosine knows no roots: of samples that are not negative none are taken where encoders are aligned."""

    POSITIVE, POSITIVE_TABLE = np.abs(X), ClassTable(range(N_CLASSES), np.abs(VECTORS))

    def test_not_taken(self):
        model = fitted(X=self.POSITIVE, table=self.POSITIVE_TABLE)
        assert model.alignment_.is_aligned
        assert not model.feature_normalisation_.scaling.power
        chunks = [(self.POSITIVE[SEEN][i::3], Y[SEEN][i::3]) for i in range(3)]
        streamed = JCMSPL(progress=False).fit(iter(chunks), class_vectors=self.POSITIVE_TABLE)
        assert not streamed.feature_normalisation_.scaling.power

    def test_taken_where_encoders_do_not_agree_or_the_cosine_is_not_wanted(self):
        table = ClassTable(range(N_CLASSES), np.abs(VECTORS)[:, ::-1])
        assert fitted(X=self.POSITIVE, table=table).feature_normalisation_.scaling.power
        model = fitted(X=self.POSITIVE, table=self.POSITIVE_TABLE, cosine_share=0.0)
        assert model.feature_normalisation_.scaling.power
        assert model.alignment_ is None

    def test_dask(self):
        da = pytest.importorskip("dask.array")
        rows = np.random.default_rng(0).permutation(np.flatnonzero(SEEN))
        parts = da.from_array(self.POSITIVE[rows], chunks=(40, M)), da.from_array(Y[rows], chunks=40)
        model = JCMSPL(progress=False).fit(*parts, class_vectors=self.POSITIVE_TABLE)
        assert not model.feature_normalisation_.scaling.power


class TestHints:
    def test_a_cosine_left_out(self):
        with pytest.warns(AlignmentWarning, match="cosine_share=0 leaves their cosine out.*cosine_share='auto'"):
            fitted(cosine_share=0)

    def test_a_cosine_of_what_cannot_be_compared(self):
        with pytest.warns(AlignmentWarning, match="not aligned.*cosine_share=0.5 compares them as they are"):
            fitted(table=ClassTable(range(N_CLASSES), VECTORS[:, ::-1]), cosine_share=0.5)

    def test_lengths(self):
        with pytest.warns(AlignmentWarning, match="not of length one.*sample_l2"):
            fitted(feature_normalisation="center+whiten")
        model = fitted(X=unit(X), feature_normalisation="center+whiten")  # without a warning
        assert model.cosine_share_ == NEW_SHARE

    def test_texts_as_samples(self):
        with pytest.warns(AlignmentWarning, match="are their class vectors"):
            fitted(X=VECTORS[Y] + 1e-6 * X)


def clip_cars():
    folder = Path(os.environ.get("JCMSPL_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not (folder / "clip_cars.npz").exists():
        pytest.skip("no CLIP vectors: set JCMSPL_DATA to the folder that holds clip_cars.npz")
    with np.load(folder / "clip_cars.npz") as file:
        return file["X"].astype(np.float32), file["y"], file["S"], file["part"]


def mean_accuracy(model, X, y, classes):
    right = model.predict(X, candidates=classes.tolist()) == y
    return 100 * np.mean([right[y == label].mean() for label in np.unique(y)])


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_base_to_new_on_clip_vectors(seed):
    """The default is no worse than no training on new classes, and far better over base and new ones."""
    X, y, vectors, part = clip_cars()
    order = np.arange(196) if seed is None else np.random.default_rng(seed).permutation(196)
    base, new = np.sort(order[:98]), np.sort(order[98:])
    train, test = (part == 0) & np.isin(y, base), part == 1
    found = {}
    for method in (JCMSPL, TextPrototypes):
        model = method(progress=False).fit(X[train], y[train], class_vectors=vectors)
        rows = [test & np.isin(y, classes) for classes in (base, new)]
        found[method] = [mean_accuracy(model, X[own], y[own], of) for own, of in zip(rows, (base, new), strict=True)]
    (base_ours, new_ours), (base_plain, new_plain) = found[JCMSPL], found[TextPrototypes]
    assert new_ours > new_plain - 0.5
    mean = 2 * base_ours * new_ours / (base_ours + new_ours)
    assert mean > 2 * base_plain * new_plain / (base_plain + new_plain) + 5
    if seed is None:
        assert base_ours > 74
        assert new_ours > 69.8
        assert mean > 71.8
