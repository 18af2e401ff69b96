"""All methods by name: those of this package, those of other packages, and those defined in a session.

A method is a class that names its ``PAPER``. Another package offers one by an entry point of the group
``jcmspl.methods``, whose name is that of the class. All names are known without importing a method, so that the command
line offers them at once. A broken method of another package disturbs no other method.
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

from jcmspl.support.names import ABLATIONS, METHOD_GROUPS
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
    "CADAVAE": "cada_vae",
    "CAPD": "capd",
    "CCA": "cca",
    "ClassMeanRidge": "class_mean_ridge",
    "CLSWGAN": "clswgan",
    "CNZSL": "cnzsl",
    "ConSE": "conse",
    "COSMO": "cosmo",
    "CVA": "cva",
    "DAP": "dap",
    "DEM": "dem",
    "DeViSE": "devise",
    "ESZSL": "eszsl",
    "EXEM": "exem",
    "FPL": "fpl",
    "FVAEGAN": "fvaegan",
    "GDA": "gda",
    "GFZSL": "gfzsl",
    "GMMN": "gmmn",
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
    "SemanticSoftmax": "semantic_softmax",
    "SJE": "sje",
    "SSE": "sse",
    "SSVoc": "ssvoc",
    "SynC": "sync",
    "SynCHinge": "sync_hinge",
    "TextPrototypes": "text_prototypes",
    "UntiedAutoencoder": "untied_autoencoder",
    "VZSL": "vzsl",
}

_registered: dict[str, type[Any]] = {}


def register(method: type[Any]) -> None:
    """Add a class; called for each subclass of a kind of model that names its paper.

    A class that is defined again (a notebook cell that is run again) replaces its earlier self. It cannot take the name
    of another class or of a method of this package.
    """
    own = is_own(method)
    if not own and method.__name__ in MODULES:
        return
    known = _registered.get(method.__name__, method)
    if own or (known.__module__, known.__qualname__) == (method.__module__, method.__qualname__):
        _registered[method.__name__] = method


def unregister(name: str) -> None:
    """Remove a method that was registered in this session."""
    _registered.pop(name, None)


def is_own(method: type[Any]) -> bool:
    """Whether a method is part of this package."""
    return method.__module__.startswith("jcmspl.")


def names() -> tuple[str, ...]:
    """Return the names of all methods, those of this package first; none is imported."""
    offered, _ = _entry_points()
    return tuple(dict.fromkeys([*MODULES, *offered, *_registered]))


def methods() -> dict[str, type[Any]]:
    """Return all methods, those of this package first; broken ones of other packages are left out, with a warning."""
    found = {}
    _, problems = _entry_points()
    for name in names():
        try:
            found[name] = get(name)
        except ImportError as error:
            problems = (*problems, str(error))
    for problem in problems:
        warn_user(f"{problem}; it is left out", UserWarning)
    return found


def get(name: str) -> type[Any]:
    """Return the class of that name.

    There is a ValueError that lists all methods if no method has that name, and an ImportError if another package
    offers it, but it cannot be imported or is not a method.
    """
    offered, _ = _entry_points()
    if name in MODULES:
        importlib.import_module(f"jcmspl.methods.{MODULES[name]}")
    elif name not in _registered and name in offered:
        _load(offered[name])
    if name not in _registered:
        alike = difflib.get_close_matches(str(name), names(), n=1, cutoff=0.5)
        hint = f"did you mean {alike[0]}? There are " if alike else "choose from "
        raise ValueError(f"there is no method {name!r}: {hint}{', '.join(names())}")
    return _registered[name]


def year(method: type[Any]) -> int | None:
    """Return the year of the paper of a method, or None if its citation has none."""
    found = re.search(r"\((\d{4})\)", method.PAPER)
    return int(found[1]) if found else None


def kind(method: type[Any]) -> str:
    """Return the kind of a method: the name of the class, not itself a method, that defines how it learns or scores."""
    kinds = [base for base in method.__mro__[1:] if "PAPER" not in vars(base)]
    telling = (base.__name__ for base in kinds if {"_fit", "_scorer"} & vars(base).keys() and hasattr(base, "fit"))
    return method.KIND or next(telling, "ZeroShotClassifier")


def cost(method: type[Any], fixed: Mapping[str, Any] | None = None, *, tuned: bool = True) -> float:
    """Estimate how long a method takes, in fits of ridge regression; some parameters may be fixed.

    Tuning fits every value of the grid, except for parameters of the comparison, which one fit serves.
    """
    once = _COST.get(method.NEEDS, max(_COST.values())) if method.COST is None else method.COST
    tried = method.GRID.keys() - {*method.COMPARISON, *(fixed or ())} if tuned else ()
    return float(once * math.prod(len(method.GRID[name]) for name in tried))


# The cost of a fit by what it reads, unless the method states it.
_COST = {"statistics": 1.0, "samples": 30.0}


@cache
def _entry_points() -> tuple[dict[str, EntryPoint], tuple[str, ...]]:
    """Return the methods that other packages offer, by name, and a sentence on each whose name is taken.

    Names are compared without case, as the command line does.
    """
    owners = {name.lower(): "jcmspl" for name in (*MODULES, *ABLATIONS, *METHOD_GROUPS)}
    found, taken = {}, []
    for point in entry_points(group=GROUP):
        owner = owners.setdefault(point.name.lower(), _package(point))
        if owner == _package(point):
            found[point.name] = point
        else:
            taken.append(f"the method {point.name!r} of {_package(point)} has a name that {owner} uses")
    return found, tuple(taken)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value


def _load(point: EntryPoint) -> None:
    about = f"the method {point.name!r} of {_package(point)}"
    try:
        method = point.load()
    except Exception as error:
        raise ImportError(f"{about} cannot be imported ({type(error).__name__}: {error})") from error
    if _registered.get(point.name) is not method:
        raise ImportError(
            f"{about} is not a method: {point.value} must be a class of that name that derives from jcmspl's "
            "ZeroShotClassifier or one of its kinds and has a PAPER"
        )
