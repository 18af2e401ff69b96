"""Calls of public methods: arguments by name, old names of parameters, changes of one object one after the other.

Old names work for one more release, with a DeprecationWarning. The tables PARAMETERS, KEYWORDS and ATTRIBUTES are all
that a renaming takes: old names are translated in constructors, ``set_params``, attributes, grids of a search, keyword
arguments, ``--set`` and, without a warning, in model files and pickles.
"""

from __future__ import annotations

import inspect
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from jcmspl.support.warn import warn_user

P = ParamSpec("P")
R = TypeVar("R")

#: Parameters of models and searches: old name, new name.
PARAMETERS = {
    "aligned": "cosine_share",
    "penalty_factors": "ensemble_factors",
    "prediction_weight": "prediction_count",
    "seen_bias": "seen_penalty",
    "seen_samples": "seen_mean_share",
}
#: Keyword arguments of methods and functions.
KEYWORDS = {"lost": "max_false_rejection", "seen_bias": "seen_penalty", "solve": "refit"}
#: Fitted attributes.
ATTRIBUTES = {"seen_bias_": "seen_penalty_"}


def current_names(
    given: Mapping[str, Any], known: Iterable[str], table: Mapping[str, str] = PARAMETERS, *, warn: bool = True
) -> dict[str, Any]:
    """Return keyword arguments with new names in place of old ones, those with a prefix (``estimator__aligned``) too.

    ``known`` are the names that the receiver takes: an old name is left alone if its new one is not among them, or if
    it is itself. An empty iterable takes all.
    """
    names = set(known)
    found: dict[str, Any] = {}
    for name, value in given.items():
        prefix, separator, last = name.rpartition("__")
        new = prefix + separator + table.get(last, last)
        if names and (new not in names or name in names):
            new = name
        if new != name and warn:
            _warn_of(name, new)
        if new in found or (new != name and new in given):
            raise TypeError(f"{name} is the old name of {new}, and both are given: leave {name} out")
        found[new] = value
    return found


def old_keywords(function: Callable[..., Any]) -> dict[str, str]:
    """Return the old names of keyword arguments that a function takes, with the new ones."""
    known = signature(function).parameters
    return {old: new for old, new in KEYWORDS.items() if new in known}


def accepts_old_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function accept the old names of its keyword arguments."""
    table = old_keywords(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not table.keys().isdisjoint(kwargs):
            return cast(Callable[..., R], function)(*args, **current_names(kwargs, (), table))
        return function(*args, **kwargs)

    return call


def accept_old_parameters(cls: type[Any]) -> None:
    """Make the constructor and the attributes of a dataclass accept the old names of its fields."""
    known = {field.name for field in fields(cls)}
    table = {old: new for old, new in PARAMETERS.items() if new in known and old not in known}
    initialise = cls.__init__

    @wraps(initialise)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **current_names(kwargs, (), table))

    cls.__init__ = __init__
    for old, new in table.items():
        setattr(cls, old, _alias(old, new))


def alias(new: str) -> Any:
    """Return a property that is the old name of a fitted attribute."""
    old = next(old for old, one in ATTRIBUTES.items() if one == new)
    return _alias(old, new)


def attributes_of(thing: object) -> list[str]:
    """Return the attributes that an object has, for its ``__dir__``: scikit-learn's would read those of old names."""
    return [
        name
        for name in object.__dir__(thing)
        if name not in PARAMETERS and name not in ATTRIBUTES and hasattr(thing, name)
    ]


class RenamedKeys(dict[str, Any]):
    """A dict in which the old name of a parameter, or ``param_`` and that name, finds the value of its new name."""

    def __missing__(self, name: str) -> Any:
        prefix = "param_" if name.startswith("param_") else ""
        new = prefix + PARAMETERS.get(name.removeprefix(prefix), "")
        if new not in self:
            raise KeyError(name)
        _warn_of(name, new)
        return self[new]


def _alias(old: str, new: str) -> property:
    def get(self: Any) -> Any:
        _warn_of(old, new)
        return getattr(self, new)

    def set_(self: Any, value: Any) -> None:
        _warn_of(old, new)
        setattr(self, new, value)

    return property(get, None if new in ATTRIBUTES.values() else set_, doc=f"Deprecated name of {new}.")


def _warn_of(old: str, new: str) -> None:
    warn_user(f"{old} is now called {new}: the old name will go with the next release", DeprecationWarning)


S = TypeVar("S")


def settled(thing: S, **changes: Any) -> S:
    """Return a copy of an object that other threads do not change, with some attributes of other values."""
    twin: S = object.__new__(type(thing))
    twin.__dict__.update(vars(thing), **changes)
    return twin


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
