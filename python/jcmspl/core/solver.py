"""Fit of the JCMSPL model: block coordinate descent on sufficient statistics."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from jcmspl import _core
from jcmspl.core.statistics import StartStatistics, Statistics
from jcmspl.support.arguments import Float64Array, IntArray, as_count, as_matrix, as_weight
from jcmspl.support.machine import one_blas_thread_each

#: The five terms of the objective, in the order of the paper's formula.
TERMS = ("visual_projection", "semantic_projection", "class_codes", "visual_reconstruction", "semantic_reconstruction")

#: The three blocks of variables whose gradients :attr:`Solution.stationarity` holds.
STATIONARITY = ("visual", "semantic", "concepts")
#: The stages of a fit whose times are reported.
STAGES = ("start", "projections", "concepts", "objective", "finish")
_ARRAYS = ("visual_projection", "semantic_projection", "codes_of_samples", "codes_of_classes")

_SAME_COUNT = 1e-12  # relative difference of equal counts: sums of weights carry rounding errors
_LEAST_CLASSES = 256  # with fewer classes the rotation saves little

OnIteration = Callable[[int, float], None]
Start = Literal["random", "codes"] | npt.ArrayLike | StartStatistics


class Spectrum:
    """The eigenbases of the two Gram matrices, shared by any number of fits to the same data.

    They depend neither on the weights l1..l4 nor on the number of concepts, the start or the number of iterations.
    Several threads may use one spectrum at once.

    Parameters
    ----------
    statistics : Statistics
        Every class must have samples.
    class_vectors : array_like of shape (n_classes, n_attributes)
        The semantic vector of each class of the statistics.

    Attributes
    ----------
    visual_eigenvalues, semantic_eigenvalues : ndarray
        Eigenvalues of XX' and of YY' above rounding noise, ascending. Directions below it carry no signal; without
        them every solution is the minimum-norm one.
    timings : dict
        Seconds spent on each of the two.

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl.core import Spectrum, Statistics
    >>> rng = np.random.default_rng(0)
    >>> statistics = Statistics.from_samples(rng.random((60, 8)), np.arange(60) % 3)
    >>> spectrum = Spectrum(statistics, class_vectors=rng.random((3, 4)))
    >>> spectrum.visual_eigenvalues.shape, spectrum.semantic_eigenvalues.shape
    ((8,), (3,))
    """

    def __init__(self, statistics: Statistics, class_vectors: npt.ArrayLike) -> None:
        if not isinstance(statistics, Statistics):
            raise TypeError(f"statistics must be jcmspl.core.Statistics, but is {type(statistics).__name__}")
        vectors = as_matrix(class_vectors, "class_vectors")
        if len(vectors) != statistics.n_classes:
            raise ValueError(f"there are {statistics.n_classes} classes but {len(vectors)} class_vectors")
        if vectors.size == 0:
            raise ValueError(f"class_vectors is empty (its shape is {vectors.shape})")
        counts = statistics._core.counts
        empty = np.flatnonzero(counts == 0)
        if len(empty):
            raise ValueError(
                f"{len(empty)} of the {statistics.n_classes} classes have no samples (the first is class {empty[0]}): "
                "leave them out with statistics.select_classes"
            )
        if np.abs(vectors).max() > 1e145:
            raise ValueError("class_vectors holds values too large to square")
        self._rotated = rotated_classes(statistics, vectors, counts)
        if self._rotated is None:
            self._core = self._of(statistics, vectors)
        else:
            parts = self._rotated
            self._core = self._of(parts.statistics, parts.class_vectors, parts.idle)
        #: Whether fits that start from the codes of the classes use directions in place of classes.
        self.is_rotated = self._rotated is not None
        if self._rotated is not None:
            self._given = statistics.copy(), vectors
            self._whole: _core.Spectrum | None = None
            self._lock = threading.Lock()
        self.n_features, self.n_classes = statistics.n_features, statistics.n_classes
        self.n_attributes = vectors.shape[1]
        self.visual_eigenvalues: Float64Array = self._core.visual_eigenvalues
        self.semantic_eigenvalues: Float64Array = self._core.semantic_eigenvalues
        self.timings = {"visual": self._core.visual_seconds, "semantic": self._core.semantic_seconds}

    def _of_all_classes(self) -> _core.Spectrum:
        """Return the spectrum without rotation, for starts other than the codes of the classes."""
        if self._rotated is None:
            return self._core
        with self._lock:
            if self._whole is None:
                statistics, vectors = self._given
                self._whole = self._of(statistics, vectors)
            return self._whole

    @staticmethod
    def _of(statistics: Statistics, class_vectors: Float64Array, idle: float = 0.0) -> _core.Spectrum:
        with one_blas_thread_each(statistics.n_features**3 + class_vectors.shape[1] ** 3) as n_threads:
            return _core.Spectrum(statistics._core, class_vectors, idle, n_threads)


@dataclass(frozen=True)
class Solution:
    """The result of :func:`solve`.

    ========================  ========  =============================================================
    attribute                 paper     meaning
    ========================  ========  =============================================================
    visual_projection         A         (n_concepts, n_features)
    semantic_projection       B         (n_concepts, n_attributes)
    objective                 f         after each iteration
    terms                     f         its five terms after each iteration, in the order of ``TERMS``
    codes_of_samples          C = P X   P (n_concepts, n_features) and
    codes_of_classes          + E L'    E (n_concepts, n_classes), with ``return_codes=True``
    ========================  ========  =============================================================

    ``stationarity`` holds the final gradient of each block relative to the norms of its parts: it is small once the
    descent has converged. ``timings`` are seconds per stage.
    """

    visual_projection: Float64Array
    semantic_projection: Float64Array
    objective: Float64Array
    terms: Float64Array
    n_iter: int
    converged: bool
    stationarity: dict[str, float]
    timings: dict[str, float]
    codes_of_samples: Float64Array | None
    codes_of_classes: Float64Array | None


def class_codes(n_concepts: int, n_classes: int) -> Float64Array:
    """Return Hc (n_concepts, n_classes): one block of concepts per class, of sizes as equal as possible."""
    return np.repeat(np.eye(n_classes), np.diff(_core.concept_blocks(n_concepts, n_classes)), axis=0)


def solve(
    spectrum: Spectrum,
    *,
    l1: float,
    l2: float,
    l3: float,
    l4: float,
    n_concepts: int | None = None,
    start: Start = "random",
    max_iter: int = 35,
    tol: float = 1e-6,
    random_state: int | np.random.Generator | None = None,
    return_codes: bool = False,
    on_iteration: OnIteration | None = None,
) -> Solution:
    r"""Fit the projections A and B of the paper.

    Minimises over A, B and C in turn

    .. math:: \tfrac{1}{2}|AX-C|^2 + \tfrac{l_1}{2}|BY-C|^2 + \tfrac{l_2}{2}|C-H|^2
              + \tfrac{l_3}{2}|X-A'C|^2 + \tfrac{l_4}{2}|Y-B'C|^2

    with the same result as the textbook algorithm, at a cost independent of the number of samples.

    Parameters
    ----------
    spectrum : Spectrum
    l1, l2, l3, l4 : float
        The weights of the last four terms; at least 0.
    n_concepts : int, optional
        The dimension k of the concept space, at least and by default the number of classes.
    start : {"random", "codes"}, array of shape (n_concepts, n_classes) or StartStatistics
        The first C: normal random codes per class, the codes H, given codes per class, or given codes per sample in
        the form of :class:`StartStatistics`.
    max_iter : int, default 35
    tol : float, default 1e-6
        Stop when an iteration lowers the objective by less than this fraction; 0 disables the test. The descent also
        goes on where the rounding error of the objective exceeds the fraction (huge weights on a nearly perfect
        reconstruction).
    random_state : int, Generator or None
        Seed of the random start.
    return_codes : bool, default False
        Whether to return P and E, from which ``C = P @ X.T + E[:, labels]``.
    on_iteration : callable, optional
        Called with the number and the objective of each iteration. An exception it raises stops the fit.

    Raises
    ------
    DivergenceError
        If the objective overflows or is not a number. It is a ``numpy.linalg.LinAlgError``.

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl.core import Spectrum, Statistics, solve
    >>> rng = np.random.default_rng(0)
    >>> X, labels = rng.random((60, 8)), np.arange(60) % 3
    >>> spectrum = Spectrum(Statistics.from_samples(X, labels), class_vectors=rng.random((3, 4)))
    >>> solution = solve(spectrum, l1=0.01, l2=1, l3=0.1, l4=0.01, random_state=0)
    >>> solution.visual_projection.shape, solution.semantic_projection.shape
    ((3, 8), (3, 4))
    >>> bool(np.all(np.diff(solution.objective) <= 0))
    True
    """
    k = spectrum.n_classes if n_concepts is None else as_count(n_concepts, "n_concepts")
    if k < spectrum.n_classes:
        raise ValueError(f"n_concepts must be at least the number of classes, {spectrum.n_classes}, but is {k}")
    rotated = spectrum._rotated if k == spectrum.n_classes and isinstance(start, str) and start == "codes" else None
    settings = _core.Settings(
        l1=as_weight(l1, "l1"),
        l2=as_weight(l2, "l2"),
        l3=as_weight(l3, "l3"),
        l4=as_weight(l4, "l4"),
        n_concepts=k if rotated is None else rotated.n_directions,
        max_iter=as_count(max_iter, "max_iter"),
        tol=as_weight(tol, "tol"),
        want_codes=bool(return_codes),
    )
    if on_iteration is not None and not callable(on_iteration):
        raise TypeError(f"on_iteration must be a function, but is {on_iteration!r}")
    n_concepts = settings.n_concepts
    work = (spectrum.n_features + n_concepts) * spectrum.n_features * max(n_concepts, spectrum.n_attributes)
    with one_blas_thread_each(work) as n_threads:
        if rotated is None:
            codes = _start(start, k, spectrum, random_state)
            results = _core.solve(spectrum._of_all_classes(), settings, codes, on_iteration, n_threads)
        else:
            results = _core.solve(spectrum._core, settings, np.eye(rotated.n_directions), on_iteration, n_threads)
    A, B, P, E = (getattr(results, name) for name in _ARRAYS)
    if rotated is not None:
        A, B = rotated.by_class(A), rotated.by_class(B)
        if return_codes:
            P, E = rotated.by_class(P), rotated.codes_by_class(E, settings.l2 / (1 + settings.l1 + settings.l2))
    info, terms = results.info, results.info.terms
    return Solution(
        visual_projection=A,
        semantic_projection=B,
        objective=terms.sum(axis=1),
        terms=terms,
        n_iter=info.n_iter,
        converged=info.converged,
        stationarity={name: getattr(info.stationarity, name) for name in STATIONARITY},
        timings={name: getattr(info.timings, name) for name in STAGES},
        codes_of_samples=P,
        codes_of_classes=E,
    )


def _start(
    start: Start, n_concepts: int, spectrum: Spectrum, random_state: int | np.random.Generator | None
) -> Float64Array | _core.StartStatistics:
    shape = (n_concepts, spectrum.n_classes)
    if isinstance(start, StartStatistics):
        given = (start.n_concepts, start.n_features, start.n_classes)
        expected = (n_concepts, spectrum.n_features, spectrum.n_classes)
        if given != expected:
            raise ValueError(
                f"the start is for (concepts, features, classes) = {given}, but this fit is for {expected}"
            )
        return start._core
    if isinstance(start, str):
        if start == "random":
            return np.random.default_rng(random_state).standard_normal(shape)
        if start == "codes":
            return class_codes(*shape)
        raise ValueError(f"start must be 'random', 'codes', an array or StartStatistics, but is {start!r}")
    codes = as_matrix(start, "start")
    if codes.shape != shape:
        raise ValueError(f"start must have shape (n_concepts, n_classes) = {shape}, but has {codes.shape}")
    return codes


class RotatedClasses:
    """The descent for many classes of equal counts, reduced to the few directions that the data determines.

    With c classes of the same count, a descent that starts from their own codes H distinguishes at most m + d
    directions: those of the class sums and of the class vectors. In a rotated basis that has these directions first,
    concepts and classes separate. Along the directions the descent is that of as many classes; across them A and B are
    zero, and C is a multiple of H. Nothing is approximated (docs/algorithm.md).
    """

    def __init__(self, statistics: Statistics, class_vectors: Float64Array, groups: list[np.ndarray]) -> None:
        m, counts = statistics.n_features, statistics.counts
        both = np.hstack([statistics.class_sums, class_vectors])
        # classes of the same count, with their directions as orthonormal columns; None if they are not rotated
        self._groups: list[tuple[IntArray, Float64Array | None]] = []
        self._n_classes, parts, sizes = len(both), [], []
        self.idle = 0.0  #: |H|^2 across the directions
        for classes in groups:
            directions, rows = None, both[classes]
            if len(classes) > both.shape[1]:
                directions, rows = np.linalg.qr(rows)
                self.idle += float(counts[classes].mean()) * (len(classes) - len(rows))
            self._groups.append((classes, directions))
            parts.append(rows)
            sizes.append(np.full(len(rows), counts[classes].mean()))
        rotated = np.vstack(parts)
        self.statistics = Statistics.from_arrays(statistics.gram, rotated[:, :m], np.concatenate(sizes))
        self.class_vectors = np.ascontiguousarray(rotated[:, m:])
        self.n_directions = len(rotated)

    def by_class(self, rows: Float64Array) -> Float64Array:
        """Map a matrix with a row per direction to one with a row per class; it is zero across the directions."""
        out, first = np.empty((self._n_classes, rows.shape[1])), 0
        for classes, directions in self._groups:
            count = len(classes) if directions is None else directions.shape[1]
            part = rows[first : first + count]
            out[classes] = part if directions is None else directions @ part
            first += count
        return out

    def codes_by_class(self, codes: Float64Array, across: float) -> Float64Array:
        """Return E (n_classes, n_classes) from E of the directions; across them C is that multiple of H."""
        both = self.by_class(self.by_class(codes - across * np.eye(len(codes))).T).T
        return np.asarray(both + across * np.eye(len(both)))


def rotated_classes(statistics: Statistics, class_vectors: Float64Array, counts: Float64Array) -> RotatedClasses | None:
    """Return the rotated classes, or None if there are not much fewer directions than classes."""
    n_most = statistics.n_features + class_vectors.shape[1]
    if n_directions(counts, n_most) == len(counts):
        return None
    return RotatedClasses(statistics, class_vectors, _groups(counts))


def n_directions(counts: Float64Array, n_most: int) -> int:
    """Return the number of directions (at most n_most per distinct count), or of classes if those are few."""
    found = sum(min(len(classes), n_most) for classes in _groups(counts))
    return found if len(counts) >= _LEAST_CLASSES and 2 * found <= len(counts) else len(counts)


def _groups(counts: Float64Array) -> list[np.ndarray]:
    order = np.argsort(counts, kind="stable")
    steps = np.diff(counts[order]) > _SAME_COUNT * counts[order][1:]
    return np.split(order, np.flatnonzero(steps) + 1)
