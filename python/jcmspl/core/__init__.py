"""The kernels of the compiled core, each usable without a model, with checked arguments.

=============================  =====================================================================
:class:`Statistics`            sums over labelled samples: all that a fit reads, in one pass
:class:`StartStatistics`       sums for a start of :func:`solve` that is given sample by sample
:class:`Spectrum`              the eigenbases shared by every setting of the model
:func:`solve`                  the fit of JCMSPL, on a spectrum
:class:`Solution`              the result of :func:`solve`
:func:`nearest`                the nearest prototypes of each sample
:class:`AffineScorer`          scores in the visual, semantic or concept space, as a linear layer
:func:`solve_sylvester`        ``a x + x b = q`` for square ``a`` and ``b``
:func:`sylvester_residual`     the relative residual of a solution
=============================  =====================================================================
"""

from jcmspl.support.lazy import attach

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from jcmspl.core.scoring import AffineScorer, nearest
    from jcmspl.core.solver import Solution, Spectrum, solve
    from jcmspl.core.statistics import StartStatistics, Statistics
    from jcmspl.core.sylvester import solve_sylvester, sylvester_residual
else:  # hidden from type checkers, which would take any name to be there
    _HOMES = {
        "scoring": ("AffineScorer", "nearest"),
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
