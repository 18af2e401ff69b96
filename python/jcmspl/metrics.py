"""Metrics of zero-shot recognition, and scorers for scikit-learn: ``jcmspl.metrics``."""

from jcmspl.evaluation import accuracy as _accuracy
from jcmspl.evaluation.accuracy import *  # noqa: F403
from jcmspl.evaluation.few_shot import few_shot_accuracies

__all__ = [*_accuracy.__all__, "few_shot_accuracies"]
