"""A default fit on all threads against one thread, and beside as many busy processes as there are cores."""

import atexit
import signal
import subprocess
import sys
from functools import partial

from threadpoolctl import threadpool_limits

from bench_fit import default_fit
from question import THREADS, Contestants, Question, Target
from samples import assert_equal


def on_one_thread(dataset: str):
    with threadpool_limits(1):
        return default_fit(dataset)


def check_threads(dataset: str) -> None:
    ours, theirs = default_fit(dataset).arrays_, on_one_thread(dataset).arrays_
    for name, array in ours.items():
        assert_equal(name, array, theirs[name], 1e-15)  # they are equal to the last bit


def against_one_thread(dataset: str) -> Contestants:
    return Contestants(
        ours=partial(default_fit, dataset),
        peer=partial(on_one_thread, dataset),
        check=partial(check_threads, dataset),
    )


class BusyProcesses:
    """One endless loop for each core, which runs only within a with statement."""

    def __init__(self) -> None:
        self._processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(THREADS)]
        self._send(signal.SIGSTOP)
        atexit.register(self._send, signal.SIGKILL)

    def __enter__(self) -> None:
        self._send(signal.SIGCONT)

    def __exit__(self, *_: object) -> None:
        self._send(signal.SIGSTOP)

    def _send(self, number: int) -> None:
        for process in self._processes:
            process.send_signal(number)


def beside_busy_processes(dataset: str) -> Contestants:
    busy = BusyProcesses()

    def fit():
        with busy:
            return default_fit(dataset)

    return Contestants(ours=fit, peer=partial(default_fit, dataset), check=partial(check_threads, dataset))


QUESTIONS = [
    *(
        Question(
            f"threads-{dataset.lower()}",
            f"default fit, {dataset} shape / the same on one thread",
            Target("speed", bound),
            partial(against_one_thread, dataset),
            rounds=8,
        )
        for dataset, bound in (("AwA", 1.6), ("CUB", 1.5))
    ),
    *(
        Question(
            f"busy-{dataset.lower()}",
            f"default fit, {dataset} shape, beside a busy process for each core / without these",
            Target("time", 2.5),
            partial(beside_busy_processes, dataset),
            rounds=8,
        )
        for dataset in ("AwA", "CUB")
    ),
]


def test_threads(time_side):
    time_side()
