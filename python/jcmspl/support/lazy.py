"""Names of a package that are imported when they are first used (PEP 562), and packages that may be missing."""

from __future__ import annotations

import importlib
import sys
from _thread import RLock  # that of threading, which takes longer to import

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

#: Name of the module whose function ``html`` draws a card (jcmspl.support.shown.Card): a later layer, which
#: ``jcmspl/__init__`` fills in.
notebook = ""

# Threads that import different parts of scikit-learn at once trip over its circular imports. No module of this package
# may use a lazy name while it is being imported: it would hold its import lock and wait for this one.
_one_at_a_time = RLock()


def needed(package: str, text: str, extra: str) -> Any:
    """Import an optional package, or say that it is needed and how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ImportError(f"{text}: pip install 'jcmspl[{extra}]'") from None


def attach(
    package: str, homes: Mapping[str, str], modules: Collection[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package, by its full name.

    ``homes`` has the names that it offers, and the full names of the modules that define them; ``modules`` are its
    modules that are attributes without having been imported.
    """

    def find(name: str) -> object:
        if name in modules:
            with _one_at_a_time:
                return importlib.import_module(f"{package}.{name}")  # which makes it an attribute
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with _one_at_a_time:
            value: object = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    def names() -> list[str]:
        special = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*homes, *modules, *special})

    return find, names
