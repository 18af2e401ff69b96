"""The option ``--dask``: run a command on the workers of a dask cluster, local or remote."""

from __future__ import annotations

import argparse
import contextlib
import signal
from collections.abc import Iterator
from typing import Any

_LOCAL = "local"
_SECONDS = 60  # timeout for a scheduler


def add_dask(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        nargs="?",
        const=_LOCAL,
        help="use the workers of the dask scheduler at ADDRESS, for example tcp://10.0.0.1:8786; without ADDRESS, one "
        "process per core of this machine (needs jcmspl[dask]; put it after the other arguments)",
    )


@contextlib.contextmanager
def workers_of(arguments: argparse.Namespace) -> Iterator[int]:
    """Connect to the workers and yield their number of threads, or 0 without ``--dask``."""
    if arguments.dask is None:
        yield 0
        return
    import logging

    from jcmspl.support.lazy import needed

    Client = needed("distributed", "--dask needs the packages dask and distributed", "dask").Client
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the command reports errors itself
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
    """Return the data set on the workers, or unchanged if there are none."""
    from dataclasses import replace

    from jcmspl.datasets.row_source import rows_on_dask

    return replace(dataset, X=rows_on_dask(dataset.X, n_workers)) if n_workers else dataset


@contextlib.contextmanager
def _local_cluster() -> Iterator[Any]:
    import logging

    from distributed import LocalCluster

    from jcmspl.support.machine import usable_cores

    with contextlib.ExitStack() as held_back:
        held_back.enter_context(_interrupted_later())
        cluster = LocalCluster(
            n_workers=usable_cores(),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # its health page, which it serves in any case
            silence_logs=logging.CRITICAL,
        )
        try:
            held_back.close()  # delivers an interrupt that came during the start
            yield cluster
        except BaseException:
            for nanny in list(cluster.workers.values()):
                with contextlib.suppress(Exception):  # killed: results are not waited for
                    nanny.auto_restart = False
                    nanny.process.process._process.kill()
            raise
        finally:
            cluster.close(timeout=10)


@contextlib.contextmanager
def _interrupted_later() -> Iterator[None]:
    """Block Ctrl-C while workers start. They inherit the block, so that only this process handles Ctrl-C."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # it would unblock Ctrl-C if it started within the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
