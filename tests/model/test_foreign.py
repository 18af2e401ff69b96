"""Methods against other code: pieces of scikit-learn and SciPy, and formulas as papers have them.

Nothing here uses the package but the models themselves: normalisation, solvers, posteriors and comparisons are written
anew. Names must be the same but for samples whose best scores are equal up to rounding.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.linalg import solve_sylvester
from scipy.special import softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
from sklearn.preprocessing import StandardScaler, normalize

from jcmspl.methods import DAP, ESZSL, RPL, SAE, ConSE

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class World(NamedTuple):
    X: np.ndarray  # samples of the training classes
    y: np.ndarray  # their classes, numbers of rows of S
    S: np.ndarray  # a vector for each class
    T: np.ndarray  # samples to name

    @property
    def seen(self):
        return np.unique(self.y)

    @property
    def unseen(self):
        return np.setdiff1d(np.arange(len(self.S)), self.y)


def made_up(seed):
    rng = np.random.default_rng(seed)
    n_seen, n_classes, d, m = 12, 20, 9, 30
    S, M = rng.random((n_classes, d)), rng.standard_normal((d, m))
    y, new = np.r_[np.arange(n_seen), rng.integers(n_seen, size=200)], rng.integers(n_classes, size=300)
    X, T = (S[labels] @ M + rng.standard_normal((len(labels), m)) for labels in (y, new))
    order = rng.permutation(n_classes)  # numbers of training classes are not the first ones
    return World(X, order[y], S[np.argsort(order)], T)


@cache
def birds(folder):
    """Every fourth feature of CUB, so that solvers for general matrices are done in seconds."""
    features, splits = loadmat(folder / "cub" / "efflite2.mat"), loadmat(folder / "cub" / "att_splits.mat")
    X, y = features["features"].T[:, ::4].astype(float), features["labels"].ravel().astype(int) - 1
    train, *test = (splits[f"{name}_loc"].ravel().astype(int) - 1 for name in ("trainval", "test_seen", "test_unseen"))
    return World(X[train], y[train], splits["att"].T.astype(float), X[np.concatenate(test)])


@cache
def sounds(folder):
    """Half of the features of ESC-50, and some of the numbers that are known of its classes."""
    with np.load(folder / "esc50.npz") as data:
        X, S, y, unseen = data["X"][:, ::2].astype(float), data["S"][:, :15].astype(float), data["y"], data["unseen"]
    train = ~np.isin(y, unseen) & (np.arange(len(y)) % 5 > 0)
    return World(X[train], y[train], S, X[~train])


REAL = {"birds": ("cub", birds), "sounds": ("esc50.npz", sounds)}
WORLDS = ["made up 0", "made up 1", "made up 2", *REAL]


@pytest.fixture(params=WORLDS)
def world(request):
    if request.param not in REAL:
        return made_up(int(request.param.split()[-1]))
    name, load = REAL[request.param]
    folder = request.getfixturevalue("data_folder")
    if not (folder / name).exists():
        pytest.skip(f"there is no {name} in the folder of benchmark data")
    return load(folder)


def normalised(world):
    """Samples, class vectors and samples to name: of length one, centred by training samples and training classes."""
    features = StandardScaler(with_std=False).fit(normalize(world.X))
    classes = StandardScaler(with_std=False).fit(normalize(world.S[world.seen]))
    return (
        features.transform(normalize(world.X)),
        classes.transform(normalize(world.S)),
        features.transform(normalize(world.T)),
    )


def assert_names(model, world, scores, rtol=1e-9):
    """Compare with scores of all classes, for two choices of candidates."""
    model.set_params(progress=False).fit(world.X, world.y, class_vectors=world.S)
    for candidates in (world.unseen, np.arange(len(world.S))):
        names = model.predict(world.T, candidates=candidates.tolist(), seen_penalty=0.0)
        among = scores[:, candidates]
        chosen = scores[np.arange(len(names)), names]
        assert np.isin(names, candidates).all()
        short = among.max(axis=1) - chosen
        assert (short <= rtol * np.abs(among).max()).all()
        assert np.mean(names == candidates[among.argmax(axis=1)]) > 0.99  # ties are rare


@pytest.mark.parametrize("negative_label", [-1, 0])
def test_eszsl(world, negative_label):
    gamma, lam = 3.0, 0.5
    X, S, T = normalised(world)
    s, labels = S[world.seen], np.where(world.y[:, None] == world.seen, 1, negative_label)
    left = np.linalg.solve(X.T @ X + gamma * np.eye(X.shape[1]), X.T @ labels @ s)
    V = np.linalg.solve(s.T @ s + lam * np.eye(s.shape[1]), left.T).T
    model = ESZSL(visual_penalty=gamma, semantic_penalty=lam, negative_label=negative_label)
    assert_names(model, world, T @ V @ S.T)


@pytest.mark.parametrize("space", ["semantic", "visual"])
def test_sae(world, space):
    weight = 0.7
    X, S, T = normalised(world)
    Y = S[world.y]
    W = solve_sylvester(Y.T @ Y, weight * X.T @ X, (1 + weight) * Y.T @ X)
    scores = cosine_similarity(T @ W.T, S) if space == "semantic" else cosine_similarity(T, S @ W)
    assert_names(SAE(weight, space=space), world, scores, rtol=1e-7)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_rpl(world, metric):
    X, S, T = normalised(world)
    prototypes = Ridge(alpha=2.0, fit_intercept=False).fit(S[world.y], X).predict(S)
    scores = cosine_similarity(T, prototypes) if metric == "cosine" else -euclidean_distances(T, prototypes)
    assert_names(RPL(2.0, metric=metric), world, scores)


@pytest.mark.parametrize("n_likely", [1, 4])
def test_conse_by_discriminant_analysis(world, n_likely):
    shrinkage, temperature = 0.3, 2.0
    X, S, T = normalised(world)
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X, world.y)
    p = softmax(lda.decision_function(T) / temperature, axis=1)
    model = ConSE(n_likely, shrinkage=shrinkage, posterior_temperature=temperature)
    assert_names(model, world, convex_combinations(p, n_likely, S, lda.classes_), rtol=1e-6)


def test_conse_by_logistic_regression():
    world, penalty = made_up(3), 0.5
    X, S, T = normalised(world)
    logistic = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000).fit(X, world.y)
    p = logistic.predict_proba(T)
    model = ConSE(3, posterior="logistic", penalty=penalty, tol=1e-9, max_iter=10_000)
    assert_names(model, world, convex_combinations(p, 3, S, logistic.classes_), rtol=1e-5)


def convex_combinations(p, n_likely, S, seen):
    """The cosine of each class vector and the mean vector of the likeliest training classes."""
    means = []
    for shares in p:
        likely = np.argsort(-shares)[:n_likely]
        means.append(np.average(S[seen[likely]], axis=0, weights=shares[likely]))
    return cosine_similarity(means, S)


def test_dap_by_discriminant_analysis(world):
    """Each attribute by the densities of two normal distributions with a covariance in common."""
    shrinkage = 0.3
    X, S, T = normalised(world)
    signatures, prior = signatures_of(world, S)
    varies = np.flatnonzero((prior > 0) & (prior < 1))[:12]
    signatures, prior = signatures[:, varies], prior[varies]
    world = world._replace(S=S[:, varies])
    level = np.mean((X - X.mean(axis=0)) ** 2)
    probabilities = []
    for attribute in signatures.T:
        has = attribute[world.y]
        within = X - np.where(has[:, None], X[has].mean(axis=0), X[~has].mean(axis=0))
        C = (1 - shrinkage) * within.T @ within / len(X) + shrinkage * level * np.eye(X.shape[1])
        far = [
            np.einsum("ij,ij->i", T - mean, np.linalg.solve(C, (T - mean).T).T)
            for mean in (X[has].mean(axis=0), X[~has].mean(axis=0))
        ]
        odds = np.log(has.mean() / (1 - has.mean())) + (far[1] - far[0]) / 2
        probabilities.append(1 / (1 + np.exp(-odds)))
    model = DAP(shrinkage=shrinkage, class_normalisation="none")
    assert_names(model, world, attribute_scores(np.array(probabilities).T, signatures, prior), rtol=1e-6)


def test_dap_by_logistic_regression():
    world, penalty = made_up(4), 0.5
    X, S, T = normalised(world)
    signatures, prior = signatures_of(world, S)
    p = [
        LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000).fit(X, has[world.y]).predict_proba(T)[:, 1]
        for has in signatures.T
    ]
    model = DAP(posterior="logistic", penalty=penalty, tol=1e-9, max_iter=10_000)
    assert_names(model, world, attribute_scores(np.array(p).T, signatures, prior), rtol=1e-5)


def signatures_of(world, S):
    """Which classes have an attribute: more of it than the mean of the training classes; and how many of these do."""
    signatures = (S - S[world.seen].mean(axis=0)) > 0
    return signatures, signatures[world.seen].mean(axis=0)


def attribute_scores(p, signatures, prior):
    """The sum over attributes of ``log P(a | x) - log P(a)``, with probabilities as far from 0 and 1 as the paper's."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    scores = [
        np.where(has, np.log(p), np.log(1 - p)) - np.where(has, np.log(prior), np.log(1 - prior)) for has in signatures
    ]
    return np.sum(scores, axis=2).T
