"""Work on dask: functions of partitions, whose results add up in a tree, wherever the workers are.

All tasks are pure: what a lost worker had is computed anew from what its tasks were given, and nothing counts twice.
dask is loaded only where somebody passes something of it.
"""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any

from jcmspl.support.progress import Progress
from jcmspl.support.threads import one_blas_thread
from jcmspl.support.version import __version__

# Graphs carry models and tables, which tasks can be given anew when a worker is lost: 10 MB is no mistake.
_GRAPH_SIZE = {"distributed.admin.large-graph-warning-threshold": "4GB"}


def is_dask(value: Any) -> bool:
    """Whether a value is an array, DataFrame, Series, ... of dask, found out without loading dask."""
    is_of_dask = type(value).__module__.partition(".")[0] in ("dask", "dask_expr")
    return is_of_dask and hasattr(value, "__dask_graph__")


def is_frame(value: Any) -> bool:
    """Whether a value of dask is a DataFrame or a Series, and not an array."""
    return hasattr(value, "map_partitions") and hasattr(value, "divisions")


class Literal:
    """Wraps what a task is given, so that dask does not look for tasks in it."""

    def __init__(self, value: Any) -> None:
        self.value = value


def task(function: Callable[..., Any], number: int, *arguments: Any) -> Any:
    """Return the task that calls a function for the partition of this number."""
    from dask import delayed

    return delayed(run, pure=False, traverse=False)(__version__, function, number, *arguments)


def shared(value: Any) -> Any:
    """Return a value that many tasks are given: it is sent once, and not with each of them."""
    from dask import delayed

    return delayed(Literal(value), pure=False, traverse=False)


def reduced(
    tasks: Sequence[Any],
    merge: Callable[[Any, Any], Any] = operator.add,
    *,
    what: str = "reading",
    progress: bool = False,
) -> Any:
    """Return the sum of the results of some tasks, which are merged two at a time where they are."""
    from dask import delayed

    level = list(tasks)
    while len(level) > 1:
        pairs = [level[first : first + 2] for first in range(0, len(level), 2)]
        level = [
            delayed(_merge, pure=False, traverse=False)(merge, *pair) if len(pair) == 2 else pair[0] for pair in pairs
        ]
    (total,) = computed(level, tasks, what=what, progress=progress)
    return total


def computed(
    wanted: Sequence[Any], tasks: Sequence[Any] | None = None, *, what: str = "reading", progress: bool = False
) -> list[Any]:
    """Return results of tasks; an error, or Ctrl-C, ends all of them.

    Progress is that of the given tasks, on which the others depend.
    """
    import dask
    from dask.base import get_scheduler

    steps = list(wanted if tasks is None else tasks)
    with Progress(what, len(steps), "partitions", enabled=progress) as line:
        client = getattr(get_scheduler(), "__self__", None)
        if client is not None and hasattr(client, "scheduler_info"):
            return _on_cluster(client, list(wanted), steps, line)
        with _told_of_tasks(line, {step.key for step in steps}):
            return list(dask.compute(*wanted, traverse=False))


def kept(tasks: Sequence[Any], *, what: str = "reading", progress: bool = False) -> list[Any]:
    """Compute tasks and leave their results where they are, as long as what is returned is there."""
    import dask

    with dask.config.set(_GRAPH_SIZE):
        there = list(dask.persist(*tasks, traverse=False))
    computed([task(_nothing, number, one) for number, one in enumerate(there)], what=what, progress=progress)
    return there


def _nothing(result: Any) -> None:
    """Wait for a result without a look at it."""


def _on_cluster(client: Any, wanted: list[Any], steps: list[Any], line: Progress) -> list[Any]:
    import dask
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    with dask.config.set(_GRAPH_SIZE):
        futures = client.compute([*steps, *wanted], traverse=False)
    results, finished = futures[len(steps) :], as_completed(futures[: len(steps)])
    del futures  # what a step gave is kept as long as the tree needs it, and no longer
    try:
        for done, future in enumerate(finished, start=1):
            if future.status == "error":
                future.result()
            line.update(done)
            del future
        return list(client.gather(results))
    except BaseException as error:
        # released and not cancelled: a scheduler fails at the latter where something between is wanted by nobody
        for future in [*results, *finished.futures]:
            future.release()
        finished.clear()
        if isinstance(error, CancelledError):
            raise ConnectionError(
                f"the cluster has given up the work, or its scheduler is gone ({_address(client)}): see whether it "
                "still runs, and run this again"
            ) from None
        if not isinstance(error, KilledWorker):
            raise
        raise ChildProcessError(
            f"workers of the cluster were lost again and again at the same partition ({error.task}): it may be too "
            "large for their memory"
        ) from None


def _address(client: Any) -> str:
    return str(getattr(client.scheduler, "address", None) or "of an unknown address")


@contextlib.contextmanager
def _told_of_tasks(line: Progress, keys: set[Any]) -> Iterator[None]:
    """Tell how far work within this process is."""
    from dask.callbacks import Callback

    done = 0

    def after(key: Any, *_: Any) -> None:
        nonlocal done
        done += key in keys
        line.update(done)

    with Callback(posttask=after):
        yield


def run(version: str, function: Callable[..., Any], number: int, *arguments: Any) -> Any:
    """Call a function where the partition is; bad data is told of by the number of its partition.

    The version is that of the package where the work was begun: with another one the results might not fit together.
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


class NoLongerWantedError(Exception):
    """A task was cancelled while it ran."""


def stop_if_unwanted() -> None:
    """End a task that was cancelled meanwhile: workers do not interrupt what they run."""
    if "distributed" not in sys.modules:
        return
    with contextlib.suppress(ValueError, KeyError, AttributeError):  # not on a worker, or one that tells nothing
        worker = sys.modules["distributed"].get_worker()
        if worker.state.tasks[worker.get_current_task()].state == "cancelled":
            raise NoLongerWantedError
