"""Metrics of zero-shot recognition: ``jcmspl.metrics``."""

from jcmspl.evaluation.metrics import (
    SeenUnseenCurve,
    Tally,
    accuracy,
    confusion_matrix,
    generalized_curve,
    harmonic_mean,
    hit_at_k,
)

__all__ = [
    "SeenUnseenCurve",
    "Tally",
    "accuracy",
    "confusion_matrix",
    "generalized_curve",
    "harmonic_mean",
    "hit_at_k",
]
