"""The compiled core. Use the functions of the package, which check their arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str

_F32 = npt.NDArray[np.float32]
_F64 = npt.NDArray[np.float64]
_I64 = npt.NDArray[np.int64]
_U16 = npt.NDArray[np.uint16]
_U64 = npt.NDArray[np.uint64]
_OnIteration = Callable[[int, float], None] | None

class Statistics:
    def __init__(self, n_features: int, n_classes: int) -> None: ...
    @staticmethod
    def from_arrays(gram: _F64, class_sums: _F64, counts: _F64) -> Statistics: ...
    def update(
        self,
        X: _F32 | _F64,
        labels: _I64,
        unit_rows: bool,
        roots: bool = False,
        first_row: int = 0,
        weights: _F64 | None = None,
        n_threads: int = 1,
    ) -> None: ...
    def update_float16(
        self,
        X: _U16,
        labels: _I64,
        unit_rows: bool,
        roots: bool = False,
        first_row: int = 0,
        weights: _F64 | None = None,
        n_threads: int = 1,
    ) -> None: ...
    def update_bfloat16(
        self,
        X: _U16,
        labels: _I64,
        unit_rows: bool,
        roots: bool = False,
        first_row: int = 0,
        weights: _F64 | None = None,
        n_threads: int = 1,
    ) -> None: ...
    def add(self, other: Statistics) -> None: ...
    def subtract(self, other: Statistics) -> None: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def block_rows(self) -> int: ...
    @property
    def gram(self) -> _F64: ...
    @property
    def squares(self) -> _F64: ...
    @property
    def class_sums(self) -> _F64: ...
    @property
    def counts(self) -> _F64: ...

def shift_and_scale(statistics: Statistics, shift: _F64, scale: _F64, noise: _F64) -> Statistics: ...
def whiten(
    statistics: Statistics, shrinkage: float, noise: _F64, symmetric: bool, n_threads: int
) -> tuple[_F64, Statistics] | None: ...
def whitened_by(statistics: Statistics, T: _F64, noise: _F64, n_threads: int) -> Statistics: ...

class StartStatistics:
    def __init__(self, n_concepts: int, n_features: int, n_classes: int) -> None: ...
    def update(self, codes: _F32 | _F64, X: _F32 | _F64, labels: _I64) -> None: ...

class Spectrum:
    def __init__(self, statistics: Statistics, class_vectors: _F64, idle_labels: float = ...) -> None: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def visual_eigenvalues(self) -> _F64: ...
    @property
    def semantic_eigenvalues(self) -> _F64: ...
    @property
    def visual_seconds(self) -> float: ...
    @property
    def semantic_seconds(self) -> float: ...

class Settings:
    def __init__(
        self,
        *,
        l1: float,
        l2: float,
        l3: float,
        l4: float,
        n_concepts: int,
        max_iter: int,
        tol: float,
        want_codes: bool,
    ) -> None: ...
    @property
    def l1(self) -> float: ...
    @property
    def l2(self) -> float: ...
    @property
    def l3(self) -> float: ...
    @property
    def l4(self) -> float: ...
    @property
    def n_concepts(self) -> int: ...
    @property
    def max_iter(self) -> int: ...
    @property
    def tol(self) -> float: ...
    @property
    def want_codes(self) -> bool: ...

class Stationarity:
    @property
    def visual(self) -> float: ...
    @property
    def semantic(self) -> float: ...
    @property
    def concepts(self) -> float: ...

class Timings:
    @property
    def start(self) -> float: ...
    @property
    def projections(self) -> float: ...
    @property
    def concepts(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def finish(self) -> float: ...

class Info:
    @property
    def n_iter(self) -> int: ...
    @property
    def converged(self) -> bool: ...
    @property
    def terms(self) -> _F64: ...
    @property
    def stationarity(self) -> Stationarity: ...
    @property
    def timings(self) -> Timings: ...

class Results:
    @property
    def visual_projection(self) -> _F64: ...
    @property
    def semantic_projection(self) -> _F64: ...
    @property
    def codes_of_samples(self) -> _F64 | None: ...
    @property
    def codes_of_classes(self) -> _F64 | None: ...
    @property
    def info(self) -> Info: ...

class SylvesterResults:
    @property
    def x(self) -> npt.NDArray[Any]: ...
    @property
    def nearly_singular(self) -> bool: ...
    @property
    def separation(self) -> float: ...
    @property
    def singular_pair(self) -> tuple[complex, complex] | None: ...

class Space:
    visual: Space
    semantic: Space
    concept: Space

class Metric:
    cosine: Metric
    euclidean: Metric
    dot: Metric

class Violators:
    any: Violators
    worst: Violators
    all: Violators

class Ranking:
    def __init__(
        self,
        maps: _F64,
        vectors: _F64,
        *,
        violators: Violators,
        margin: float,
        rate: float,
        seed: int,
        average: bool,
    ) -> None: ...
    def learn(self, X: _F64, labels: _I64, weights: _F64 | None = None) -> tuple[float, int]: ...
    @property
    def maps(self) -> _F64: ...
    @property
    def mean_maps(self) -> _F64: ...
    @property
    def choices(self) -> list[int]: ...
    def keep(self, maps: list[int]) -> None: ...

def concept_blocks(n_concepts: int, n_classes: int) -> list[int]: ...
def solve(
    spectrum: Spectrum,
    settings: Settings,
    class_codes: _F64 | StartStatistics,
    on_iteration: _OnIteration = ...,
) -> Results: ...
def solve_sylvester(a: npt.NDArray[Any], b: npt.NDArray[Any], q: npt.NDArray[Any]) -> SylvesterResults: ...
def sylvester_residual(a: npt.NDArray[Any], b: npt.NDArray[Any], q: npt.NDArray[Any], x: npt.NDArray[Any]) -> float: ...
def fold(
    visual_projection: _F64,
    semantic_projection: _F64,
    candidates: _F64,
    space: Space,
    metric: Metric,
) -> tuple[_F64, _F64]: ...
def byte_products() -> str: ...
def use_byte_products(name: str) -> bool: ...
def top_k(
    X: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    bias: npt.NDArray[Any],
    k: int,
    unit_rows: bool,
    roots: bool,
    n_threads: int,
    product_threads: int = 1,
) -> tuple[_I64, npt.NDArray[Any]]: ...
def affine_scores(
    X: npt.NDArray[Any], weights: npt.NDArray[Any], bias: npt.NDArray[Any], unit_rows: bool, roots: bool
) -> npt.NDArray[Any]: ...
def nearest(
    X: npt.NDArray[Any], prototypes: npt.NDArray[Any], k: int, metric: Metric, n_threads: int
) -> tuple[_I64, npt.NDArray[Any]]: ...
def hamming_scores(X: _U64, candidates: _U64, bias: _F64, n_threads: int) -> _F64: ...
def hamming_top_k(X: _U64, candidates: _U64, bias: _F64, k: int, n_threads: int) -> tuple[_I64, _F64]: ...
def project_onto_simplex(rows: _F64) -> _F64: ...
def minimise_on_simplex(quadratic: _F64, linear: _F64, n_threads: int) -> tuple[_F64, _F64]: ...
def intersections(X: _F64, thresholds: _F64, weights: _F64, n_threads: int) -> _F64: ...
def intersection_gradients(
    X: _F64, thresholds: _F64, weights: _F64, factors: _F64, n_threads: int
) -> tuple[_F64, _F64]: ...
def sparse_codes(
    gram: _F64, products: _F64, squares: _F64, penalty: float, tolerance: float, max_sweeps: int, n_threads: int
) -> tuple[_F64, _F64, _F64]: ...
def descend_within_ball(rows: _F64, owed: _F64, gram: _F64, noise: float) -> _F64: ...
def adam_step(
    gradient: npt.NDArray[Any],
    parameter: npt.NDArray[Any],
    mean: npt.NDArray[Any],
    square: npt.NDArray[Any],
    largest: npt.NDArray[Any] | None,
    *,
    step: float,
    epsilon: float,
    beta1: float,
    beta2: float,
    decay: float,
) -> None: ...
