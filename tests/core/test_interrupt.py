"""Ctrl-C stops the long computations, and the GIL is free while they run."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from jcmspl.core import Statistics, nearest, solve_sylvester
from support.processes import interruptible

JOBS = {
    "fit": """
        X, y = rng.random((600, 200)), np.arange(600) % 150
        vectors = rng.random((150, 50))
        model = jcmspl.JCMSPL(max_iter=5, tol=0).fit(X, y, class_vectors=vectors)
        before = dict(vars(model))
        def job():
            try:
                model.set_params(max_iter=100_000_000).fit(X[:, 1:], y, class_vectors=vectors)
            finally:
                model.set_params(max_iter=5)
        def again():
            assert vars(model) == before
            model.predict(X)
    """,
    "fit by steps": """
        X, y = rng.random((600, 5)), np.arange(600) % 150  # which no map tells apart
        vectors = rng.random((150, 50))
        model = jcmspl.methods.SJE(max_iter=1, validation_fraction=0).fit(X, y, class_vectors=vectors)
        before = dict(vars(model))
        def job():
            try:
                model.set_params(max_iter=100_000_000).fit(X[:, 1:], y, class_vectors=vectors)
            finally:
                model.set_params(max_iter=1)
        def again():
            assert vars(model) == before
            model.predict(X)
    """,
    "fit reading": """
        X = np.broadcast_to(rng.random(500), (100_000_000, 500))
        y = np.broadcast_to(["a"], 1000)
        model = jcmspl.JCMSPL()
        def job():
            model.fit((X[:1000], y) for _ in range(100_000_000))
        def again():
            assert not [name for name in vars(model) if name.endswith("_")]
    """,
    "solve": """
        statistics = jcmspl.core.Statistics.from_samples(rng.random((600, 200)), np.arange(600) % 150)
        spectrum = jcmspl.core.Spectrum(statistics, rng.random((150, 150)))
        job = lambda: jcmspl.core.solve(spectrum, l1=1, l2=1, l3=1, l4=1, tol=0, max_iter=100_000_000)
        again = lambda: jcmspl.core.solve(spectrum, l1=1, l2=1, l3=1, l4=1, max_iter=3)
    """,
    "statistics": """
        statistics = jcmspl.core.Statistics(500, 2)
        X = np.broadcast_to(rng.random(500), (100_000_000, 500))
        labels = np.zeros(100_000_000, np.int64)
        job = lambda: statistics.update(X, labels)
        def again():
            assert statistics.n_samples == 0
            statistics.update(X[:5], labels[:5])
            assert np.allclose(statistics.gram, 5 * np.outer(X[0], X[0]))
    """,
    "nearest": """
        X = np.broadcast_to(rng.random(100), (100_000_000, 100))
        job = lambda: jcmspl.core.nearest(X, rng.random((1000, 100)))
        again = lambda: jcmspl.core.nearest(X[:3], rng.random((1000, 100)))
    """,
    "sylvester": """
        a = rng.random((700, 700)) + 700 * np.eye(700)
        job = lambda: [jcmspl.core.solve_sylvester(a, a, a) for _ in range(100_000)]
        again = lambda: jcmspl.core.solve_sylvester(a[:4, :4], a[:3, :3], np.ones((4, 3)))
    """,
}

SCRIPT = """
import numpy as np, jcmspl, sys, time
rng = np.random.default_rng(0)
{job}
again()
try:
    print("started", flush=True)
    job()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    again()
    print("usable", flush=True)
"""


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_ctrl_c(job):
    script = SCRIPT.format(job=textwrap.dedent(job))
    if "statistics = " in script:
        script = script.replace("\nagain()\ntry", "\ntry")
    with interruptible("-c", script, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "started\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)  # the job is long
        process.send_signal(signal.SIGINT)
        # None of the jobs would end by itself within an hour: that it ends at all shows that it was stopped.
        output, _ = process.communicate(timeout=300)
    assert output == "interrupted\nusable\n"


RNG = np.random.default_rng(0)
X, LABELS = RNG.random((3000, 300)), np.zeros(3000, int)
COEFFICIENT = RNG.random((150, 150)) + 20 * np.eye(150)
KERNELS = {
    "statistics": lambda: Statistics.from_samples(X, LABELS, 1),
    "sylvester": lambda: solve_sylvester(COEFFICIENT, COEFFICIENT, COEFFICIENT),
    "nearest": lambda: nearest(X, X, 5),
}


@pytest.fixture
def threads_take_no_turns():
    """Let a thread keep the GIL until it gives it away."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(3600)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("threads_take_no_turns")
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_gil_is_released(kernel):
    """Another thread has a turn while a kernel runs; the kernel runs until it had, or a thousand times in vain."""
    running, seen = False, threading.Event()

    def run():
        nonlocal running
        for _ in range(1000):
            running = True
            kernel()
            running = False
            if seen.is_set():
                break
            time.sleep(0)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        if running:
            seen.set()
        time.sleep(0)
    thread.join()
    assert seen.is_set()
