"""One cluster for all tests of this folder: two workers, each a process of its own, of this machine alone."""

import logging
import signal
from contextlib import contextmanager

import pytest

SECONDS = 300  # for a test, on however busy a machine: one that waits for a lost cluster would wait for ever


@contextmanager
def two_workers():
    """Start a cluster and give its client."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'jcmspl[dask]'")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # workers are killed on purpose
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        silence_logs=logging.CRITICAL,
        memory_limit=None,
    )
    with cluster, distributed.Client(cluster, timeout=120) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


@pytest.fixture(scope="session")
def client():
    with two_workers() as client:
        yield client


@pytest.fixture
def client_to_lose():
    """A cluster for a test that kills its workers."""
    with two_workers() as client, client.as_current():
        yield client


@pytest.fixture(autouse=True)
def bounded():
    """End a test that hangs."""

    def give_up(*_):
        raise TimeoutError(f"the test took more than {SECONDS} seconds")

    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return
    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
