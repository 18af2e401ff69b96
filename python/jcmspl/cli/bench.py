"""Time a fit on random data, in units of NumPy's X.T @ X on the same data. The best of several runs counts.

Benchmarks against other packages are in bench/ of the source repository.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from jcmspl.cli._options import add_output, show

#: Sizes of the paper's data sets; the number of concepts is that of training classes.
SIZES = ("samples", "features", "attributes", "classes")
SHAPES = {"AwA": (24295, 1024, 85, 40), "CUB": (8855, 1024, 312, 150), "SUN": (12900, 1024, 102, 645)}
# After a call the BLAS threads of NumPy and SciPy keep spinning for a while, which would slow down the next one.
_PAUSE = 0.15
EXAMPLES = """\
  jcmspl bench
  jcmspl bench --shape CUB --repeats 10
  jcmspl bench --samples 5000 --features 512 --attributes 64 --classes 30
"""
LOADS = ("jcmspl.core.solver",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--shape", choices=list(SHAPES), default="AwA", help="data set to imitate (default: AwA)")
    for name in SIZES:
        parser.add_argument(f"--{name}", metavar="N", type=int, help=f"number of {name} (default: that of the shape)")
    parser.add_argument("--iterations", metavar="N", type=int, default=35, help="iterations of a fit (default: 35)")
    parser.add_argument("--repeats", metavar="N", type=int, default=5, help="number of runs (default: 5)")
    add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    import numpy as np

    from jcmspl.core.solver import Spectrum, solve
    from jcmspl.core.statistics import Statistics

    sizes = dict(zip(SIZES, SHAPES[arguments.shape], strict=True))
    sizes |= {name: getattr(arguments, name) for name in SIZES if getattr(arguments, name) is not None}
    n, m, d, c = sizes.values()
    if min(n, m, d, c, arguments.iterations, arguments.repeats) < 1 or n < c:
        raise ValueError("all numbers must be at least 1, and there must be a sample for each class")
    rng = np.random.default_rng(0)
    X, labels, vectors = rng.random((n, m)), np.arange(n) % c, rng.random((c, d))

    def fit() -> Any:
        spectrum = Spectrum(Statistics.from_samples(X, labels, c), vectors)
        return solve(spectrum, l1=0.01, l2=1, l3=0.1, l4=0.01, tol=0, max_iter=arguments.iterations, start="codes")

    if not np.allclose(Statistics.from_samples(X, labels, c).gram, X.T @ X):
        raise ArithmeticError("jcmspl and NumPy do not agree on X.T @ X")
    ours, gram = _best_of(arguments.repeats, fit, lambda: X.T @ X)
    seconds = {"fit_seconds": ours, "gram_seconds": gram, "ratio": ours / gram}
    text = (
        f"{n:,} samples x {m:,} features, {c} classes x {d} attributes, {arguments.iterations} iterations:\n"
        f"a fit takes {ours:.3f} s, {ours / gram:.2f} times NumPy's X.T @ X ({gram:.3f} s)"
    )
    show(arguments, {**sizes, "iterations": arguments.iterations, **seconds}, text)


def _best_of(repeats: int, *functions: Callable[[], Any]) -> list[float]:
    best = [float("inf")] * len(functions)
    for _ in range(repeats):
        for index, function in enumerate(functions):
            time.sleep(_PAUSE)
            started = time.perf_counter()
            function()
            best[index] = min(best[index], time.perf_counter() - started)
    return best
