"""Available memory of the machine, the container and the process."""

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
