"""Classical zero-shot recognition: exact, fast, scikit-learn style.

=========================  =====================================================================
:class:`JCMSPL`            the estimator: fit on some classes, recognise others by their vectors
:class:`JCMSPLCV`          the same, with its parameters chosen by cross-validation over classes
:class:`ClassSearchCV`     the same search for any other model
:class:`RidgeVS`, ...      linear peers with the same methods: RidgeVS, FPL, RPL, SAE, ESZSL
:class:`TextPrototypes`    no training: the cosine of samples and class vectors of aligned encoders
:func:`IPL`, ...           the ablations of the paper: IPL, JCMSPL0, JCMSPL1
:class:`ClassTable`        class vectors under the names of their classes
:class:`ClassKFold`        cross-validation over classes
:func:`load`               reads a model that was saved
:func:`evaluate`           tests a model on a data set
:func:`explore`            a page to try a model in: made-up classes, drawn digits
:mod:`jcmspl.datasets`     the field's files, your own, and data that needs none
:mod:`jcmspl.embed`        features of pictures and vectors of descriptions, by encoders of your own
:mod:`jcmspl.metrics`      accuracies per class and per sample, seen and unseen
:mod:`jcmspl.plots`        charts in the manner of scikit-learn
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

Each is loaded when it is first used, so that ``import jcmspl`` itself takes no time.
"""

from jcmspl.support import hooks as _hooks
from jcmspl.support.version import __version__

_hooks.notebook = "jcmspl.report.pages"  # results of earlier layers are drawn by it

TYPE_CHECKING = False  # as in typing, which takes longer to load than all else here
if TYPE_CHECKING:  # what type checkers and editors read; _HOMES and the registry of methods tell the interpreter
    from jcmspl import datasets as datasets
    from jcmspl import embed as embed
    from jcmspl import metrics as metrics
    from jcmspl import plots as plots
    from jcmspl.core.search import AffineScorer, nearest
    from jcmspl.core.solver import Solution, Spectrum, solve
    from jcmspl.core.statistics import StartStatistics, Statistics
    from jcmspl.core.sylvester import solve_sylvester, sylvester_residual
    from jcmspl.data.class_folds import ClassKFold
    from jcmspl.data.class_table import ClassTable
    from jcmspl.evaluation.evaluate import evaluate
    from jcmspl.evaluation.explorer import explore
    from jcmspl.io.archive import ModelFileError
    from jcmspl.methods.aaw import AAW
    from jcmspl.methods.ablations import IPL, JCMSPL0, JCMSPL1
    from jcmspl.methods.ale import ALE
    from jcmspl.methods.amp import AMP
    from jcmspl.methods.bzsl import BZSL
    from jcmspl.methods.capd import CAPD
    from jcmspl.methods.cca import CCA
    from jcmspl.methods.class_mean_ridge import ClassMeanRidge
    from jcmspl.methods.conse import ConSE
    from jcmspl.methods.cosmo import COSMO
    from jcmspl.methods.dap import DAP
    from jcmspl.methods.devise import DeViSE
    from jcmspl.methods.eszsl import ESZSL
    from jcmspl.methods.exem import EXEM
    from jcmspl.methods.fpl import FPL
    from jcmspl.methods.gda import GDA
    from jcmspl.methods.gfzsl import GFZSL
    from jcmspl.methods.iap import IAP
    from jcmspl.methods.identity_ridge import IdentityRidge
    from jcmspl.methods.jcmspl import JCMSPL
    from jcmspl.methods.jlse import JLSE
    from jcmspl.methods.lad import LAD
    from jcmspl.methods.latem import LATEM
    from jcmspl.methods.lesae import LESAE
    from jcmspl.methods.lesd import LESD
    from jcmspl.methods.procrustes import Procrustes
    from jcmspl.methods.ridge_vs import RidgeVS
    from jcmspl.methods.rpl import RPL
    from jcmspl.methods.sae import SAE
    from jcmspl.methods.score import SCoRe, SemanticSoftmax
    from jcmspl.methods.sje import SJE
    from jcmspl.methods.sse import SSE
    from jcmspl.methods.ssvoc import SSVoc
    from jcmspl.methods.sync import SynC
    from jcmspl.methods.sync_hinge import SynCHinge
    from jcmspl.methods.text_prototypes import TextPrototypes
    from jcmspl.methods.untied_autoencoder import UntiedAutoencoder
    from jcmspl.model.persistence import load
    from jcmspl.model_selection.class_search import ClassSearchCV
    from jcmspl.model_selection.jcmspl_cv import JCMSPLCV
    from jcmspl.support.exceptions import (
        AlignmentWarning,
        DivergenceError,
        NearlySingularWarning,
        SingularEquationError,
        TrainedOnWarning,
        UncalibratedWarning,
    )
else:  # hidden from type checkers, which would take any name to be there
    from _thread import RLock as _RLock  # that of threading

    _HOMES = {
        "core.search": ("AffineScorer", "nearest"),
        "core.solver": ("Solution", "Spectrum", "solve"),
        "core.statistics": ("StartStatistics", "Statistics"),
        "core.sylvester": ("solve_sylvester", "sylvester_residual"),
        "data.class_folds": ("ClassKFold",),
        "data.class_table": ("ClassTable",),
        "evaluation.evaluate": ("evaluate",),
        "evaluation.explorer": ("explore",),
        "io.archive": ("ModelFileError",),
        "model_selection.class_search": ("ClassSearchCV",),
        "model_selection.jcmspl_cv": ("JCMSPLCV",),
        "methods.ablations": ("IPL", "JCMSPL0", "JCMSPL1"),
        "model.persistence": ("load",),
        "support.exceptions": (
            "AlignmentWarning",
            "DivergenceError",
            "NearlySingularWarning",
            "SingularEquationError",
            "TrainedOnWarning",
            "UncalibratedWarning",
        ),
    }
    _HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
    _MODULES = ("datasets", "embed", "metrics", "plots")
    _LAYERS = ("support", "core", "io", "report", "data", "model", "methods", "model_selection", "evaluation", "cli")

    # Threads that load different parts of scikit-learn at once trip over its circular imports. No module of this
    # package may ask for a public name of it while it is being imported: it would hold its lock and wait for this one.
    _one_at_a_time = _RLock()

    def __getattr__(name):
        """Load what is asked for by name (PEP 562); from then on it is found without this."""
        import importlib

        with _one_at_a_time:
            if name in _MODULES or name in _LAYERS:
                value = importlib.import_module(f"jcmspl.{name}")
            elif name in _HOME_OF:
                value = getattr(importlib.import_module(f"jcmspl.{_HOME_OF[name]}"), name)
            else:
                from jcmspl.model import registry

                if name.startswith("_") or name not in registry.names():
                    raise AttributeError(f"module 'jcmspl' has no attribute {name!r}")
                value = registry.get(name)
            globals()[name] = value
        return value

    def __dir__():
        from jcmspl.model import registry

        return sorted({*__all__, *_MODULES, *registry.names(), *(n for n in globals() if n.startswith("__"))})


__all__ = [
    "AAW",
    "ALE",
    "AMP",
    "BZSL",
    "CAPD",
    "CCA",
    "COSMO",
    "DAP",
    "ESZSL",
    "EXEM",
    "FPL",
    "GDA",
    "GFZSL",
    "IAP",
    "IPL",
    "JCMSPL",
    "JCMSPL0",
    "JCMSPL1",
    "JCMSPLCV",
    "JLSE",
    "LAD",
    "LATEM",
    "LESAE",
    "LESD",
    "RPL",
    "SAE",
    "SJE",
    "SSE",
    "AffineScorer",
    "AlignmentWarning",
    "ClassKFold",
    "ClassMeanRidge",
    "ClassSearchCV",
    "ClassTable",
    "ConSE",
    "DeViSE",
    "DivergenceError",
    "IdentityRidge",
    "ModelFileError",
    "NearlySingularWarning",
    "Procrustes",
    "RidgeVS",
    "SCoRe",
    "SSVoc",
    "SemanticSoftmax",
    "SingularEquationError",
    "Solution",
    "Spectrum",
    "StartStatistics",
    "Statistics",
    "SynC",
    "SynCHinge",
    "TextPrototypes",
    "TrainedOnWarning",
    "UncalibratedWarning",
    "UntiedAutoencoder",
    "__version__",
    "evaluate",
    "explore",
    "load",
    "nearest",
    "solve",
    "solve_sylvester",
    "sylvester_residual",
]
