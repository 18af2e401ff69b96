"""How many threads the core may use where it does not leave that to BLAS: as many as BLAS would."""

from __future__ import annotations

import os
from functools import cache

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
