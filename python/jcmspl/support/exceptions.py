"""What can go wrong, by name."""

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
    """A Sylvester equation so close to a singular one that its solution has few correct digits."""


class UncalibratedWarning(UserWarning):
    """Seen and unseen classes are candidates of the same samples, and nothing makes up for the bias on the former."""


class AlignmentWarning(UserWarning):
    """The plain cosine of samples and class vectors is left out where encoders are aligned, or wrongly taken."""


class TrainedOnWarning(UserWarning):
    """Test samples are among those that the model was trained on, so that what it gets right says too much."""


class DivergenceError(np.linalg.LinAlgError):
    """The objective overflowed or is not a number."""
