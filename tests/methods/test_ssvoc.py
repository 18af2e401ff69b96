import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad, minimize
from scipy.spatial.distance import cdist

from jcmspl import load
from jcmspl.methods import RidgeVS, SSVoc
from jcmspl.methods.ssvoc import VocabularyObjective
from support.animals import make_zoo
from support.linear import ZOO, ZOOS, explicit_data, fit, refuses
from support.normalised import explicit

EXACT = {"max_iter": 5000, "tol": 1e-9, "feature_normalisation": "sample_l2+center"}
WORDS = np.random.default_rng(5).random((30, 8))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def textbook(W, X, S, codes, words, *, penalty, regression, tube, margin, n_neighbours, weights=None):
    """The objective, sample by sample; a row of X, S, words for each sample, class, word."""
    total = penalty * np.sum(W**2)
    for x, y, weight in zip(X, codes, np.ones(len(X)) if weights is None else weights, strict=True):
        g, own = W @ x, S[y]
        total += weight * regression * np.sum(np.maximum(0, np.abs(own - g) - tube) ** 2)
        for several in (S, np.vstack([S, words])):
            others = several[np.abs(several - own).max(axis=1) > 0]
            near = others[np.argsort(cdist([own], others)[0])][:n_neighbours]
            terms = margin + np.sum((g - own) ** 2) / 2 - np.sum((g - near) ** 2, axis=1) / 2
            total += weight * (1 - regression) / 2 * np.sum(np.maximum(0, terms) ** 2)
    return total


class Blocks:
    """Samples in two blocks, as the objective reads them."""

    def __init__(self, X, S, codes, weights):
        self.class_vectors, self.n_features = S, X.shape[1]
        self._parts = [(X[part], codes[part], weights[part]) for part in (slice(0, 7), slice(7, None))]

    def __iter__(self):
        return iter(self._parts)


@pytest.mark.parametrize("n_words", [0, 9])
@pytest.mark.parametrize("regression", [0.0, 0.4, 1.0])
def test_the_objective_and_its_gradient(regression, n_words):
    rng = np.random.default_rng(0)
    X, S, codes = rng.standard_normal((20, 5)), rng.standard_normal((4, 3)), np.arange(20) % 4
    words, weights = rng.standard_normal((n_words, 3)), rng.uniform(0.5, 2, 20)
    options = {"penalty": 0.1, "regression": regression, "tube": 0.2, "margin": 0.7, "n_neighbours": 2}
    objective = VocabularyObjective(Blocks(X, S, codes, weights), words, **options)
    W = rng.standard_normal((3, 5))
    value, gradient = objective(W.ravel())
    assert value == pytest.approx(textbook(W, X, S, codes, words, **options, weights=weights))
    error = check_grad(lambda p: objective(p)[0], lambda p: objective(p)[1], W.ravel())
    assert error < 1e-5 * np.linalg.norm(gradient)


def test_oracle_a_general_minimiser():
    X, _, S, codes = explicit_data(ZOO)
    table = ZOO.table.select(ZOO.seen).vectors
    unit = WORDS / np.linalg.norm(WORDS, axis=1, keepdims=True)
    words = unit - (table / np.linalg.norm(table, axis=1, keepdims=True)).mean(axis=0)
    options = {"penalty": 0.5, "regression": 0.4, "tube": 0.05, "margin": 0.3, "n_neighbours": 3}
    model = fit(SSVoc(**options, vocabulary=WORDS, **EXACT))
    W = model.visual_projection_

    def value(W):
        return textbook(W, X.T, S.T, codes, words, **options)

    assert model.objective_[-1] == pytest.approx(value(W))
    rng = np.random.default_rng(0)
    directions = [step / np.linalg.norm(step) for step in rng.standard_normal((10, *W.shape))]

    def along(shifts):
        return value(W + np.tensordot(shifts, directions, axes=1))

    better = minimize(along, np.zeros(10), method="BFGS", options={"maxiter": 3})
    assert better.fun > model.objective_[-1] * (1 - 1e-9)
    assert np.abs(better.x).max() < 1e-4


@ZOOS
def test_without_margins_it_is_ridge_regression(zoo):
    model = fit(SSVoc(0.3, regression=1.0, **EXACT), zoo)
    assert_allclose(model.visual_projection_, fit(RidgeVS(0.3), zoo).visual_projection_, atol=1e-7)


def test_a_vocabulary_of_training_classes_is_none():
    closed = fit(SSVoc())
    same = fit(SSVoc(vocabulary=ZOO.table.select(ZOO.seen).vectors))
    assert_allclose(same.visual_projection_, closed.visual_projection_, atol=1e-9)
    other = fit(SSVoc(vocabulary=WORDS))
    assert not np.allclose(other.visual_projection_, closed.visual_projection_, atol=1e-3)


def test_a_class_is_not_its_own_rival_because_of_rounding():
    vectors = ZOO.table.select(ZOO.seen).vectors
    exact, rounded = (fit(SSVoc(vocabulary=words, n_neighbours=2)) for words in (vectors, vectors * (1 + 1e-14)))
    assert_allclose(rounded.visual_projection_, exact.visual_projection_, atol=1e-9)


def test_words_that_are_far_away_do_not_count():
    plain = {"class_normalisation": "none", "margin": 0.1}
    near, more = (fit(SSVoc(vocabulary=words, **plain)) for words in (WORDS, np.vstack([WORDS, WORDS + 50])))
    assert_array_equal(near.visual_projection_, more.visual_projection_)
    # nor do those that are neighbours, and yet further from the samples than the margin
    alone, beside = (
        fit(SSVoc(n_neighbours=100, vocabulary=words, **plain)) for words in (None, ZOO.table.vectors[:1] + 50)
    )
    assert_allclose(beside.visual_projection_, alone.visual_projection_, atol=1e-9)


def test_margins_keep_samples_from_other_words():
    """Of samples that regression takes nearer to some other word than to their own class, there are fewer."""
    zoo, right = make_zoo(noise=2.0), []
    words = dict(enumerate(WORDS)) | zoo.attributes
    for regression in (1.0, 0.1):
        model = fit(SSVoc(regression=regression, vocabulary=np.array(list(words.values())), n_neighbours=20), zoo)
        labels = model.predict(zoo.X, class_vectors=words, seen_penalty=0.0)
        right.append(np.mean([label == own for label, own in zip(labels.tolist(), zoo.y, strict=True)]))
    assert right[0] < right[1]


def test_the_nearest_vector():
    model = fit(SSVoc(vocabulary=WORDS))
    places = explicit("sample_l2+center", ZOO.X) @ model.visual_projection_.T
    vectors = model.class_normalisation_.of_rows(ZOO.table.select(ZOO.seen).vectors)
    expected = np.array(ZOO.seen)[cdist(places, vectors).argmin(axis=1)]
    assert_array_equal(model.predict(ZOO.X, candidates="seen"), expected)


def test_files_keep_the_vocabulary(tmp_path):
    fit(SSVoc(vocabulary=WORDS.tolist())).save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.vocabulary, WORDS)
    fit(SSVoc()).save(tmp_path / "closed")
    assert load(tmp_path / "closed").vocabulary is None


def test_a_vocabulary_that_does_not_fit_is_refused():
    refuses(SSVoc(vocabulary=np.zeros((0, 8))), "vocabulary is empty")
    refuses(SSVoc(vocabulary=np.full((2, 8), np.nan)), "vocabulary holds NaN")
    refuses(
        SSVoc(vocabulary=np.zeros((2, 3))), "the words of the vocabulary have 3 attributes, but the class vectors 8"
    )
