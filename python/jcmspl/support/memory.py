"""How much memory there is."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


def memory_at_hand() -> float:
    """Return how many bytes can still be had, as far as the system tells: infinity where it tells nothing."""
    return min((*_free(), *_of_this_container(), *_address_space()), default=math.inf)


def _free() -> Iterator[int]:
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = Path("/proc/meminfo").read_text()
        yield int(text.partition("MemAvailable:")[2].split()[0]) * 1024


def _of_this_container() -> Iterator[int]:
    # what of it is in use is not looked at: much of that are files, which give way
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
