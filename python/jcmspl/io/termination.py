"""SIGTERM and SIGHUP while something is being written: they end the process, but after the cleaning up."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class _Terminated(BaseException):
    """A signal came that ends the process."""


@contextlib.contextmanager
def cleaning_up() -> Iterator[None]:
    """Let a signal that would end the process at once end the block as an error does, and the process then.

    Signals that the program handles itself, or ignores, are left to it, and so are those in other threads than the main
    one, which cannot handle any.
    """
    ours = []
    if threading.current_thread() is threading.main_thread():
        ours = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    received: list[int] = []

    def handle(number: int, _: Any) -> None:
        for one in ours:
            signal.signal(one, signal.SIG_IGN)  # a second one must not disturb the cleaning up
        received.append(number)
        raise _Terminated

    try:
        try:
            for number in ours:
                signal.signal(number, handle)
            yield
        finally:
            for number in ours:
                signal.signal(number, signal.SIG_DFL)
    except _Terminated:
        if not received:  # of a block around this one
            raise
        signal.signal(received[0], signal.SIG_DFL)
        os.kill(os.getpid(), received[0])
