"""Naming samples against the bare matrix product; one sample by a model, also with shares and reasons."""

from functools import lru_cache, partial

import numpy as np

from jcmspl import JCMSPL, ClassTable
from jcmspl.core import AffineScorer
from question import Contestants, Question, Target
from samples import labelled_samples

COUNT, FEATURES, FEW = 100_000, 1024, 50
TOLERANCE = 2e-6  # scores are at most 1, in float32


@lru_cache(maxsize=1)
def samples() -> np.ndarray:
    """Return samples in float32; a tenth of them are different."""
    return np.tile(labelled_samples(COUNT // 10, FEATURES, 85, FEW).X.astype(np.float32), (10, 1))


@lru_cache(maxsize=1)
def model() -> JCMSPL:
    X, labels, class_vectors = labelled_samples(COUNT // 10, FEATURES, 85, FEW)
    return JCMSPL().fit(X[:5000], labels[:5000], class_vectors=class_vectors)


def scaled(X: np.ndarray, unit_rows: bool, power: bool) -> np.ndarray:
    """Return samples in float64, scaled by the definition."""
    wide = X.astype(np.float64)
    roots = np.sign(wide) * np.sqrt(np.abs(wide)) if power else wide
    return roots / np.linalg.norm(roots, axis=1, keepdims=True) if unit_rows else roots


def check_best(indices: np.ndarray, scores: np.ndarray) -> None:
    """Check the indices of the best; which of two comes first whose scores round to the same is open."""
    k = indices.shape[1]
    best = -np.sort(-scores, axis=1)[:, :k]
    tolerance = TOLERANCE * max(1, np.abs(scores).max())
    np.testing.assert_allclose(np.take_along_axis(scores, indices, axis=1), best, rtol=0, atol=tolerance)
    assert np.all(np.diff(np.sort(indices, axis=1), axis=1) > 0), "a candidate is named twice"


def best_of_few(unit_rows: bool) -> Contestants:
    X, weights = samples(), np.random.default_rng(0).standard_normal((FEW, FEATURES)).astype(np.float32)
    scorer = AffineScorer(weights, unit_rows=unit_rows)

    def check():
        some = X[::100]
        check_best(scorer.top_k(some)[0], scaled(some, unit_rows, power=False) @ weights.T.astype(np.float64))

    return Contestants(ours=lambda: scorer.top_k(X), peer=lambda: (X @ weights.T).argmax(axis=1), check=check)


def default_model() -> Contestants:
    """Let a model predict that takes roots of values before it scales samples, for these are not negative."""
    X, fitted = samples(), model()
    recogniser = fitted.recogniser()
    weights = recogniser.weights.astype(np.float32)

    def check():
        some = X[::100]
        indices = np.searchsorted(recogniser.labels, fitted.predict(some))[:, None]
        check_best(indices, scaled(some, **recogniser.scaling._asdict()) @ recogniser.weights.T + recogniser.bias)

    return Contestants(ours=lambda: fitted.predict(X), peer=lambda: (X @ weights.T).argmax(axis=1), check=check)


def best_of_many(count: int, n_candidates: int, k: int) -> Contestants:
    X, candidates = np.split(labelled_samples(count + n_candidates, FEATURES, 1, 100).X.astype(np.float32), [count])
    scorer = AffineScorer(candidates, unit_rows=True)

    def check():
        some = X[:600]
        check_best(
            scorer.top_k(some, k)[0], scaled(some, unit_rows=True, power=False) @ candidates.T.astype(np.float64)
        )

    return Contestants(ours=lambda: scorer.top_k(X, k), peer=lambda: X @ candidates.T, check=check)


def model_of_many(count: int, n_candidates: int, *, given: bool) -> Contestants:
    """Let a model choose among many classes, most of them without samples: known to it, or given in each call."""
    X, labels, trained = labelled_samples(count, FEATURES, 85, 100)
    others = np.random.default_rng(0).random((n_candidates - len(trained), trained.shape[1]))
    vectors = np.concatenate([trained, others / np.linalg.norm(others, axis=1, keepdims=True)])
    fitted = JCMSPL().fit(X, labels, class_vectors=trained if given else vectors)
    table = ClassTable(range(n_candidates), vectors)
    predict = partial(fitted.predict, class_vectors=table if given else None, seen_penalty=0)
    recogniser = fitted.recogniser(class_vectors=table, seen_penalty=0)
    wide, X = X, X.astype(np.float32)

    def check():
        some = scaled(wide[:600], **recogniser.scaling._asdict())
        check_best(predict(X)[:600, None], some @ recogniser.weights.T + recogniser.bias)

    weights = recogniser.weights.astype(np.float32)
    return Contestants(ours=lambda: predict(X), peer=lambda: X @ weights.T, check=check)


def one_sample() -> Contestants:
    X, fitted = samples()[:1], model()
    recogniser = fitted.recogniser()

    def check():
        assert fitted.predict(X) == recogniser.labels[recogniser.top_k(X)[0][:, 0]], "the labels differ"

    return Contestants(ours=lambda: fitted.predict(X), peer=lambda: recogniser.top_k(X), check=check)


def one_sample_more(method: str) -> Contestants:
    """Let a model say more of a sample than its name."""
    X, fitted = samples()[:1], model()
    ours = partial(getattr(fitted, method), X)

    def check():
        (label,) = fitted.predict(X)
        (found,) = ours()
        named = found.label if method == "explain" else list(fitted.class_table_)[found.argmax()]
        assert named == label, "the labels differ"

    return Contestants(ours=ours, peer=lambda: fitted.predict(X), check=check)


_TASK = f"100,000 x 1024 float32, {FEW} candidates"
_PEER = "NumPy (X @ W.T).argmax(1)"

QUESTIONS = [
    Question("predict-few", f"top_k, {_TASK} / {_PEER}", Target("time", 1.15), partial(best_of_few, unit_rows=False)),
    Question(
        "predict-few-unit",
        f"the same, samples scaled to length one / {_PEER}",
        Target("time", 1.15),
        partial(best_of_few, unit_rows=True),
    ),
    Question("predict-few-default", f"JCMSPL().predict, the same size / {_PEER}", Target("time", 1.15), default_model),
    Question("predict-one", "JCMSPL().predict, one sample / recogniser.top_k", Target("extra", 0.15), one_sample),
    Question(
        "predict-proba-one",
        "JCMSPL().predict_proba, one sample / predict",
        Target("extra", 0.3),
        partial(one_sample_more, "predict_proba"),
    ),
    Question(
        "explain-one",
        "JCMSPL().explain, one sample / predict",
        Target("extra", 0.3),
        partial(one_sample_more, "explain"),
    ),
    Question(
        "predict-many",
        "top_k, top 5, 4,000 x 1024 float32 of length one, 20,000 candidates / NumPy X @ W.T",
        Target("time", 1.3),
        partial(best_of_many, 4000, 20_000, 5),
        rounds=3,
    ),
    Question(
        "predict-many-default",
        "JCMSPL().predict, 4,000 x 1024 float32, 20,000 classes known to the model / NumPy X @ W.T",
        Target("time", 0.7),
        partial(model_of_many, 4000, 20_000, given=False),
        rounds=3,
    ),
    Question(
        "predict-many-given",
        "the same, class vectors given in each call / NumPy X @ W.T",
        Target("time", 0.7),
        partial(model_of_many, 4000, 20_000, given=True),
        rounds=3,
    ),
]


def test_predict(time_side):
    time_side()
