"""Progress of long work: one line on stderr, only on a terminal, only once it has taken a while."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_DELAY = 1.0  # seconds before anything is shown
_INTERVAL = 0.2  # seconds between two updates


class Progress:
    """A line that tells how far a piece of work is; nothing at all unless stderr is a terminal.

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
        self._started = self._shown_at = time.monotonic()
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            self._write("")

    def update(self, done: int, note: str = "") -> None:
        """Tell that so many units are done; the note is shown behind them."""
        now = time.monotonic()
        if not self._enabled or now - self._started < _DELAY or now - self._shown_at < _INTERVAL:
            return
        self._shown_at = now
        rate = done / (now - self._started)
        parts = [f"{self.what}: {done:,}" + (f" of {self.total:,} {self.unit}" if self.total else f" {self.unit}")]
        parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s")
        if self.total and 0 < done < self.total:
            parts.append(f"{_duration((self.total - done) / rate)} left")
        if note:
            parts.append(note)
        self._write(", ".join(parts))

    def announce(self) -> None:
        """Tell at once what is being done, for work that cannot report how far it is."""
        if self._enabled:
            self._write(f"{self.what} ({self.total:,} {self.unit}) ...")

    def _write(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._width) + ("\r" if not line else ""))
        sys.stderr.flush()
        self._width = len(line)


def _is_terminal() -> bool:
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):  # none at all, something in its place, or closed
        return False


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
