"""Progress of long work: a bar on stderr, only on a terminal, only once it has taken a while."""

from __future__ import annotations

import os
import sys
import threading
import time
from functools import cache
from typing import Any

_DELAY = 1.0  # seconds before anything is shown
_INTERVAL = 0.2  # seconds between two updates


class Progress:
    """A bar that tells how far a piece of work is; nothing at all unless stderr is a terminal.

    Several threads may tell of the same work. Where there is nothing to show, tqdm is not even loaded.

    Parameters
    ----------
    what : str
        What is being done, for example "reading".
    total : int or None
        How many units there are, if it is known.
    unit : str
    enabled : bool
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
        """Tell that so many units are done; the note is shown behind them."""
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
        """Tell that so many units are done, of so many that there are."""
        self.total = total
        self.update(done)

    def announce(self) -> None:
        """Tell at once what is being done, for work that cannot report how far it is."""
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
            "miniters": 0,  # only time decides when the bar is drawn anew
            "smoothing": 0,  # the rate is that of all of the work
        }
        bar = _bar_class()(**{**settings, **_width(), **options})
        bar.start_t = self._started
        return bar


@cache
def _bar_class() -> Any:
    """Return tqdm's bar, without the lock between processes and the thread of its own that it comes with."""
    from tqdm import tqdm

    class Bar(tqdm):
        monitor_interval = 0

    Bar.set_lock(threading.RLock())
    return Bar


def _width() -> dict[str, Any]:
    """Return how wide a bar may be: as the terminal is, if it knows; of one that does not tqdm would show nothing."""
    try:
        known = all(os.get_terminal_size(sys.stderr.fileno()))
    except (OSError, ValueError):
        known = False
    return {"dynamic_ncols": True} if known else {"ncols": 79, "nrows": 24}


def _is_terminal() -> bool:
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):  # none at all, something in its place, or closed
        return False
