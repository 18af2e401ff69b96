"""Calls of public methods: most arguments go by name, and changes of one object come one after the other."""

from __future__ import annotations

import inspect
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from jcmspl.support.renamed import current_names, old_keywords

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

# Locks lie beside the objects and not in them, so that copies, pickles and files have none.
_locks: dict[int, threading.RLock] = {}
_registry_lock = threading.Lock()
_changing: set[int] = set()  # ids of objects whose change is under way


def _forget_other_threads() -> None:
    """Make new locks in a forked process, which lacks the threads that held the old ones."""
    global _registry_lock
    _registry_lock = threading.Lock()
    _locks.update((number, threading.RLock()) for number in _locks)
    _changing.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_other_threads)


def lock_of(thing: object) -> Any:
    """Return the reentrant lock of an object, which stays the same for the object's lifetime."""
    with _registry_lock:
        lock = _locks.get(id(thing))
        if lock is None:
            lock = _locks[id(thing)] = threading.RLock()
            weakref.finalize(thing, _locks.pop, id(thing), None).atexit = False
    return lock


def changes(method: Callable[Concatenate[Any, P], Any]) -> Callable[Concatenate[S, P], S]:
    """Decorate a method that changes its object and returns it: calls of several threads run one after the other.

    The method computes the new state first and assigns it last, in one step, so that a call that fails or is
    interrupted leaves the object as it was. A change of the same object from within the call is refused.
    """
    given = _arguments_of(method)

    @wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        named = given(self, args, kwargs)
        with lock_of(self), _no_change_within(self, method.__name__):
            method(self, *args, **named)
        return self

    return cast(Callable[Concatenate[S, P], S], call)


def by_name(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Decorate a method whose keyword arguments users might give by position, to refuse that in a helpful sentence."""
    given = _arguments_of(method)

    @wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(self, *args, **given(self, args, kwargs))

    return cast(Callable[Concatenate[Any, P], R], call)


@contextmanager
def _no_change_within(thing: object, name: str) -> Iterator[None]:
    """Refuse a change by code that a change itself calls, such as a generator of chunks: the outer would undo it."""
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


def _arguments_of(method: Callable[..., Any]) -> Callable[[object, tuple[Any, ...], dict[str, Any]], Any]:
    """Return a check of a call's arguments, which returns those by name with new names in place of old ones.

    It refuses too many positional arguments, and names those that go by name.
    """
    parameters = list(inspect.signature(method).parameters.values())[1:]
    placed = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    named = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]

    old = old_keywords(method)

    def check(thing: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if named and len(args) > len(placed):
            raise TypeError(
                f"{type(thing).__name__}.{method.__name__} takes only {', '.join(placed)} by position: give the rest "
                f"by name, such as {named[0]}=..."
            )
        return kwargs if old.keys().isdisjoint(kwargs) else current_names(kwargs, (), old)

    return check
