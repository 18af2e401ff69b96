"""Random calls of the public functions and models, each compared with its definition in extended precision.

A round of a subject takes a seed and raises AssertionError if an answer is wrong. Data are drawn from a hostile mix:
scales from subnormal to nearly overflowing, outliers, duplicates, zeros, whole numbers, both precisions, any strides.
"""

import warnings

import numpy as np

from jcmspl.core import Statistics, nearest, solve_sylvester
from jcmspl.exceptions import NearlySingularWarning
from jcmspl.model import registry
from jcmspl.model.bilinear import Bilinear

WIDE = np.longdouble
EPSILON = {np.dtype(np.float32): 2.0**-23, np.dtype(np.float64): 2.0**-52}


def draw(rng, n, m, dtype=np.float64):
    """Draw a matrix of one of several kinds, in some layout of memory."""
    kind = rng.integers(7)
    matrix = rng.standard_normal((n, m))
    if kind == 1:
        matrix = np.round(2 * matrix)
    elif kind == 2:
        matrix *= 10.0 ** rng.integers(-6, 7, (n, 1))
    elif kind == 3:
        matrix[rng.integers(n)] *= 10.0 ** rng.integers(6, 13)
    elif kind == 4:
        matrix = matrix[rng.integers(n, size=n)]
    elif kind == 5:
        matrix *= rng.random((n, 1)) < 0.7
    elif kind == 6:
        matrix += 10.0 ** rng.integers(0, 7)
    if dtype == np.float64:
        matrix *= 10.0 ** rng.choice([0, 0, 0, 0, -100, 100])
    matrix = matrix.astype(dtype)
    layout = rng.integers(4)
    if layout == 1:
        return np.asfortranarray(matrix)
    if layout == 2:
        return np.repeat(matrix, 2, axis=0)[::2]
    if layout == 3:
        return matrix[::-1].copy()[::-1]
    return matrix


def lengths(rows):
    largest = np.abs(rows).max(axis=1, keepdims=True)
    safe = np.where(largest > 0, largest, 1)
    return np.sqrt(np.sum((rows / safe) ** 2, axis=1, keepdims=True)) * safe


def unit(rows):
    size = lengths(rows)
    return rows / np.where(size > 0, size, 1)


def nearest_round(seed):
    rng = np.random.default_rng(seed)
    dtype = rng.choice([np.float32, np.float64])
    m, n, c = rng.integers(1, 30), rng.integers(1, 40), rng.integers(1, 60)
    both = draw(rng, n + c, m, dtype)  # of one kind, so that distances are not all alike
    X, prototypes, k = both[:n], both[n:], int(rng.integers(1, c + 1))
    if rng.random() < 0.1:
        tiny = dtype(1e-40) if dtype == np.float32 else dtype(1e-312)
        X, prototypes = (np.round(z / np.abs(z).max(initial=1) * 9) * tiny for z in (X, prototypes))
    metric = str(rng.choice(["cosine", "euclidean", "dot"]))
    indices, values = nearest(X, prototypes, k, metric=metric)
    x, p = X.astype(WIDE), prototypes.astype(WIDE)
    if metric == "euclidean":
        truth = -np.stack([lengths(p - row)[:, 0] for row in x])
        scale, values = -truth, -values
        error = 2 * EPSILON[np.dtype(dtype)] + (m + 4) * 2.0**-52
    else:
        if metric == "cosine":
            x, p = unit(x), unit(p)
        truth, scale = x @ p.T, lengths(x) * lengths(p).T
        error = (m + 8) * EPSILON[np.dtype(dtype)]
    tiny = np.finfo(dtype).smallest_subnormal
    order = np.argsort(-truth, axis=1, kind="stable")[:, :k]
    chosen, best = (np.take_along_axis(truth, which, axis=1) for which in (indices, order))
    allowed = error * np.take_along_axis(scale, indices, axis=1) + m * tiny
    assert (np.abs(values.astype(WIDE) - chosen) <= allowed).all(), "a value is wrong"
    worst = 2 * error * np.maximum.accumulate(np.take_along_axis(scale, order, axis=1), axis=1) + 2 * m * tiny
    assert (chosen >= best - np.maximum(worst, 2 * allowed)).all(), "a nearer prototype was missed"
    assert all(len(set(row)) == k for row in indices.tolist()), "a prototype is named twice"


def statistics_round(seed):
    rng = np.random.default_rng(seed)
    m, n, c = rng.integers(1, 20), rng.integers(1, 80), int(rng.integers(1, 6))
    X, labels = draw(rng, n, m, rng.choice([np.float32, np.float64])), rng.integers(c, size=n)
    unit_rows = bool(rng.integers(2))
    if unit_rows and rng.random() < 0.2:
        X = np.round(X / np.abs(X).max(initial=1) * 9).astype(np.float64) * 1e-312
    cuts = np.sort(rng.integers(0, n + 1, rng.integers(0, 4)))
    weights = 10.0 ** rng.uniform(-3, 3, n) * (rng.random(n) < 0.9) if rng.random() < 0.5 else None
    total = Statistics(m, c, unit_rows=unit_rows)
    for rows in np.split(np.arange(n), cuts):
        how = {"sample_weight": None if weights is None else weights[rows]}
        part = Statistics(m, c, unit_rows=unit_rows).update(X[rows], labels[rows], **how)
        total = total + part if rng.random() < 0.5 else total.update(X[rows], labels[rows], **how)
    x = unit(X.astype(WIDE)) if unit_rows else X.astype(WIDE)
    w = np.ones(n, dtype=WIDE) if weights is None else weights.astype(WIDE)
    hot = np.eye(c, dtype=WIDE)[labels] * w[:, None]
    allowed = (n + m + 8) * 2.0**-52
    sizes = np.abs(x).T @ (np.abs(x) * w[:, None])
    assert (np.abs(total.gram - x.T @ (x * w[:, None])) <= allowed * sizes + 1e-300).all(), "Gram matrix"
    assert (np.abs(total.class_sums - hot.T @ x) <= allowed * (hot.T @ np.abs(x)) + 1e-300).all(), "class sums"
    counts = hot.sum(axis=0)
    assert (np.abs(total.counts - counts) <= (0 if weights is None else allowed) * counts).all(), "counts"


def coefficient(rng, n):
    kind = rng.integers(5)
    a = rng.standard_normal((n, n))
    if kind == 1:
        a = a + a.T
    elif kind == 2:
        a = np.triu(a)
    elif kind == 3:
        a = np.diag(a.diagonal())
    elif kind == 4:
        a = np.round(3 * a)
    return a + 1j * rng.standard_normal((n, n)) if rng.random() < 0.2 else a


def sylvester_round(seed):
    rng = np.random.default_rng(seed)
    k, m = rng.integers(1, 12, 2)
    single = rng.random() < 0.2
    scale = 1.0 if single else 10.0 ** rng.choice([0, 0, -308, -150, 150, 290])
    a, b, q = (coefficient(rng, k) * scale, coefficient(rng, m) * scale, rng.standard_normal((k, m)) * scale)
    if single:
        a, b, q = (z.astype(np.complex64 if z.dtype.kind == "c" else np.float32) for z in (a, b, q))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", NearlySingularWarning)
            x = solve_sylvester(a, b, q)
    except (np.linalg.LinAlgError, NearlySingularWarning):
        operator = np.kron(np.eye(m), a / scale) + np.kron((b / scale).T, np.eye(k))
        sizes = np.linalg.svd(operator.astype(np.complex128), compute_uv=False)
        assert sizes[-1] <= (1e-1 if single else 1e-5) * sizes[0], "refused without a cause"
        return
    wide = np.clongdouble if x.dtype.kind == "c" else WIDE
    a, b, q, x = (z.astype(wide) for z in (a, b, q, x))
    a, b, q = a / scale, b / scale, q / scale
    size = (np.sqrt(np.sum(np.abs(a) ** 2)) + np.sqrt(np.sum(np.abs(b) ** 2))) * np.sqrt(np.sum(np.abs(x) ** 2))
    residual = np.sqrt(np.sum(np.abs(q - a @ x - x @ b) ** 2)) / (size + np.sqrt(np.sum(np.abs(q) ** 2)))
    assert residual < 20 * (k + m) * (2.0**-23 if single else 2.0**-52), f"residual {float(residual):.2g}"


def models_round(seed):
    """Fit any of the linear methods, and recompute the scores of its candidates from the projections it learnt."""
    rng = np.random.default_rng(seed)
    found = registry.methods().items()
    # IdentityRidge takes class vectors for samples only; those that read samples more than once take long
    names = [name for name, one in found if issubclass(one, Bilinear) and one.NEEDS == "statistics"]
    method = registry.get(str(rng.choice([name for name in names if name != "IdentityRidge"])))
    c, extra, m, d = rng.integers(2, 7), rng.integers(0, 4), rng.integers(1, 12), rng.integers(1, 6)
    vectors = rng.standard_normal((c + extra, d)) * 10.0 ** rng.integers(-2, 3)
    y = np.r_[np.arange(c), rng.integers(c, size=rng.integers(0, 30))]
    X = vectors[y] @ rng.standard_normal((d, m)) + rng.standard_normal((len(y), m)) * 10.0 ** rng.integers(-2, 2)
    normalisations = ["none", "center", "sample_l2", "sample_l2+center", "zscore"]
    space, metric = str(rng.choice(method.SPACES)), str(rng.choice(["cosine", "euclidean", "dot"]))
    parameters = {
        "metric": metric,
        "seen_mean_share": 0.0,  # classes are where they are predicted
        "cosine_share": 0.0,
        "feature_normalisation": str(rng.choice(normalisations)),
        "class_normalisation": str(rng.choice(normalisations)),
    }
    if len(method.SPACES) > 1:
        parameters["space"] = space
    model = method(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, class_vectors=dict(enumerate(vectors)))
        candidates = list(rng.permutation(c + extra)[: rng.integers(1, c + extra + 1)])
        scores = model.decision_function(X, candidates=candidates)
        chosen = model.predict(X, candidates=candidates)
    truth, size = explicit_scores(model, X, vectors[candidates], space)
    allowed = 1e-11 * size
    assert (np.abs(scores.reshape(truth.shape) - truth) <= allowed).all(), "a score is wrong"
    places = np.array([candidates.index(label) for label in chosen])
    picked = np.take_along_axis(truth, places[:, None], axis=1)[:, 0]
    assert (picked >= truth.max(axis=1) - 2 * allowed.max(axis=1)).all(), "a better candidate was missed"


def explicit_scores(model, X, vectors, space):
    """Return the scores as the documentation defines them, and the size of what is added up, in extended precision."""
    A, B = (z.astype(WIDE) for z in (model.visual_projection_, model.semantic_projection_))
    x, y = (
        normalised(part, rows)
        for part, rows in ((model.feature_normalisation_, X), (model.class_normalisation_, vectors))
    )
    intercept = model.arrays_.get("intercept", np.zeros(A.shape[1])).astype(WIDE)
    z, p = {"visual": (x, y @ B.T @ A + intercept), "concept": (x @ A.T, y @ B.T), "semantic": (x @ A.T @ B, y)}[space]
    reach = lengths(x) * np.sqrt(np.sum(A**2)) * np.sqrt(np.sum(B**2)) * lengths(y).T
    if model.metric == "cosine":
        norms = lengths(p).T
        noise = norms <= 1e-9 * np.sqrt(np.sum(A**2) * np.sum(B**2)) * lengths(y).T  # zero but for rounding
        return np.where(noise, 0, z @ p.T / np.where(norms > 0, norms, 1)), reach / np.where(
            noise, reach.max() + 1, norms
        )
    if model.metric == "dot":
        return z @ p.T, reach
    return z @ p.T - np.sum(p**2, axis=1) / 2, reach + np.sum(p**2, axis=1).max()


def normalised(normalisation, rows):
    rows = rows.astype(WIDE)
    return ((unit(rows) if normalisation.unit_rows else rows) - normalisation.shift) / normalisation.scale


SUBJECTS = {
    "nearest": nearest_round,
    "statistics": statistics_round,
    "sylvester": sylvester_round,
    "models": models_round,
}


def wrong_answers(subject, seeds):
    """Give a sentence for each seed whose answer is wrong or missing."""
    for seed in seeds:
        try:
            SUBJECTS[subject](seed)
        except Exception as error:
            yield f"seed {seed}: {type(error).__name__}: {error}"
