"""Warnings that point at the line of the user's own code that led to them."""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn, in the name of the first caller that is not of this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class OneWarning:
    """Warns the first time that it is asked to. Copies of an object that share it count as one."""

    def __init__(self) -> None:
        self._given = False

    def __call__(self, message: str, category: type[Warning]) -> None:
        """Warn, in the name of the first caller that is not of this package, unless that has been done."""
        if not self._given:
            self._given = True
            warn_user(message, category)
