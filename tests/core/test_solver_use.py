"""Reports, stopping rules and refusals of the solver."""

import gc
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import _core
from jcmspl.core import Spectrum, StartStatistics, Statistics, solve
from jcmspl.core.solver import TERMS
from jcmspl.exceptions import DivergenceError
from jcmspl.support.machine import one_blas_thread
from support.descent import PLAIN, fit, relative_error, spectrum_of
from support.reference import class_codes, objective_terms
from support.samples import make_samples


def test_terms_are_labelled_in_order():
    samples = make_samples()
    solution = fit(spectrum_of(samples), PLAIN, max_iter=2, return_codes=True)
    C = solution.codes_of_samples @ samples.X.T + solution.codes_of_classes[:, samples.labels]
    Y, H = samples.class_vectors[samples.labels].T, class_codes(6, 6)[:, samples.labels]
    expected = objective_terms(solution.visual_projection, solution.semantic_projection, C, samples.X.T, Y, H, PLAIN)
    assert len(TERMS) == 5
    assert_allclose(solution.terms[-1], expected, rtol=1e-9)
    assert_allclose(solution.objective, solution.terms.sum(axis=1))


def test_stopping():
    spectrum = spectrum_of(make_samples())
    loose, tight = (fit(spectrum, PLAIN, tol=tol, max_iter=500) for tol in (1e-3, 1e-9))
    assert loose.converged
    assert tight.converged
    assert loose.n_iter < tight.n_iter
    last = -np.diff(loose.objective)[-1] / loose.objective[-2]
    assert last <= 1e-3
    assert np.all(-np.diff(loose.objective)[:-1] > 1e-3 * loose.objective[:-2])
    exhausted = fit(spectrum, PLAIN, tol=1e-9, max_iter=2)
    assert not exhausted.converged
    assert exhausted.n_iter == len(exhausted.objective) == 2
    assert fit(spectrum, PLAIN, tol=0, max_iter=60).n_iter == 60


def test_rounding_errors_are_not_taken_for_convergence():
    # After some 30 iterations the objective changes by rounding errors only. For a tol below them that proves nothing.
    solution = fit(spectrum_of(make_samples()), PLAIN, tol=1e-15, max_iter=80)
    relative_decrease = -np.diff(solution.objective) / solution.objective[:-1]
    assert np.any(relative_decrease <= 1e-15)
    assert not solution.converged
    assert solution.n_iter == 80


def test_terms_are_never_negative():
    # k = c = m: X and Y can be reconstructed perfectly, and a weight of 1e9 leaves only noise of the objective
    samples = make_samples(n=40, m=4, d=3, c=4)
    solution = fit(spectrum_of(samples), (1, 1e-4, 1e-3, 1e9), tol=1e-6, max_iter=8)
    assert np.all(solution.terms >= 0)
    assert not solution.converged
    assert solution.n_iter == 8


def test_classes_of_the_core():
    samples = make_samples()
    spectrum = spectrum_of(samples)
    given = {"l1": 0.5, "l2": 2.0, "l3": 0.25, "l4": 4.0, "n_concepts": 7, "max_iter": 3, "tol": 1e-9}
    settings = _core.Settings(**given, want_codes=False)
    assert {name: getattr(settings, name) for name in given} == given
    assert settings.want_codes is False
    with pytest.raises(AttributeError):
        settings.l1 = 1.0

    results = _core.solve(spectrum._core, settings, class_codes(7, 6))
    assert results.visual_projection.shape == (7, 24)
    assert results.semantic_projection.shape == (7, samples.class_vectors.shape[1])
    assert results.codes_of_samples is None
    assert results.codes_of_classes is None
    info = results.info
    assert info.n_iter == 3
    assert info.converged is False
    assert info.terms.shape == (3, 5)
    assert 0 < info.stationarity.visual < 1
    assert 0 < info.stationarity.semantic < 1
    assert info.stationarity.concepts < 1e-13
    stages = ("start", "projections", "concepts", "objective", "finish")
    assert all(getattr(info.timings, stage) >= 0 for stage in stages)


# By the smaller number of classes the concepts move to another basis, by the larger one they do not.
@pytest.mark.parametrize(("n_classes", "n_attributes"), [(130, 260), (260, 40)])
def test_results_do_not_depend_on_the_number_of_threads(n_classes, n_attributes):
    rng = np.random.default_rng(0)
    X, labels = rng.random((1200, 300)), np.arange(1200) % n_classes  # products that threads share
    vectors = rng.random((n_classes, n_attributes))
    statistics = Statistics.from_samples(X, labels)
    settings = _core.Settings(l1=1, l2=2, l3=10, l4=1, n_concepts=n_classes, max_iter=3, tol=0, want_codes=True)
    names = ("visual_projection", "semantic_projection", "codes_of_samples", "codes_of_classes")
    found = []
    for n_threads in (1, 2, 5):
        with one_blas_thread():
            T, whitened = _core.whiten(statistics._core, 0.5, np.zeros(300), False, n_threads)
            spectrum = _core.Spectrum(whitened, vectors, 0.0, n_threads)
            results = _core.solve(spectrum, settings, np.eye(n_classes), None, n_threads)
        found.append([T, whitened.gram, spectrum.visual_eigenvalues, *(getattr(results, name) for name in names)])
    for other in found[1:]:
        for array, expected in zip(other, found[0], strict=True):
            assert_array_equal(array, expected)


def test_arrays_outlive_the_results_they_are_part_of():
    spectrum = spectrum_of(make_samples())
    settings = _core.Settings(l1=1, l2=1, l3=1, l4=1, n_concepts=6, max_iter=2, tol=0, want_codes=True)
    results = _core.solve(spectrum._core, settings, class_codes(6, 6))
    names = ("visual_projection", "semantic_projection", "codes_of_samples", "codes_of_classes")
    arrays = [getattr(results, name) for name in names]
    copies = [array.copy() for array in arrays]
    assert all(np.shares_memory(array, getattr(results, name)) for array, name in zip(arrays, names, strict=True))
    stationarity = results.info.stationarity
    value = stationarity.visual
    del results
    gc.collect()
    for array, copy in zip(arrays, copies, strict=True):
        assert_array_equal(array, copy)
    assert stationarity.visual == value


def test_timings_and_spectrum():
    samples = make_samples()
    spectrum = spectrum_of(samples)
    solution = fit(spectrum, PLAIN)
    assert set(solution.timings) == {"start", "projections", "concepts", "objective", "finish"}
    assert all(seconds >= 0 for seconds in {**solution.timings, **spectrum.timings}.values())
    assert_allclose(spectrum.visual_eigenvalues, np.linalg.eigvalsh(samples.X.T @ samples.X), rtol=1e-9)
    Y = samples.class_vectors[samples.labels]
    assert_allclose(spectrum.semantic_eigenvalues, np.linalg.eigvalsh(Y.T @ Y)[-6:], rtol=1e-9)


def test_order_of_samples_and_number_of_chunks_do_not_matter():
    samples = make_samples()
    shuffled = np.random.default_rng(0).permutation(len(samples.X))
    statistics = Statistics(24, 6)
    for part in np.array_split(shuffled, 7):
        statistics.update(samples.X[part], samples.labels[part])
    one = fit(spectrum_of(samples), PLAIN)
    two = fit(Spectrum(statistics, samples.class_vectors), PLAIN)
    assert relative_error(two.visual_projection, one.visual_projection) < 1e-11


def test_number_of_threads_does_not_matter():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    samples = make_samples(n=2000, m=200, d=40, c=30)
    results = []
    for limit in (1, 2):
        with threadpoolctl.threadpool_limits(limit):
            results.append(fit(spectrum_of(samples), PLAIN, max_iter=10).visual_projection)
    assert relative_error(results[1], results[0]) < 1e-9


def test_several_threads_share_a_spectrum():
    spectrum = spectrum_of(make_samples(n=500, m=80, d=20, c=12))
    expected = {seed: fit(spectrum, PLAIN, random_state=seed).visual_projection for seed in range(6)}
    found = {}

    def work(seed):
        found[seed] = fit(spectrum, PLAIN, random_state=seed).visual_projection

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, projection in expected.items():
        assert relative_error(found[seed], projection) < 1e-12


def test_on_iteration():
    spectrum = spectrum_of(make_samples())
    seen = []
    solution = fit(spectrum, PLAIN, max_iter=5, on_iteration=lambda *args: seen.append(args))
    assert [iteration for iteration, _ in seen] == [1, 2, 3, 4, 5]
    assert_allclose([value for _, value in seen], solution.objective)

    def stop(iteration, objective):
        if iteration == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fit(spectrum, PLAIN, on_iteration=stop)
    assert_array_equal(fit(spectrum, PLAIN, max_iter=5).objective, solution.objective)


@pytest.mark.parametrize("lambdas", [(1e308, 1, 1, 1), (1, 1, 1e308, 1), (1, 1, 1, 1e308)])
def test_overflow_is_an_error(lambdas):
    samples = make_samples(scale=1e3)
    with pytest.raises(DivergenceError, match="overflowed or is not a number"):
        fit(spectrum_of(samples), lambdas)


@pytest.mark.parametrize("seed", [17, 821, 822])
def test_a_result_is_finite_or_refused(seed):
    # more concepts than classes: A can grow where C is next to nothing
    try:
        solution = fit(
            spectrum_of(make_samples(n=60, m=16, d=2, c=1, seed=seed)),
            (0.02, 0.6, 1e300, 8.0),
            n_concepts=4,
            max_iter=8,
        )
    except DivergenceError:
        return
    assert np.isfinite(solution.visual_projection).all()
    assert np.isfinite(list(solution.stationarity.values())).all()


def test_overflowing_start_is_an_error():
    with pytest.raises(DivergenceError, match="overflowed"):
        fit(spectrum_of(make_samples()), PLAIN, start=np.full((6, 6), 1e200))


def test_an_error_of_the_callback_is_passed_on_as_it_is():
    class MineError(np.linalg.LinAlgError):
        pass

    def stop(iteration, objective):
        raise MineError("mine")

    with pytest.raises(MineError, match="mine"):
        fit(spectrum_of(make_samples()), PLAIN, on_iteration=stop)


@pytest.mark.parametrize("weight", [1e-300, 1e-30, 1e10])
def test_extreme_weights_are_finite(weight):
    spectrum = spectrum_of(make_samples())
    for position in range(4):
        lambdas = list(PLAIN)
        lambdas[position] = weight
        solution = fit(spectrum, lambdas, max_iter=5)
        assert np.isfinite(solution.visual_projection).all()
        assert np.isfinite(solution.objective).all()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"l1": -1}, ValueError, "l1 must be a finite number of at least 0, but is -1"),
        ({"l3": np.nan}, ValueError, "l3 must be a finite number"),
        ({"l4": np.inf}, ValueError, "l4 must be a finite number"),
        ({"l2": "much"}, TypeError, "l2 must be a number"),
        ({"n_concepts": 5}, ValueError, "n_concepts must be at least the number of classes, 6, but is 5"),
        ({"n_concepts": 6.5}, TypeError, "whole number"),
        ({"on_iteration": 3}, TypeError, "on_iteration must be a function"),
        ({"max_iter": 2**40}, ValueError, "max_iter must be from 1"),
        ({"max_iter": 0}, ValueError, "max_iter must be from 1 to"),
        ({"tol": -1e-3}, ValueError, "tol must be"),
        ({"start": "warm"}, ValueError, "start must be 'random', 'codes'"),
        ({"start": np.ones((6, 5))}, ValueError, "start must have shape"),
        ({"start": np.full((6, 6), np.nan)}, ValueError, "start holds NaN"),
        ({"start": StartStatistics(6, 23, 6)}, ValueError, "the start is for"),
    ],
)
def test_bad_options(change, error, message):
    options = {"l1": 1, "l2": 1, "l3": 1, "l4": 1, **change}
    with pytest.raises(error, match=message):
        solve(spectrum_of(make_samples()), **options)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((5, 3)), "6 classes but 5 class_vectors"),
        (np.ones((6, 0)), "class_vectors is empty"),
        (np.full((6, 3), np.nan), "class_vectors holds NaN"),
        (np.full((6, 3), 1e200), "too large to square"),
        (np.ones(6), "2 dimension"),
    ],
)
def test_bad_class_vectors(vectors, message):
    samples = make_samples()
    with pytest.raises(ValueError, match=message):
        Spectrum(Statistics.from_samples(samples.X, samples.labels), vectors)


def test_class_without_samples():
    samples = make_samples()
    statistics = Statistics.from_samples(samples.X, samples.labels, n_classes=8)
    with pytest.raises(ValueError, match=r"2 of the 8 classes have no samples \(the first is class 6\)"):
        Spectrum(statistics, np.ones((8, 3)))
    assert Spectrum(statistics.select_classes(range(6)), samples.class_vectors).n_classes == 6


def test_no_classes():
    with pytest.raises(ValueError, match="class_vectors is empty"):
        Spectrum(Statistics(3, 0), np.ones((0, 2)))


@pytest.mark.parametrize(
    ("codes", "X", "labels", "message"),
    [
        (np.ones((3, 4)), np.ones((3, 2)), [0, 1, 0], r"codes must have shape \(3, 5\)"),
        (np.ones((3, 5)), np.ones((3, 3)), [0, 1, 0], "X has 3 features"),
        (np.ones((3, 5)), np.ones((3, 2)), [0, 1, 2], "labels must be 0..1"),
        (np.full((3, 5), np.nan), np.ones((3, 2)), [0, 1, 0], "codes holds NaN"),
    ],
)
def test_bad_start_statistics(codes, X, labels, message):
    with pytest.raises(ValueError, match=message):
        StartStatistics(5, 2, 2).update(codes, X, labels)
