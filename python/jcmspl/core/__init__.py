"""The kernels of the compiled core, each usable without a model. They check their arguments.

=============================  =====================================================================
:class:`Statistics`            sums over labelled samples: all that a fit reads, in one pass
:class:`StartStatistics`       sums for a start of :func:`solve` that is given sample by sample
:class:`Spectrum`              the eigenbases shared by every setting of the model
:func:`solve`                  the model itself, on a spectrum
:class:`Solution`              what :func:`solve` returns
:func:`nearest`                the nearest prototypes of each sample
:class:`AffineScorer`          recognition in the visual, semantic or concept space, as one product
:func:`solve_sylvester`        ``a x + x b = q`` for square ``a`` and ``b``
:func:`sylvester_residual`     how well a solution satisfies that equation
=============================  =====================================================================
"""

from jcmspl.support.lazy import attach

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from jcmspl.core.search import AffineScorer, nearest
    from jcmspl.core.solver import Solution, Spectrum, solve
    from jcmspl.core.statistics import StartStatistics, Statistics
    from jcmspl.core.sylvester import solve_sylvester, sylvester_residual
else:  # hidden from type checkers, which would take any name to be there
    _HOMES = {
        "search": ("AffineScorer", "nearest"),
        "solver": ("Solution", "Spectrum", "solve"),
        "statistics": ("StartStatistics", "Statistics"),
        "sylvester": ("solve_sylvester", "sylvester_residual"),
    }
    __getattr__, __dir__ = attach(__name__, {name: f"{__name__}.{home}" for home in _HOMES for name in _HOMES[home]})

__all__ = [
    "AffineScorer",
    "Solution",
    "Spectrum",
    "StartStatistics",
    "Statistics",
    "nearest",
    "solve",
    "solve_sylvester",
    "sylvester_residual",
]
