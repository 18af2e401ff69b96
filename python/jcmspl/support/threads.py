"""How many threads the core may use where it does not leave that to BLAS, as many as BLAS would; and BLAS itself."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blas_threads() -> int:
    """Return the number of threads of the BLAS libraries in this process, the least if they differ."""
    counts = (library.num_threads for library in _libraries().lib_controllers)
    return min(filter(None, counts), default=usable_cores())


@cache  # looking for the libraries takes longer than a small search
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


# Who has limited BLAS at the moment. The limit is that of the process: the first sets it, the last takes it back.
_limiting = threading.Lock()
_limits: list[Any] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, for work of which several pieces run at once; they may begin and end in any order."""
    with _limiting:
        _limits.append(_limits[0] if _limits else _libraries().limit(limits=1))
    try:
        yield
    finally:
        with _limiting:
            limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()
