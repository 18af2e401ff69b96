"""Errors and warnings of the package."""

from __future__ import annotations

import numpy as np


class SingularEquationError(np.linalg.LinAlgError):
    """A Sylvester equation without a unique solution.

    Attributes
    ----------
    eigenvalues : tuple of complex
        An eigenvalue of ``a`` and one of ``b`` that add up to zero.
    """

    def __init__(self, message: str, eigenvalues: tuple[complex, complex]) -> None:
        super().__init__(message, eigenvalues)
        self.eigenvalues = eigenvalues

    def __str__(self) -> str:
        return str(self.args[0])


class NearlySingularWarning(RuntimeWarning):
    """A Sylvester equation is nearly singular: its solution has few correct digits."""


class UncalibratedWarning(UserWarning):
    """Seen and unseen classes compete without a calibrated bias, so that unseen classes are rarely predicted."""


class AlignmentWarning(UserWarning):
    """The encoders are aligned but the plain cosine is not used, or the cosine is used but they are not aligned."""


class TrainedOnWarning(UserWarning):
    """Some test samples were training samples of the model, so the accuracy is too high."""


class NotFiniteError(ValueError):
    """An argument holds NaN or infinity."""


class DivergenceError(np.linalg.LinAlgError):
    """The objective overflowed or is not a number."""
