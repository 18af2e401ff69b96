"""Errors and warnings of the package: ``jcmspl.exceptions``."""

from jcmspl.datasets.errors import DatasetError
from jcmspl.io.archive import ModelFileError
from jcmspl.support.exceptions import (
    AlignmentWarning,
    DivergenceError,
    NearlySingularWarning,
    SingularEquationError,
    TrainedOnWarning,
    UncalibratedWarning,
)

__all__ = [
    "AlignmentWarning",
    "DatasetError",
    "DivergenceError",
    "ModelFileError",
    "NearlySingularWarning",
    "SingularEquationError",
    "TrainedOnWarning",
    "UncalibratedWarning",
]
