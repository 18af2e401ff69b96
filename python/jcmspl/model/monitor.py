"""What a fit tells while it runs."""

from __future__ import annotations

from collections.abc import Callable


class Monitor:
    """What a fit tells while it runs.

    Parameters
    ----------
    on_iteration : function of the number and the objective of an iteration, optional
        What it raises stops the fit.
    on_samples : function of the number of samples that are done, and of all, optional
        For a pass over samples that takes a while. What it raises stops the fit.
    """

    def __init__(
        self,
        on_iteration: Callable[[int, float], None] | None = None,
        on_samples: Callable[[int, int], None] | None = None,
    ) -> None:
        self.on_iteration, self._on_samples = on_iteration, on_samples
        #: Seconds per stage, as far as the method tells.
        self.timings: dict[str, float] = {}

    def tell_of_samples(self, done: int, total: int) -> None:
        """Tell how far a pass over samples is."""
        if self._on_samples is not None:
            self._on_samples(done, total)
