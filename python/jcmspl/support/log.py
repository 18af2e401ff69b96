"""The logger of the package, ``logging.getLogger("jcmspl")``; it prints nothing unless a handler is added."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

logger = logging.getLogger("jcmspl")
logger.addHandler(logging.NullHandler())


class Told:
    """The text to log when a piece of work ends."""

    def __init__(self) -> None:
        self.text = ""


@contextmanager
def told(what: str, about: Any = "") -> Iterator[Told]:
    """Log at level INFO when a piece of work starts and ends, and its duration.

    Parameters
    ----------
    what : str
        The work, such as "JCMSPL.fit".
    about
        The input: a text, or samples, logged by their shape.
    """
    found = Told()
    if not logger.isEnabledFor(logging.INFO):
        yield found
        return
    logger.info("%s starts%s", what, _size(about))
    started = time.perf_counter()
    try:
        yield found
    except BaseException as error:
        logger.info("%s ends with %s after %.3f s", what, type(error).__name__, time.perf_counter() - started)
        raise
    logger.info("%s ends after %.3f s%s", what, time.perf_counter() - started, found.text and f": {found.text}")


def _size(about: Any) -> str:
    shape = getattr(about, "shape", None)
    if isinstance(shape, tuple) and len(shape) == 2:
        return f": {shape[0]} samples of {shape[1]} features"
    return f": {about}" if isinstance(about, str) and about else ""
