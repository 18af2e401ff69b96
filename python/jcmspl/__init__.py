"""Classical zero-shot recognition: exact, fast, scikit-learn style.

=========================  =====================================================================
:class:`JCMSPL`            the estimator: fit on some classes, recognise others by their vectors
:class:`JCMSPLCV`          the same, with its parameters chosen by cross-validation over classes
:class:`ClassSearchCV`     the same search for any other method
:class:`ClassTable`        class vectors under the names of their classes
:class:`ClassKFold`        cross-validation over classes
:func:`load`               reads a model that was saved
:func:`evaluate`           tests a model on a data set
:func:`compare`            tunes and tests many methods on a data set
:func:`explore`            a page to try a model in: made-up classes, drawn digits
:mod:`jcmspl.methods`      all methods, with the calls of :class:`JCMSPL`: RidgeVS, ESZSL, SAE ...
:mod:`jcmspl.datasets`     the field's files, your own, and data that needs none
:mod:`jcmspl.embed`        features of pictures and vectors of descriptions, by encoders that you have
:mod:`jcmspl.metrics`      accuracies per class and per sample, seen and unseen
:mod:`jcmspl.checks`       wrong labels, class vectors that do not fit, duplicates and leaks in data
:mod:`jcmspl.plots`        charts in the manner of scikit-learn
:mod:`jcmspl.core`         the kernels of the compiled core: statistics, solver, search
:mod:`jcmspl.exceptions`   errors and warnings
=========================  =====================================================================

Each is imported when it is first used, so that ``import jcmspl`` itself takes no time.
"""

from jcmspl.support import lazy as _lazy
from jcmspl.support.version import __version__

_lazy.notebook = "jcmspl.report.pages"  # draws the results of earlier layers

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:  # for type checkers and editors; the other branch is for the interpreter, and a test compares them
    from jcmspl import checks as checks
    from jcmspl import core as core
    from jcmspl import datasets as datasets
    from jcmspl import embed as embed
    from jcmspl import exceptions as exceptions
    from jcmspl import methods as methods
    from jcmspl import metrics as metrics
    from jcmspl import plots as plots
    from jcmspl.data.class_folds import ClassKFold
    from jcmspl.data.class_table import ClassTable
    from jcmspl.evaluation.compare import compare
    from jcmspl.evaluation.evaluate import evaluate
    from jcmspl.evaluation.explorer import explore
    from jcmspl.methods.jcmspl import JCMSPL
    from jcmspl.model.persistence import load
    from jcmspl.model_selection.class_search import ClassSearchCV
    from jcmspl.model_selection.jcmspl_cv import JCMSPLCV
else:  # hidden from type checkers, which would take any name to be there
    from jcmspl.support.lazy import attach as _attach

    _HOMES = {
        "ClassKFold": "data.class_folds",
        "ClassSearchCV": "model_selection.class_search",
        "ClassTable": "data.class_table",
        "JCMSPL": "methods.jcmspl",
        "JCMSPLCV": "model_selection.jcmspl_cv",
        "compare": "evaluation.compare",
        "evaluate": "evaluation.evaluate",
        "explore": "evaluation.explorer",
        "load": "model.persistence",
    }
    _MODULES = ("checks", "core", "datasets", "embed", "exceptions", "methods", "metrics", "plots")
    # Names that version 0.2 had here; they work until version 0.4.
    _MOVED = {
        "core": "AffineScorer Solution Spectrum StartStatistics Statistics nearest solve solve_sylvester "
        "sylvester_residual",
        "exceptions": "AlignmentWarning DivergenceError ModelFileError NearlySingularWarning SingularEquationError "
        "TrainedOnWarning UncalibratedWarning",
        "methods": "AAW ALE AMP BZSL CAPD CCA COSMO DAP ESZSL EXEM FPL GDA GFZSL IAP IPL JCMSPL0 JCMSPL1 JLSE LAD "
        "LATEM LESAE LESD RPL SAE SJE SSE ClassMeanRidge ConSE DeViSE IdentityRidge Procrustes RidgeVS SCoRe SSVoc "
        "SemanticSoftmax SynC SynCHinge TextPrototypes UntiedAutoencoder",
    }
    _find, __dir__ = _attach(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()}, _MODULES)

    def __getattr__(name):
        """Import what is asked for by name; names that have moved are found with a warning."""
        new_home = next((module for module, names in _MOVED.items() if name in names.split()), None)
        if new_home is None:
            return _find(name)
        import sys
        import warnings

        # An import statement asks twice: importlib whether the name is there, then the line itself for its value.
        if sys._getframe(1).f_code.co_name != "_handle_fromlist":
            warnings.warn(
                f"jcmspl.{name} is deprecated and will be removed in version 0.4: use jcmspl.{new_home}.{name}",
                DeprecationWarning,
                stacklevel=2,
            )
        return getattr(_find(new_home), name)


__all__ = [
    "JCMSPL",
    "JCMSPLCV",
    "ClassKFold",
    "ClassSearchCV",
    "ClassTable",
    "__version__",
    "compare",
    "evaluate",
    "explore",
    "load",
]
