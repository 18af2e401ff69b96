"""Classes of equal counts, seen along few directions: the same descent as that of all classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl.core import Spectrum, Statistics, solve
from jcmspl.core.solver import rotated_classes
from support.descent import PLAIN, relative_error, textbook
from support.samples import Samples

FEATURES, ATTRIBUTES = 7, 4
WEIGHTS = {"plain": PLAIN, "default": (1, 100, 10, 1), "no codes": (0.5, 0, 2, 0.3), "one way": (0.1, 1, 0, 0)}
# many of two counts, and three classes with counts of their own
COUNTS = np.random.default_rng(5).permutation(np.repeat([2, 3, 4, 5, 9], [1, 170, 1, 100, 1]))


def made_up(counts):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    centres = rng.standard_normal((len(counts), FEATURES))
    X = centres[labels] + rng.standard_normal((len(labels), FEATURES))
    return Samples(X, labels, rng.standard_normal((len(counts), ATTRIBUTES)))


def statistics_of(samples, **options):
    return Statistics.from_samples(samples.X, samples.labels, **options)


@pytest.fixture(scope="module")
def samples():
    return made_up(COUNTS)


@pytest.fixture(scope="module")
def spectrum(samples):
    return Spectrum(statistics_of(samples), samples.class_vectors)


def fits(spectrum, weights, **options):
    """Return the fit along directions and that of all classes, which a start that is given as an array takes."""
    named = dict(zip(("l1", "l2", "l3", "l4"), weights, strict=True))
    options = {"tol": 0, "max_iter": 6, "return_codes": True, **options}
    starts = "codes", np.eye(spectrum.n_classes)
    return [solve(spectrum, **named, start=start, **options) for start in starts]


def test_there_are_as_many_directions_as_the_groups_of_equal_counts_have(samples, spectrum):
    assert spectrum._rotated.n_directions == 2 * (FEATURES + ATTRIBUTES) + 3
    whole = spectrum._of_all_classes()
    assert_allclose(spectrum.visual_eigenvalues, whole.visual_eigenvalues, rtol=1e-12)
    assert_allclose(spectrum.semantic_eigenvalues, whole.semantic_eigenvalues, rtol=1e-12)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_it_is_the_descent_of_all_classes(spectrum, weights):
    rotated, whole = fits(spectrum, weights)
    for name in ("visual_projection", "semantic_projection", "codes_of_samples", "codes_of_classes"):
        expected = getattr(whole, name)
        if np.any(expected):
            assert relative_error(getattr(rotated, name), expected) < 1e-10, name
        else:
            assert not np.any(getattr(rotated, name)), name
    assert_allclose(rotated.terms, whole.terms, rtol=1e-9, atol=1e-12 * whole.objective[0])
    for name, value in whole.stationarity.items():
        assert rotated.stationarity[name] == pytest.approx(value, rel=1e-6, abs=1e-12), name


def test_it_is_the_descent_of_the_textbook(samples, spectrum):
    rotated, _ = fits(spectrum, PLAIN, max_iter=2)
    *_, (A, B, C, terms) = textbook(samples, PLAIN, np.eye(len(COUNTS)), 2)
    assert relative_error(rotated.visual_projection, A) < 1e-9
    assert relative_error(rotated.semantic_projection, B) < 1e-9
    codes = rotated.codes_of_samples @ samples.X.T + rotated.codes_of_classes[:, samples.labels]
    assert relative_error(codes, C) < 1e-9
    assert_allclose(rotated.terms[-1], terms, rtol=1e-9)


def test_it_ends_after_as_many_iterations(spectrum):
    rotated, whole = fits(spectrum, PLAIN, tol=1e-4, max_iter=100)
    assert rotated.converged
    assert rotated.n_iter == whole.n_iter


def test_weights_that_balance_classes_make_their_counts_equal():
    samples = made_up(np.random.default_rng(1).integers(2, 60, 260))
    counts = np.bincount(samples.labels)
    weights = (1 / (3 * counts))[samples.labels]
    statistics = statistics_of(samples, sample_weight=weights)
    assert len(np.unique(statistics.counts)) > 1, "sums of weights are rounded"
    spectrum = Spectrum(statistics, samples.class_vectors)
    assert spectrum._rotated.n_directions == FEATURES + ATTRIBUTES
    rotated, whole = fits(spectrum, PLAIN)
    assert relative_error(rotated.visual_projection, whole.visual_projection) < 1e-9


def test_statistics_that_change_later_do_not_change_the_spectrum(samples):
    statistics = statistics_of(samples)
    spectrum = Spectrum(statistics, samples.class_vectors)
    before, _ = fits(spectrum, PLAIN)
    spectrum = Spectrum(statistics, samples.class_vectors)
    statistics.update(samples.X, samples.labels)
    for after in fits(spectrum, PLAIN):
        assert relative_error(after.visual_projection, before.visual_projection) < 1e-10


@pytest.mark.parametrize(
    "counts", [np.arange(1, 301), np.full(100, 3)], ids=["all counts differ", "hardly more classes than directions"]
)
def test_classes_stay_as_they_are_where_nothing_is_gained(counts):
    samples = made_up(counts)
    statistics = statistics_of(samples)
    assert rotated_classes(statistics, samples.class_vectors, statistics.counts) is None


def test_several_concepts_for_a_class_and_a_random_start_take_all_classes(spectrum):
    named = dict(zip(("l1", "l2", "l3", "l4"), PLAIN, strict=True))
    several = solve(spectrum, **named, start="codes", n_concepts=280, max_iter=2)
    assert several.visual_projection.shape == (280, FEATURES)
    drawn = np.random.default_rng(3).standard_normal((len(COUNTS), len(COUNTS)))
    random = solve(spectrum, **named, start="random", random_state=3, max_iter=2)
    given = solve(spectrum, **named, start=drawn, max_iter=2)
    assert_allclose(random.visual_projection, given.visual_projection)
