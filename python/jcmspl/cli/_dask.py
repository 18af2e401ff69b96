"""The option ``--dask``: work on a cluster, of this machine or another."""

from __future__ import annotations

import argparse
import contextlib
import signal
from collections.abc import Iterator
from typing import Any

_LOCAL = "local"
_SECONDS = 60  # to wait for a scheduler


def add_dask(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        nargs="?",
        const=_LOCAL,
        help="work on the workers of the dask scheduler at ADDRESS, such as tcp://10.0.0.1:8786; without one, on a "
        "process for each core of this machine (needs jcmspl[dask]; stands behind the other arguments)",
    )


@contextlib.contextmanager
def workers_of(arguments: argparse.Namespace) -> Iterator[int]:
    """Connect to the workers, and give how many threads they have; 0 if none are wanted."""
    if arguments.dask is None:
        yield 0
        return
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("--dask needs the packages dask and distributed: pip install 'jcmspl[dask]'") from None
    import logging

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is told by the command
    with contextlib.ExitStack() as stack:
        if arguments.dask == _LOCAL:
            client = Client(stack.enter_context(_local_cluster()), set_as_default=True)
        else:
            try:
                client = Client(arguments.dask, timeout=_SECONDS, set_as_default=True)
                client.wait_for_workers(1, timeout=_SECONDS)
            except (OSError, ValueError, TimeoutError) as error:
                raise OSError(f"there is no dask scheduler with workers at {arguments.dask}: {error}") from None
        stack.callback(client.close, timeout=2)
        yield sum(client.nthreads().values())


def on_workers(dataset: Any, n_workers: int) -> Any:
    """Return the data set as workers have it; as it is if there are none."""
    from jcmspl.datasets.on_dask import dataset_on_dask

    return dataset_on_dask(dataset, n_workers) if n_workers else dataset


@contextlib.contextmanager
def _local_cluster() -> Iterator[Any]:
    import logging

    from distributed import LocalCluster

    from jcmspl.support.threads import usable_cores

    with contextlib.ExitStack() as held_back:
        held_back.enter_context(_interrupted_later())
        cluster = LocalCluster(
            n_workers=usable_cores(),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # of its health, which it tells with or without one
            silence_logs=logging.CRITICAL,
        )
        try:
            held_back.close()  # an interrupt meanwhile is one of now
            yield cluster
        except BaseException:
            # nobody waits for what they still work on
            for worker in list(cluster.workers.values()):
                _kill(worker)
            raise
        finally:
            cluster.close(timeout=10)


@contextlib.contextmanager
def _interrupted_later() -> Iterator[None]:
    """Hold Ctrl-C back while workers start; they inherit that, and so leave it to this process for good."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # which would let Ctrl-C through again, in the midst of it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _kill(nanny: Any) -> None:
    """End the process of a worker at once."""
    with contextlib.suppress(Exception):
        nanny.auto_restart = False
        nanny.process.process._process.kill()
