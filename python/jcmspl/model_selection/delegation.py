"""How a search hands calls on to the model that it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from sklearn.utils.metaestimators import available_if

from jcmspl.support.calls import lock_of

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])


def handed_on(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Return a method of a search that calls the one of its model of the same name."""

    @wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = getattr(self._fitted_model(), method.__name__)(*args, **kwargs)
        return result

    return cast(Callable[Concatenate[Any, P], R], call)


def handed_on_if_there(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Return the same for a method that not every model has: without it the search does not have it either."""
    there = available_if(lambda search: hasattr(search._any_model(), method.__name__))
    return cast(Callable[Concatenate[Any, P], R], there(handed_on(method)))


def handed_on_to_change(method: Callable[Concatenate[Any, P], Any]) -> Callable[Concatenate[S, P], S]:
    """Return the same for a method that changes the model and returns it: the search returns itself."""

    @wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        with lock_of(self):  # a fit of the search would put another model in the place of this one
            getattr(self._fitted_model(), method.__name__)(*args, **kwargs)
        return self

    return cast(Callable[Concatenate[S, P], S], call)


def handed_on_to_change_if_there(method: Callable[Concatenate[Any, P], Any]) -> Callable[Concatenate[S, P], S]:
    """Return the same for a method that not every model has."""
    there = available_if(lambda search: hasattr(search._any_model(), method.__name__))
    return cast(Callable[Concatenate[S, P], S], there(handed_on_to_change(method)))


def if_it_transforms(method: F) -> F:
    """Take a method away from searches whose model cannot transform samples."""
    return cast(F, available_if(lambda search: hasattr(search._any_model(), "transform"))(method))
