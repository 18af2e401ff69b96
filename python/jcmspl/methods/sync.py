"""Synthesised classifiers with the squared loss."""

from typing import Any

from jcmspl.data.training import TrainingData
from jcmspl.model.kinds import Synthesised, learnt
from jcmspl.model.learning import Monitor
from jcmspl.model.moments import Moments
from jcmspl.model.parameters import NamedArrays, estimator
from jcmspl.support.arguments import Float64Array


@estimator
class SynC(Synthesised):
    """Synthesised classifiers (Changpinyo, Chao, Gong, Sha, 2016), with the squared loss.

    Classes are compared with phantom classes, here the seen ones, by ``s_jr = exp(-tau |a_j - a_r|^2)``, divided by
    their sum, and the classifier of a class is ``w_j = sum_r s_jr v_r``. Distances are in units of their median. All
    of that is as published. The loss here, ``|T - WX|^2 / (n c)`` with labels T of 1 and -1, has a closed form; the
    paper has hinge losses, as :class:`SynCHinge` does.
    """

    EXAMPLE = "tau=1.0"
    PAPER = "Changpinyo, Chao, Gong, Sha (2016): Synthesized Classifiers for Zero-Shot Learning"
    GRID = {"penalty": tuple(2.0**power for power in (-24, -20, -16, -12, -8)), "tau": (0.25, 0.5, 1.0, 2.0)}

    def _prepare(self, training: TrainingData) -> Any:
        return Moments(training)

    def _fit(self, prepared: Any, monitor: Monitor) -> NamedArrays:
        return learnt(classifiers_by_least_squares(prepared, self.penalty), prepared.vectors)


def classifiers_by_least_squares(moments: Moments, penalty: float) -> Float64Array:
    """Return the classifiers of seen classes with the squared loss."""
    targets = 2 * moments.sums - moments.sums.sum(axis=0)
    return moments.visual.solve(targets, penalty / 2 * float(moments.counts.sum()) * len(targets))
