"""Classical zero-shot recognition: exact, fast, scikit-learn style.

=========================  =====================================================================
:class:`JCMSPL`            the estimator: fit on some classes, recognise others by their vectors
:class:`JCMSPLCV`          the same, with its parameters chosen by cross-validation over classes
:class:`ClassSearchCV`     the same search for any other model
:class:`RidgeVS`, ...      linear peers with the same methods: RidgeVS, FPL, RPL, SAE, ESZSL
:func:`IPL`, ...           the ablations of the paper: IPL, JCMSPL0, JCMSPL1
:class:`ClassTable`        class vectors under the names of their classes
:class:`ClassKFold`        cross-validation over classes
:func:`load`               reads a model that was saved
:mod:`jcmspl.datasets`     the field's files, your own, and data that needs none
=========================  =====================================================================

The kernels of the compiled core, each usable on its own:

=========================  =====================================================================
:func:`solve_sylvester`    ``a x + x b = q`` for real square ``a`` and ``b``
:class:`Statistics`        all that a fit needs to know of labelled samples, in one pass
:class:`Spectrum`          the eigenbases shared by every setting of the model
:func:`solve`              the model itself, on a spectrum
:func:`nearest`            the nearest prototypes of each sample
:class:`AffineScorer`      recognition in the visual, semantic or concept space, as one product
=========================  =====================================================================
"""

from jcmspl.core.search import AffineScorer, nearest
from jcmspl.core.solver import Solution, Spectrum, solve
from jcmspl.core.statistics import StartStatistics, Statistics
from jcmspl.core.sylvester import solve_sylvester, sylvester_residual
from jcmspl.data.class_folds import ClassKFold
from jcmspl.data.class_table import ClassTable
from jcmspl.evaluation.evaluate import evaluate
from jcmspl.io.archive import ModelFileError
from jcmspl.model_selection.class_search import ClassSearchCV
from jcmspl.model_selection.jcmspl_cv import JCMSPLCV
from jcmspl.models.ablations import IPL, JCMSPL0, JCMSPL1
from jcmspl.models.eszsl import ESZSL
from jcmspl.models.fpl import FPL
from jcmspl.models.jcmspl import JCMSPL
from jcmspl.models.persistence import load
from jcmspl.models.ridge_vs import RidgeVS
from jcmspl.models.rpl import RPL
from jcmspl.models.sae import SAE
from jcmspl.support.exceptions import DivergenceError, NearlySingularWarning, SingularEquationError

__version__ = "0.1.0"

__all__ = [
    "ESZSL",
    "FPL",
    "IPL",
    "JCMSPL",
    "JCMSPL0",
    "JCMSPL1",
    "JCMSPLCV",
    "RPL",
    "SAE",
    "AffineScorer",
    "ClassKFold",
    "ClassSearchCV",
    "ClassTable",
    "DivergenceError",
    "ModelFileError",
    "NearlySingularWarning",
    "RidgeVS",
    "SingularEquationError",
    "Solution",
    "Spectrum",
    "StartStatistics",
    "Statistics",
    "__version__",
    "evaluate",
    "load",
    "nearest",
    "solve",
    "solve_sylvester",
    "sylvester_residual",
]
