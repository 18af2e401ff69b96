"""The methods there are, by name: those of this package, those of other packages, those defined by hand.

A method is a class that names its ``PAPER``. Another package offers one by an entry point of the group
``jcmspl.methods``, whose name is that of the class. All names are known without importing a method, so that the command
line offers them at once.
"""

from __future__ import annotations

import difflib
import importlib
import math
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from jcmspl.support.warn import warn_user

#: The entry points by which other packages offer methods.
GROUP = "jcmspl.methods"
#: The modules of this package's methods, in jcmspl.methods; a test compares them with the files.
MODULES = {
    "JCMSPL": "jcmspl",
    "AAW": "aaw",
    "ALE": "ale",
    "AMP": "amp",
    "BZSL": "bzsl",
    "CAPD": "capd",
    "CCA": "cca",
    "ClassMeanRidge": "class_mean_ridge",
    "ConSE": "conse",
    "COSMO": "cosmo",
    "DAP": "dap",
    "DeViSE": "devise",
    "ESZSL": "eszsl",
    "EXEM": "exem",
    "FPL": "fpl",
    "GDA": "gda",
    "GFZSL": "gfzsl",
    "IAP": "iap",
    "IdentityRidge": "identity_ridge",
    "JLSE": "jlse",
    "LAD": "lad",
    "LATEM": "latem",
    "LESAE": "lesae",
    "LESD": "lesd",
    "Procrustes": "procrustes",
    "RidgeVS": "ridge_vs",
    "RPL": "rpl",
    "SAE": "sae",
    "SCoRe": "score",
    "SemanticSoftmax": "score",
    "SJE": "sje",
    "SSE": "sse",
    "SSVoc": "ssvoc",
    "SynC": "sync",
    "SynCHinge": "sync_hinge",
    "TextPrototypes": "text_prototypes",
    "UntiedAutoencoder": "untied_autoencoder",
}

_registered: dict[str, type[Any]] = {}


def register(method: type[Any]) -> None:
    """Add a class; called for each subclass of a kind of model that names its paper.

    A class that is defined again (a notebook cell that is run again) takes its own place; a name that another class
    has, or one of this package, is not taken away from it.
    """
    own = is_own(method)
    if not own and method.__name__ in MODULES:
        return
    known = _registered.get(method.__name__, method)
    if own or (known.__module__, known.__qualname__) == (method.__module__, method.__qualname__):
        _registered[method.__name__] = method


def unregister(name: str) -> None:
    """Forget a method that was added by hand."""
    _registered.pop(name, None)


def is_own(method: type[Any]) -> bool:
    """Whether a method is part of this package."""
    return method.__module__.startswith("jcmspl.")


def names() -> tuple[str, ...]:
    """Return the names of all methods, those of this package first; none is imported."""
    return tuple(dict.fromkeys([*MODULES, *_offered(), *_registered]))


def methods() -> dict[str, type[Any]]:
    """Return all methods, those of this package first; a broken one of another package is left out, with a warning."""
    found = {}
    for name in names():
        try:
            found[name] = get(name)
        except ImportError as error:
            warn_user(f"the method {name!r} is left out: {error}", UserWarning)
    return found


def get(name: str) -> type[Any]:
    """Return the class of that name, or say which there are."""
    if name in MODULES:
        importlib.import_module(f"jcmspl.methods.{MODULES[name]}")
    elif name not in _registered and name in _offered():
        _load(_offered()[name])
    if name not in _registered:
        alike = difflib.get_close_matches(str(name), names(), n=1, cutoff=0.5)
        hint = f"did you mean {alike[0]}? There are " if alike else "choose from "
        raise ValueError(f"there is no method {name!r}: {hint}{', '.join(names())}")
    return _registered[name]


def year(method: type[Any]) -> int | None:
    """Return when the paper of a method appeared, if its name tells."""
    found = re.search(r"\((\d{4})\)", method.PAPER)
    return int(found[1]) if found else None


def kind(method: type[Any]) -> str:
    """Return the name of the class, itself no method, by which a method learns or compares."""
    kinds = [base for base in method.__mro__[1:] if "PAPER" not in vars(base)]
    return method.KIND or next(
        base.__name__ for base in kinds if {"_fit", "_scorer"} & vars(base).keys() and hasattr(base, "fit")
    )


def cost(method: type[Any], fixed: Mapping[str, Any] | None = None, *, tuned: bool = True) -> float:
    """Return about how long a method takes, in fits of ridge regression; some parameters may be fixed.

    A method that is tuned is fitted with all values of its grid but for those that one fit serves.
    """
    once = _COST.get(method.NEEDS, max(_COST.values())) if method.COST is None else method.COST
    tried = method.GRID.keys() - {*method.COMPARISON, *(fixed or ())} if tuned else ()
    return float(once * math.prod(len(method.GRID[name]) for name in tried))


# How long a fit takes by what it reads, where a method does not say.
_COST = {"statistics": 1.0, "samples": 30.0}


@cache
def _offered() -> dict[str, EntryPoint]:
    """Return the methods that other packages offer; names of this package's methods stay ours."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in MODULES}


def _load(point: EntryPoint) -> None:
    """Import a method of another package."""
    package = point.dist.name if point.dist else point.value
    try:
        method = point.load()
    except Exception as error:
        raise ImportError(f"{package} offers it, but cannot be imported ({type(error).__name__}: {error})") from error
    if not (isinstance(method, type) and "PAPER" in vars(method) and method.__name__ == point.name):
        raise ImportError(
            f"{package} offers it as {point.value}, which is no method: a method is a class of that name that derives "
            "from jcmspl's ZeroShotClassifier or one of its kinds and has a PAPER"
        )
    register(method)
