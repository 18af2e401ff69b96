"""Display of names and texts from users and their files: escaped and shortened."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

LONG = 60  #: longer names are cut


def printable(text: str) -> str:
    """Return a text with control characters, new lines and marks of the writing direction escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, most: int = LONG) -> str:
    """Return a text cut to this length."""
    return text if len(text) <= most else text[: most - 1] + "…"


def shown(name: object, most: int = LONG) -> str:
    """Return a name, escaped and shortened, for a table or a sentence."""
    return shortened(printable(shortened(str(name), most)), most)


def quoted(label: Any) -> str:
    """Return the repr of a label, so that text and numbers look different."""
    if type(label).__module__ == "numpy" and not getattr(label, "shape", None):
        label = label.item()  # 'zero' and not np.str_('zero')
    return repr(shortened(label)) if isinstance(label, str) else shown(repr(label))


def listed(names: Iterable[object], most: int = 10) -> str:
    """Return the first few names, separated by commas, for a message."""
    every = list(names)
    return ", ".join(map(shown, every[:most])) + (f", ... ({len(every)} in all)" if len(every) > most else "")
