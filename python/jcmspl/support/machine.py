"""The machine: threads of the core, which uses as many as BLAS, and of BLAS itself; memory that is available."""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController


def usable_cores() -> int:
    """Return the number of cores that this process may use, by its affinity and by the limit of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = _cores_of_this_container()
    return cores if limit is None else min(cores, limit)


@cache  # the calls of kernels would read files
def _cores_of_this_container(groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the limit of the control group, version 2 or 1, rounded up; None without one."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        with contextlib.suppress(OSError, ValueError):
            quota, period = " ".join((groups / name).read_text() for name in names).split()
            if quota != "max" and int(quota) > 0:
                return max(1, math.ceil(int(quota) / int(period)))
    return None


def blas_threads() -> int:
    """Return the number of threads of the BLAS libraries in this process, the smallest if they differ.

    It is at most the number of cores that this process may use.
    """
    counts: Iterator[int | None] = (library.num_threads for library in _libraries().lib_controllers)
    return min([count for count in counts if count] + [usable_cores()])


# Threads of BLAS wait for each other in a loop at the end of each product. On a busy machine that takes far longer than
# the product, so that threads of the core, which sleep, take its parts.
@contextmanager
def one_blas_thread_each(multiplications: float) -> Iterator[int]:
    """Give the number of threads of the core for so much work, and limit BLAS to one thread in each of them."""
    n_threads = 1 if multiplications < _FEW_MULTIPLICATIONS else blas_threads()
    with one_blas_thread():
        yield n_threads


_FEW_MULTIPLICATIONS = 2**24


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread per call, for calls from several threads at once.

    The first caller sets the limit, and the last one to leave restores it.
    """
    global _n_within, _limits
    with _lock:
        if _n_within == 0:
            _limits = _libraries().limit(limits=1)
        _n_within += 1
    try:
        yield
    finally:
        with _lock:
            _n_within -= 1
            if _n_within == 0:
                _limits.restore_original_limits()


_lock = threading.Lock()
_n_within = 0
_limits: Any = None


@cache  # finding the libraries takes longer than a small search
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


def memory_at_hand() -> float:
    """Return the number of bytes that can still be allocated; infinity where the system does not say."""
    return min((*_free(), *_of_this_container(), *_address_space()), default=math.inf)


def _free() -> Iterator[int]:
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = Path("/proc/meminfo").read_text()
        yield int(text.partition("MemAvailable:")[2].split()[0]) * 1024


def _of_this_container() -> Iterator[int]:
    # ignores current usage: most of it is reclaimable page cache
    with contextlib.suppress(OSError, ValueError):
        yield int(Path("/sys/fs/cgroup/memory.max").read_text())


def _address_space() -> Iterator[int]:
    if resource is None:
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(OSError, ValueError, IndexError):
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield max(limit - pages * os.sysconf("SC_PAGE_SIZE"), 0)
