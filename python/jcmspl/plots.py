"""Plots in the manner of scikit-learn: ``jcmspl.plots``."""

from jcmspl.evaluation.class_charts import ClassAccuracyDisplay, ConfusionDisplay
from jcmspl.evaluation.few_shot import FewShotDisplay
from jcmspl.evaluation.probabilities import ReliabilityDisplay
from jcmspl.evaluation.seen_unseen_chart import SeenUnseenDisplay
from jcmspl.report.method_charts import AblationDisplay, ComparisonDisplay
from jcmspl.report.model_charts import ConvergenceDisplay, ExplanationDisplay, SensitivityDisplay

__all__ = [
    "AblationDisplay",
    "ClassAccuracyDisplay",
    "ComparisonDisplay",
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "ExplanationDisplay",
    "FewShotDisplay",
    "ReliabilityDisplay",
    "SeenUnseenDisplay",
    "SensitivityDisplay",
]
