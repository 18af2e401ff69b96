"""Plots in the manner of scikit-learn: ``jcmspl.plots``."""

from jcmspl.evaluation.class_charts import ClassAccuracyDisplay, ConfusionDisplay
from jcmspl.evaluation.few_shot import FewShotDisplay
from jcmspl.evaluation.seen_unseen_chart import SeenUnseenDisplay
from jcmspl.report.charts import AblationDisplay, ComparisonDisplay, ConvergenceDisplay, SensitivityDisplay
from jcmspl.report.explanation_chart import ExplanationDisplay

__all__ = [
    "AblationDisplay",
    "ClassAccuracyDisplay",
    "ComparisonDisplay",
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "ExplanationDisplay",
    "FewShotDisplay",
    "SeenUnseenDisplay",
    "SensitivityDisplay",
]
