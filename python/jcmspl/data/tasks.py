"""Tasks of dask: functions of partitions, run on the workers that have these, and merged in dask's own tree.

All tasks are pure: dask computes the results of a lost worker again from the inputs of its tasks, and no result counts
twice. dask is loaded only where a user passes one of its collections.
"""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from functools import partial
from typing import Any

from jcmspl.support.machine import one_blas_thread
from jcmspl.support.progress import Progress
from jcmspl.support.version import __version__

# Graphs carry models and class tables, so that tasks can be repeated when a worker is lost: 10 MB is no mistake.
_GRAPH_SIZE = {"distributed.admin.large-graph-warning-threshold": "4GB"}
# Results that are merged at a time. Statistics of 2,048 features take 32 MB each.
_SPLIT_EVERY = 4


class Literal:
    """Wraps an argument of a task, so that dask does not search it for other tasks."""

    def __init__(self, value: Any) -> None:
        self.value = value


def task(function: Callable[..., Any], number: int, *arguments: Any) -> Any:
    """Return the task that calls a function for the partition of this number."""
    from dask import delayed

    return delayed(run, pure=False, traverse=False)(__version__, function, number, *arguments)


def shared(value: Any) -> Any:
    """Return an argument of many tasks that is sent once, and not with each of them."""
    from dask import delayed

    return delayed(Literal(value), pure=False, traverse=False)


def reduced(
    tasks: Sequence[Any],
    merge: Callable[[Any, Any], Any] = operator.add,
    *,
    what: str = "reading",
    progress: bool = False,
) -> Any:
    """Return the merged results of tasks, each of which returns a list of one result (:func:`in_list`)."""
    from dask import bag

    total = bag.from_delayed(list(tasks)).fold(partial(_merge, merge), split_every=_SPLIT_EVERY)
    (found,) = computed([total.to_delayed(optimize_graph=False)], tasks, what=what, progress=progress)
    return found


def in_list(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Return the function that returns a list of the result: a partition of a bag of dask is a list."""
    return partial(_in_list, function)


def _in_list(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    return [function(*arguments)]


def computed(
    wanted: Sequence[Any], tasks: Sequence[Any] | None = None, *, what: str = "reading", progress: bool = False
) -> list[Any]:
    """Return results of tasks; an error, or Ctrl-C, ends all of them.

    Progress counts the given tasks, on which the wanted ones depend.
    """
    import dask

    steps = list(wanted if tasks is None else tasks)
    with Progress(what, len(steps), "partitions", enabled=progress) as line:
        client = _client()
        if client is not None:
            return _on_cluster(client, list(wanted), steps, line)
        with _counting_tasks(line, {step.key for step in steps}):
            return list(dask.compute(*wanted, traverse=False))


def kept(tasks: Sequence[Any], *, what: str = "reading", progress: bool = False) -> list[Any]:
    """Compute tasks and leave the results on their workers for as long as the returned objects exist."""
    import dask

    with dask.config.set(_GRAPH_SIZE):
        there = list(dask.persist(*tasks, traverse=False))
    computed([task(_nothing, number, one) for number, one in enumerate(there)], what=what, progress=progress)
    return there


def _nothing(result: Any) -> None:
    """Wait for a result without fetching it."""


def _client() -> Any:
    """Return the client of the cluster that dask uses now, or None if dask works within this process."""
    from dask.base import get_scheduler

    if "distributed" not in sys.modules:
        return None
    try:
        client = sys.modules["distributed"].default_client()
    except ValueError:
        return None
    return client if get_scheduler() == client.get else None


def _on_cluster(client: Any, wanted: list[Any], steps: list[Any], line: Progress) -> list[Any]:
    import dask
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    with dask.config.set(_GRAPH_SIZE):
        futures = client.compute([*steps, *wanted], traverse=False)
    results, finished = futures[len(steps) :], as_completed(futures[: len(steps)])
    del futures  # the result of a step is kept as long as the tree needs it, and no longer
    try:
        for done, future in enumerate(finished, start=1):
            if future.status == "error":
                future.result()
            line.update(done)
            del future
        return list(client.gather(results))
    except BaseException as error:
        # Release, do not cancel: distributed fails when an intermediate key has no waiter.
        for future in [*results, *finished.futures]:
            future.release()
        finished.clear()
        if isinstance(error, CancelledError):
            address = getattr(client.scheduler, "address", None) or "of an unknown address"
            raise ConnectionError(
                f"the cluster has given up the work, or its scheduler is gone ({address}): check that it still runs, "
                "and run this again"
            ) from None
        if not isinstance(error, KilledWorker):
            raise
        raise ChildProcessError(
            f"workers of the cluster were lost again and again at the same partition ({error.task}): it may be too "
            "large for their memory"
        ) from None


@contextlib.contextmanager
def _counting_tasks(line: Progress, keys: set[Any]) -> Iterator[None]:
    """Show the progress of work within this process."""
    from dask.callbacks import Callback

    done = 0

    def after(key: Any, *_: Any) -> None:
        nonlocal done
        done += key in keys
        line.update(done)

    with Callback(posttask=after):
        yield


def run(version: str, function: Callable[..., Any], number: int, *arguments: Any) -> Any:
    """Call a function on the worker that has the partition; errors of bad data name the number of the partition.

    The version is that of the process that started the work: results of another version might not fit together.
    """
    if version != __version__:
        raise ImportError(
            f"a worker of the cluster has jcmspl {__version__}, but the work was begun with {version}: install the "
            "same version everywhere"
        )
    values = [one.value if isinstance(one, Literal) else one for one in arguments]
    try:
        with one_blas_thread():
            return function(*values)
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"partition {number}: {error}") from None


def _merge(merge: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    with one_blas_thread():
        return merge(one, other)


class TaskCancelledError(Exception):
    """A task was cancelled while it ran."""


def stop_if_cancelled() -> None:
    """End a task that was cancelled meanwhile: workers do not interrupt running tasks."""
    if "distributed" not in sys.modules:
        return
    with contextlib.suppress(ValueError, KeyError, AttributeError):  # not on a worker, or its state is not known
        worker = sys.modules["distributed"].get_worker()
        if worker.state.tasks[worker.get_current_task()].state == "cancelled":
            raise TaskCancelledError
