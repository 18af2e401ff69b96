"""A whole fit against the one product that any least-squares method needs, ridge regression and the textbook."""

import time
from functools import lru_cache, partial

import numpy as np
import scipy.linalg

from jcmspl import JCMSPL
from jcmspl.cli.bench import SHAPES
from jcmspl.core import Spectrum, Statistics, solve
from jcmspl.data.normalisation import Normalisation
from question import Contestants, Question, Target, need
from samples import assert_equal, labelled_samples, normalised, reference

# The paper's AwA weights (1e7 against 1e-3) cost digits in any implementation.
TOLERANCES = {"AwA": 1e-6, "CUB": 1e-8, "SUN": 1e-8}
ITERATIONS = 35


def fit(dataset: str, iterations: int = ITERATIONS):
    X, labels, class_vectors = labelled_samples(*SHAPES[dataset])
    weights = dict(zip(("l1", "l2", "l3", "l4"), reference.PAPER_SETTINGS[dataset], strict=True))
    spectrum = Spectrum(Statistics.from_samples(X, labels), class_vectors)
    return solve(spectrum, **weights, start=start(dataset), max_iter=iterations, tol=0)


def start(dataset: str) -> np.ndarray:
    n_classes = SHAPES[dataset][-1]
    return np.random.default_rng(1).standard_normal((n_classes, n_classes))


def textbook(dataset: str, iterations: int):
    """Return A and B after some iterations of the textbook, from the same start."""
    X, labels, class_vectors = labelled_samples(*SHAPES[dataset])
    H = np.eye(len(class_vectors))[:, labels]
    steps = reference.jcmspl_iterations(
        X.T, class_vectors[labels].T, H, start(dataset)[:, labels], reference.PAPER_SETTINGS[dataset], iterations
    )
    return list(steps)[-1][:2]


@lru_cache  # several questions rest on it
def check_against_textbook(dataset: str) -> None:
    X, labels, _ = labelled_samples(*SHAPES[dataset])
    assert_equal("gram", Statistics.from_samples(X, labels).gram, X.T @ X, 1e-12)
    solution, (A, B) = fit(dataset, iterations=2), textbook(dataset, iterations=2)
    assert_equal("A after 2 iterations", solution.visual_projection, A, TOLERANCES[dataset])
    assert_equal("B after 2 iterations", solution.semantic_projection, B, TOLERANCES[dataset])


def against_gram(dataset: str) -> Contestants:
    X = labelled_samples(*SHAPES[dataset]).X
    return Contestants(ours=partial(fit, dataset), peer=lambda: X.T @ X, check=partial(check_against_textbook, dataset))


def default_fit(dataset: str) -> JCMSPL:
    X, labels, class_vectors = labelled_samples(*SHAPES[dataset])
    return JCMSPL(progress=False).fit(X, labels, class_vectors=class_vectors)


def check_against_whitened_samples(dataset: str) -> None:
    """Compare scores with those of a model of samples that are whitened one by one, by eigenvectors."""
    X, labels, class_vectors = labelled_samples(*SHAPES[dataset])
    Z = normalised.explicitly_whitened(np.sqrt(X), labels, unit_rows=True)
    plain = JCMSPL(feature_normalisation="none", class_normalisation="none", progress=False)
    plain.fit(Z, labels, class_vectors=normalised.explicit("sample_l2+center_unit", class_vectors))
    scores, expected = default_fit(dataset).decision_function(X[:1000]), plain.decision_function(Z[:1000])
    assert_equal("scores", scores, expected, 1e-6)


def default_against_gram(dataset: str) -> Contestants:
    X = labelled_samples(*SHAPES[dataset]).X
    check = partial(check_against_whitened_samples, dataset)
    return Contestants(ours=partial(default_fit, dataset), peer=lambda: X.T @ X, check=check)


def whitening_against_gram(dataset: str) -> Contestants:
    """Compare normalisation and whitening alone, from statistics that were read before."""
    X, labels, _ = labelled_samples(*SHAPES[dataset])
    raw = Statistics.from_samples(X, labels)

    def check():
        normalisation, statistics = Normalisation.of_training("center+whiten", raw)
        whitened = Statistics.from_samples(normalisation.of_rows(X), labels)
        assert_equal("gram of whitened samples", statistics.gram, whitened.gram, 1e-8)

    return Contestants(
        ours=lambda: Normalisation.of_training("center+whiten", raw),
        peer=lambda: X.T @ X,
        check=check,
        clock=time.process_time,
    )


def against_ridge(dataset: str) -> Contestants:
    X, labels, class_vectors = labelled_samples(*SHAPES[dataset])
    Y = class_vectors[labels]
    Ridge = need("sklearn.linear_model").Ridge
    ridge = Ridge(solver="cholesky")  # as users call it

    def check():
        check_against_textbook(dataset)
        statistics = Statistics.from_samples(X, labels)
        coefficients = scipy.linalg.solve(
            statistics.gram + ridge.alpha * np.eye(X.shape[1]), statistics.class_sums.T @ class_vectors, assume_a="pos"
        )
        plain = Ridge(solver="cholesky", fit_intercept=False)
        assert_equal("ridge from statistics", coefficients.T, plain.fit(X, Y).coef_, 1e-8)

    return Contestants(ours=partial(fit, dataset), peer=lambda: ridge.fit(X, Y), check=check)


def against_textbook(dataset: str) -> Contestants:
    return Contestants(
        ours=partial(fit, dataset),
        peer=partial(textbook, dataset, iterations=1),
        peer_share=1 / ITERATIONS,
        check=partial(check_against_textbook, dataset),
        caveat=f"one iteration of the textbook was timed and multiplied by {ITERATIONS}",
    )


# A busy neighbour on the machine is more likely to hit all calls of a long fit than all of a short product: those two
# get more rounds.
QUESTIONS = [
    Question("fit-awa-gram", "fit, AwA shape / NumPy X.T @ X", Target("time", 2.0), partial(against_gram, "AwA")),
    Question("fit-awa-ridge", "fit, AwA shape / scikit-learn Ridge", Target("speed", 1), partial(against_ridge, "AwA")),
    Question(
        "fit-awa-textbook",
        "fit, AwA shape / textbook implementation",
        Target("speed", 100),
        partial(against_textbook, "AwA"),
        rounds=3,
    ),
    Question(
        "fit-cub-gram", "fit, CUB shape / NumPy X.T @ X", Target("time", 5), partial(against_gram, "CUB"), rounds=30
    ),
    Question(
        "fit-sun-gram", "fit, SUN shape / NumPy X.T @ X", Target("time", 25), partial(against_gram, "SUN"), rounds=15
    ),
    *(
        Question(
            f"fit-{dataset.lower()}-default",
            f"fit with whitening (default), {dataset} shape / NumPy X.T @ X",
            Target("time", bound),
            partial(default_against_gram, dataset),
            rounds=15,
        )
        for dataset, bound in (("AwA", 2.5), ("CUB", 5.5))
    ),
    *(
        Question(
            f"whitening-{dataset.lower()}",
            f"normalisation and whitening of statistics, {dataset} shape / NumPy X.T @ X, CPU time",
            Target("time", 0.6),
            partial(whitening_against_gram, dataset),
        )
        for dataset in ("AwA", "CUB")
    ),
]


def test_fit(time_side):
    time_side()
