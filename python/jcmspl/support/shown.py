"""How names and texts that come from users and their files are shown: escaped, and not at any length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: Names that are longer are cut.
LONG = 60


def printable(text: str) -> str:
    """Return a text without control characters, new lines, or marks that turn the direction of writing: escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, most: int = LONG) -> str:
    """Return a text that is not longer than that."""
    return text if len(text) <= most else text[: most - 1] + "…"


def shown(name: object, most: int = LONG) -> str:
    """Return a name as it may stand in a table or a sentence."""
    return shortened(printable(shortened(str(name), most)), most)


def quoted(label: Any) -> str:
    """Return a label as Python would write it, so that text and numbers are told apart."""
    if type(label).__module__ == "numpy" and not getattr(label, "shape", None):
        label = label.item()  # 'zero' and not np.str_('zero')
    return repr(shortened(label)) if isinstance(label, str) else shown(repr(label))


def listed(names: Iterable[object], most: int = 10) -> str:
    """Return the first few names, with commas between, for a message."""
    every = list(names)
    return ", ".join(map(shown, every[:most])) + (f", ... ({len(every)} in all)" if len(every) > most else "")
