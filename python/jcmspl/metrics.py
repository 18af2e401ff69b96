"""Metrics of zero-shot recognition, and scorers for scikit-learn: ``jcmspl.metrics``."""

from jcmspl.evaluation import accuracy as _accuracy
from jcmspl.evaluation.accuracy import *  # noqa: F403
from jcmspl.evaluation.few_shot import few_shot_accuracies
from jcmspl.evaluation.probabilities import expected_calibration_error

__all__ = [*_accuracy.__all__, "expected_calibration_error", "few_shot_accuracies"]
