"""Embarrassingly simple zero-shot learning."""

from typing import Any

from jcmspl.model.bilinear import Bilinear
from jcmspl.model.moments import Moments, one_map
from jcmspl.model.parameters import DECADES, WEIGHT, checked_by, estimator, field
from jcmspl.support.arguments import Float64Array, as_number


def _check_negative_label(value: Any, name: str) -> None:
    if as_number(value, name) >= 1:
        raise ValueError(f"{name} must be a number below 1, but is {value}")


@estimator
class ESZSL(Bilinear):
    """Embarrassingly simple zero-shot learning (Romera-Paredes, Torr, 2015).

    ``W' = (XX' + gamma I)^-1 X L S' (SS' + lambda I)^-1``, with L the labels, a row for each sample, and S a column for
    each class; a sample's class is that of the highest s'Wx.

    Parameters
    ----------
    visual_penalty : float
        The paper's γ.
    semantic_penalty : float
        The paper's λ.
    negative_label : float
        What L holds for the classes that a sample is not of; 1 for its own. -1 as published; 0 is common elsewhere. On
        centred samples the choice makes no difference but to the scale of the scores.
    metric : {"dot", "cosine", "euclidean"} or callable
        "dot" is the published one, s'Wx.
    """

    visual_penalty: float = field(default=1.0, kw_only=False, metadata=WEIGHT)
    semantic_penalty: float = field(default=1.0, kw_only=False, metadata=WEIGHT)
    negative_label: float = field(default=-1.0, metadata=checked_by(_check_negative_label))
    metric: Any = "dot"

    EXAMPLE = "visual_penalty=10"
    ONE_MAP = True
    PAPER = "Romera-Paredes, Torr (2015): An embarrassingly simple approach to zero-shot learning"
    GRID = {
        "visual_penalty": DECADES,
        "semantic_penalty": DECADES,
        "space": ("semantic", "visual"),
        "metric": ("dot", "cosine"),
    }

    def _solve(self, moments: Moments) -> tuple[Float64Array, Float64Array]:
        negative = float(self.negative_label)
        # (XL)', a row for each class: a sum over all samples, and more of it for those of the class
        targets = (1 - negative) * moments.sums + negative * moments.sums.sum(axis=0)
        right = moments.visual.solve(targets, self.visual_penalty)
        return one_map(moments.classes.solve((moments.vectors.T @ right).T, self.semantic_penalty).T)
