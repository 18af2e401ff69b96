"""What a fit tells while it runs."""

from __future__ import annotations

from collections.abc import Callable


class Monitor:
    """What a fit tells while it runs.

    Parameters
    ----------
    on_iteration : function of the number and the objective of an iteration, optional
        What it raises stops the fit.
    """

    def __init__(self, on_iteration: Callable[[int, float], None] | None = None) -> None:
        self.on_iteration = on_iteration
        #: Seconds per stage, as far as the method tells.
        self.timings: dict[str, float] = {}
