"""Objects shared by threads: changes run one after the other, each completely or not at all."""

from __future__ import annotations

import inspect
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

# Beside the objects and not in them: copies, pickles and files know nothing of locks.
_locks: dict[int, threading.RLock] = {}
_one_at_a_time = threading.Lock()
_changing: set[int] = set()  # objects in the midst of a change


def _forget_other_threads() -> None:
    """Start anew in a forked process: whoever held a lock is not there to give it back."""
    global _one_at_a_time
    _one_at_a_time = threading.Lock()
    _locks.update((number, threading.RLock()) for number in _locks)
    _changing.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_other_threads)


def lock_of(thing: object) -> Any:
    """Return the lock of an object, the same as long as it lives; a thread that has it may take it again."""
    with _one_at_a_time:
        lock = _locks.get(id(thing))
        if lock is None:
            lock = _locks[id(thing)] = threading.RLock()
            weakref.finalize(thing, _locks.pop, id(thing), None).atexit = False
    return lock


def changes(method: Callable[Concatenate[Any, P], Any]) -> Callable[Concatenate[S, P], S]:
    """Make a method that changes its object, and returns it, safe to be called by several threads.

    A call waits for those before it. It works on a copy of the object, whose attributes become those of the object in
    one step at the end: whoever reads meanwhile sees the state before, and if anything stops the call, Ctrl-C included,
    it stays. A change of the same object from within the call is refused.
    """
    check = _positions_of(method)

    @wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        check(self, args)
        with lock_of(self):
            before = dict(vars(self))
            draft = _with_state(self, before)
            with _no_change_within(self, method.__name__):
                method(draft, *args, **kwargs)
            after = vars(draft)
            # what was set meanwhile without a method, as in model.progress = False, is kept
            kept = {name: value for name, value in vars(self).items() if name in after or name not in before}
            new = {name: value for name, value in after.items() if name not in before or before[name] is not value}
            self.__dict__ = kept | new
        return self

    return cast(Callable[Concatenate[S, P], S], call)


def reads(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Make a method see its object as it is when it is called, whatever other threads do to it meanwhile."""
    check = _positions_of(method)

    @wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        check(self, args)
        return method(_with_state(self, vars(self)), *args, **kwargs)

    return cast(Callable[Concatenate[Any, P], R], call)


@contextmanager
def _no_change_within(thing: object, name: str) -> Iterator[None]:
    """Refuse a change by what a change itself calls, such as a generator of chunks: the outer one would undo it."""
    if id(thing) in _changing:
        raise RuntimeError(
            f"{type(thing).__name__}.{name} was called from within another call that changes the same model, which "
            "would lose its result: call it before or after"
        )
    _changing.add(id(thing))
    try:
        yield
    finally:
        _changing.discard(id(thing))


def _with_state(thing: Any, state: dict[str, Any]) -> Any:
    twin = object.__new__(type(thing))
    twin.__dict__ = dict(state)
    return twin


def _positions_of(method: Callable[..., Any]) -> Callable[[object, tuple[Any, ...]], None]:
    """Return what refuses too many arguments by position, in terms of what the user has called."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    placed = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    named = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]

    def check(thing: object, args: tuple[Any, ...]) -> None:
        if named and len(args) > len(placed):
            raise TypeError(
                f"{type(thing).__name__}.{method.__name__} takes only {', '.join(placed)} by position: give the rest "
                f"by name, such as {named[0]}=..."
            )

    return check
