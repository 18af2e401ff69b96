"""Metrics of zero-shot recognition, and scorers for scikit-learn: ``jcmspl.metrics``."""

from jcmspl.evaluation import metrics as _metrics
from jcmspl.evaluation import scorers as _scorers
from jcmspl.evaluation.few_shot import few_shot_accuracies
from jcmspl.evaluation.metrics import *  # noqa: F403
from jcmspl.evaluation.scorers import *  # noqa: F403

__all__ = [*_metrics.__all__, *_scorers.__all__, "few_shot_accuracies"]
