"""A benchmark: a question with a target, two contestants that give equal answers, and a way to time them."""

import ctypes
import gc
import importlib
import re
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

from jcmspl.support.machine import usable_cores

THREADS = usable_cores()

# NumPy and SciPy carry an OpenBLAS each, whose idle workers busy-wait for some 50 ms after a call and so take a core
# from the other. Between two sides everyone rests.
REST_SECONDS = 0.15

# A call that is shorter than this is repeated until as much time has passed.
BURST_SECONDS = 0.1


class Unavailable(Exception):
    """A question cannot be asked here; the message says why."""


@dataclass(frozen=True)
class Contestants:
    """The two sides on the same data.

    ``check`` raises AssertionError unless their answers are equal. ``peer`` does the share ``peer_share`` of the work
    that ``ours`` does; its time is scaled up. ``caveat`` says what else is different between the sides. ``clock`` tells
    the seconds that count, where these are not those on the wall, and ``megabytes`` the memory that ``ours`` takes,
    where that is not measured here.
    """

    ours: Callable[[], Any]
    check: Callable[[], None]
    peer: Callable[[], Any] | None = None
    peer_share: float = 1
    caveat: str = ""
    clock: Callable[[], float] = time.perf_counter
    megabytes: Callable[[], float] | None = None


@dataclass(frozen=True)
class Target:
    """A bound on our time or our speed, both relative to the peer, on the time that we take more, or on our memory."""

    kind: str
    bound: float

    def __str__(self) -> str:
        words = {
            "time": "at most {:g} x the time",
            "speed": "at least {:g} x the speed",
            "extra": "at most {:g} ms more",
            "memory": "at most {:g} MB",
        }
        return words[self.kind].format(self.bound)

    def is_met(self, value: float) -> bool:
        """Whether a measured value keeps to the bound."""
        return value >= self.bound if self.kind == "speed" else value <= self.bound

    def show(self, value: float) -> str:
        """Return a measured value with its unit."""
        return {"memory": f"{value:.0f} MB", "extra": f"{value:.3f} ms"}.get(self.kind, f"{value:.3g} x")


@dataclass(frozen=True)
class Measurement:
    """A value to hold against the target and, unless it is memory, the seconds that it comes from."""

    value: float
    seconds: dict[str, float]


@dataclass(frozen=True)
class Question:
    """One row of the table; ``prepare`` makes the data, ``rounds`` is how often each side is timed."""

    name: str
    compares: str
    target: Target
    prepare: Callable[[], Contestants]
    rounds: int = 5

    @contextmanager
    def contest(self, threads: int = THREADS):
        """Yield contestants that have been found to agree, on the same number of threads."""
        contestants = self.prepare()  # loads the peer's libraries, which the limit must know of
        with threadpool_limits(threads):
            contestants.check()
            yield contestants

    def measure(self, contestants: Contestants, rounds: int | None = None) -> Measurement:
        """Return the measured value that the target limits: a ratio or difference of times, or our memory."""
        if self.target.kind == "memory":
            measured = contestants.megabytes or partial(peak_megabytes, contestants.ours)
            return Measurement(measured(), {})
        ours, peer = best_seconds((contestants.ours, contestants.peer), rounds or self.rounds, contestants.clock)
        peer /= contestants.peer_share
        values = {"time": ours / peer, "speed": peer / ours, "extra": 1000 * (ours - peer)}
        return Measurement(values[self.target.kind], {"ours": ours, "peer": peer})


def best_seconds(
    sides: tuple[Callable[[], Any], ...], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Time the sides by turns, so that a noisy spell hits all of them, and keep the best call of each."""
    best = [float("inf")] * len(sides)
    for _ in range(rounds):
        for i, side in enumerate(sides):
            time.sleep(REST_SECONDS)
            best[i] = min(best[i], _best_of_burst(side, clock))
    return best


def _best_of_burst(side: Callable[[], Any], clock: Callable[[], float]) -> float:
    best, end = float("inf"), time.perf_counter() + BURST_SECONDS
    while True:
        start = clock()
        side()
        best = min(best, clock() - start)
        if time.perf_counter() >= end:
            return best


def peak_megabytes(side: Callable[[], Any]) -> float:
    """Return the most anonymous memory (not pages of mapped files) during a call, above that before it."""
    gc.collect()
    if hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)  # memory that is free but not given back would hide what the call takes
    before = peak = _anonymous_megabytes()
    done = threading.Event()

    def sample():
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, _anonymous_megabytes())

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        side()
    finally:
        done.set()
        sampler.join()
    return peak - before


def _anonymous_megabytes() -> float:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        raise Unavailable("memory is read from /proc/self/status, which is not here") from None
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) / 1024


def need(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unavailable(f"{module} cannot be imported ({error})") from None


def blas_kernels() -> dict[str, str]:
    """Return the processor family whose kernels the BLAS of each package chose; not all wheels choose well."""
    wheels = (info for info in threadpool_info() if info["user_api"] == "blas")
    return {Path(info["filepath"]).parent.name.split(".")[0]: info.get("architecture", "?") for info in wheels}
