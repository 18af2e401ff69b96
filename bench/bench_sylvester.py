"""The Sylvester solver against SciPy's, for general and for symmetric coefficients, large and small."""

from functools import partial

import numpy as np
import scipy.linalg

from jcmspl.core import solve_sylvester
from question import Contestants, Question, Target
from samples import assert_equal


def coefficient(rng: np.random.Generator, size: int, kind: str) -> np.ndarray:
    """Return a matrix whose eigenvalues have positive real parts, so that the equation is well-conditioned."""
    noise = rng.standard_normal((size, size)) / np.sqrt(size)
    return (noise @ noise.T if kind == "symmetric" else noise) + 2 * np.eye(size)


def prepare(rows: int, columns: int, kind: str) -> Contestants:
    rng = np.random.default_rng(0)
    a, b = coefficient(rng, rows, kind), coefficient(rng, columns, kind)
    q = rng.standard_normal((rows, columns))

    def check():
        assert_equal("x", solve_sylvester(a, b, q), scipy.linalg.solve_sylvester(a, b, q), 1e-10)

    return Contestants(
        ours=lambda: solve_sylvester(a, b, q), peer=lambda: scipy.linalg.solve_sylvester(a, b, q), check=check
    )


def question(rows: int, columns: int, kind: str, bound: float) -> Question:
    shape = f"{rows}x{columns}"
    return Question(
        f"sylvester-{shape}-{kind}",
        f"solve_sylvester, {shape} {kind} / SciPy",
        Target("speed", bound),
        partial(prepare, rows, columns, kind),
        rounds=2 if max(rows, columns) > 500 else 5,  # SciPy takes many seconds
    )


QUESTIONS = [
    question(1024, 1024, "general", 1.7),
    question(40, 1024, "general", 4),
    question(1024, 1024, "symmetric", 8),
    *(question(size, size, kind, 1) for size in (64, 128, 256) for kind in ("general", "symmetric")),
]


def test_sylvester(time_side):
    time_side()
