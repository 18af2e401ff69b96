"""What methods tell of their iterations: the course of the objective, and whether they came to an end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from jcmspl.model.named_arrays import NamedArrays, Shape
from jcmspl.model.parameters import COUNT, NOT_NEGATIVE
from jcmspl.support.arguments import Float64Array
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from jcmspl.model.classifier import ZeroShotClassifier as _Method
else:
    _Method = object  # a mixin beside a kind of method


@dataclass(kw_only=True, eq=False, repr=False)
class Iterative(_Method):
    """Parameters and facts of a method that iterates, and whose arrays are those of COURSE among others.

    A mixin beside a kind of method; it comes last among the bases, so that the defaults of the others count.
    """

    max_iter: int = field(default=100, metadata=COUNT)
    tol: float = field(default=1e-4, metadata=NOT_NEGATIVE)

    COURSE: ClassVar[dict[str, Shape]] = {"objective": ("i",), "converged": ()}

    @property
    def objective_(self) -> Float64Array:
        """The value of the objective after each iteration."""
        return self._array("objective")

    @property
    def n_iter_(self) -> int:
        """The number of iterations."""
        return len(self.objective_)

    @property
    def converged_(self) -> bool:
        """Whether iterations ended because of tol, and not of max_iter."""
        return bool(self._array("converged"))

    def _warn_of_result(self) -> None:
        if self.converged_ or not self.tol > 0:
            return
        sooner = "; a larger penalty makes it converge sooner" if hasattr(self, "penalty") else ""
        warn_user(
            f"the fit stopped after max_iter={self.max_iter} iterations, before it converged. Raise max_iter, or tol "
            f"if the predictions are good as they are{sooner}.",
            ConvergenceWarning,
        )


def course(objective: list[float], *, converged: bool) -> NamedArrays:
    """Return the arrays of COURSE."""
    return {"objective": np.array(objective), "converged": np.array(float(converged))}
