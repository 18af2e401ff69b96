"""Progress bars on stderr, and the log of the package, ``logging.getLogger("jcmspl")``.

Bars are shown only on a terminal and only for work that takes a while; the log prints nothing without a handler.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_DELAY = 1.0  # seconds before anything is shown
_INTERVAL = 0.2  # seconds between two updates


class Progress:
    """A progress bar for some work ("reading") of a number of units, if known; nothing unless stderr is a terminal.

    Several threads may update it. tqdm is loaded only when a bar is shown.
    """

    def __init__(self, what: str, total: int | None, unit: str, *, enabled: bool = True) -> None:
        self.what, self.total, self.unit = what, total, unit
        self._enabled = enabled and _is_terminal()
        self._started = time.time()  # tqdm's clock
        self._lock = threading.Lock()
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._bar is not None:
                self._bar.close()

    def update(self, done: int, note: str = "") -> None:
        """Set the number of units done, and the note shown behind it."""
        if not self._enabled or time.time() - self._started < _DELAY:
            return
        with self._lock:
            is_first = self._bar is None
            bar = self._bar = self._new() if self._bar is None else self._bar
            bar.set_postfix_str(note, refresh=False)
            bar.update(done - bar.n)
            if is_first:
                bar.refresh()

    def update_of(self, done: int, total: int) -> None:
        """Set the number of units done and the total."""
        self.total = total
        self.update(done)

    def tell_of_iteration(self, done: int, objective: float) -> None:
        """Set the number of iterations done, and show the objective."""
        self.update(done, f"objective {objective:.6g}")

    def announce(self) -> None:
        """Show the name of the work at once, for work that cannot report its progress."""
        if self._enabled:
            with self._lock:
                self._bar = self._new(delay=0, bar_format=f"{self.what} ({self.total:,} {self.unit}) ...")

    def _new(self, **options: Any) -> Any:
        settings: dict[str, Any] = {
            "desc": self.what,
            "total": self.total,
            "unit": f" {self.unit}",
            "file": sys.stderr,
            "leave": False,
            "delay": _DELAY,
            "mininterval": _INTERVAL,
            "miniters": 0,  # redraw by time alone
            "smoothing": 0,  # show the mean rate of the whole work
        }
        bar = _bar_class()(**{**settings, **_width(), **options})
        bar.start_t = self._started
        return bar


@cache
def _bar_class() -> Any:
    """Return tqdm's bar without its lock between processes and without its monitor thread."""
    from tqdm import tqdm

    class Bar(tqdm):
        monitor_interval = 0

    Bar.set_lock(threading.RLock())
    return Bar


def _width() -> dict[str, Any]:
    """Return the width options of a bar. tqdm shows nothing on a terminal of unknown size, so that gets a fixed one."""
    try:
        known = all(os.get_terminal_size(sys.stderr.fileno()))
    except (OSError, ValueError):
        known = False
    return {"dynamic_ncols": True} if known else {"ncols": 79, "nrows": 24}


def _is_terminal() -> bool:
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):  # stderr is None, replaced, or closed
        return False


logger = logging.getLogger("jcmspl")
logger.addHandler(logging.NullHandler())


class Told:
    """The text to log when a piece of work ends."""

    def __init__(self) -> None:
        self.text = ""


@contextmanager
def told(what: str, about: Any = "") -> Iterator[Told]:
    """Log at level INFO when a piece of work ("JCMSPL.fit") starts and ends, and its duration.

    The input is a text, or samples, which are logged by their shape.
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
