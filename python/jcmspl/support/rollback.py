"""Objects that stay as they were when something goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Give an estimator back as it was if anything stops what is done to it, Ctrl-C included."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        state = vars(estimator)
        state.update(before)  # first: at no moment is anything of the old state missing
        for name in set(state) - set(before):
            del state[name]
        raise
