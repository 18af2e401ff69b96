"""The compiled core. Use the functions of the package, which check their arguments."""

from collections.abc import Callable
from typing import Any, overload

import numpy as np
import numpy.typing as npt

__version__: str

_F32 = npt.NDArray[np.float32]
_F64 = npt.NDArray[np.float64]
_I64 = npt.NDArray[np.int64]
_OnIteration = Callable[[int, float], None] | None

class Statistics:
    def __init__(self, n_features: int, n_classes: int) -> None: ...
    @staticmethod
    def from_arrays(gram: _F64, class_sums: _F64, counts: _I64) -> Statistics: ...
    def update(self, X: _F32 | _F64, labels: _I64, unit_rows: bool, first_row: int = 0) -> None: ...
    def add(self, other: Statistics) -> None: ...
    def subtract(self, other: Statistics) -> None: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def gram(self) -> _F64: ...
    @property
    def class_sums(self) -> _F64: ...
    @property
    def counts(self) -> _I64: ...

class StartStatistics:
    def __init__(self, n_concepts: int, n_features: int, n_classes: int) -> None: ...
    def update(self, codes: _F64, X: _F64, labels: _I64) -> None: ...

class Spectrum:
    def __init__(self, statistics: Statistics, class_vectors: _F64) -> None: ...
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

class Space:
    visual: Space
    semantic: Space
    concept: Space

class Metric:
    cosine: Metric
    euclidean: Metric
    dot: Metric

def concept_blocks(n_concepts: int, n_classes: int) -> list[int]: ...
def solve(
    spectrum: Spectrum,
    settings: Settings,
    class_codes: _F64 | StartStatistics,
    on_iteration: _OnIteration = ...,
) -> dict[str, Any]: ...
@overload
def solve_sylvester(a: _F32, b: _F32, q: _F32) -> dict[str, Any]: ...
@overload
def solve_sylvester(a: _F64, b: _F64, q: _F64) -> dict[str, Any]: ...
def sylvester_residual(a: npt.NDArray[Any], b: npt.NDArray[Any], q: npt.NDArray[Any], x: npt.NDArray[Any]) -> float: ...
def fold(
    visual_projection: _F64,
    semantic_projection: _F64,
    candidates: _F64,
    space: Space,
    metric: Metric,
) -> tuple[_F64, _F64]: ...
def top_k(
    X: npt.NDArray[Any], weights: npt.NDArray[Any], bias: npt.NDArray[Any], k: int, unit_rows: bool, n_threads: int
) -> tuple[_I64, npt.NDArray[Any]]: ...
def affine_scores(
    X: npt.NDArray[Any], weights: npt.NDArray[Any], bias: npt.NDArray[Any], unit_rows: bool
) -> npt.NDArray[Any]: ...
def nearest(
    X: npt.NDArray[Any], prototypes: npt.NDArray[Any], k: int, metric: Metric, n_threads: int
) -> tuple[_I64, npt.NDArray[Any]]: ...
