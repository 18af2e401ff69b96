"""Plots in the manner of scikit-learn: ``jcmspl.plots``."""

from jcmspl.report.charts import (
    AblationDisplay,
    ClassAccuracyDisplay,
    ConfusionDisplay,
    ConvergenceDisplay,
    SeenUnseenDisplay,
    SensitivityDisplay,
)

__all__ = [
    "AblationDisplay",
    "ClassAccuracyDisplay",
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "SeenUnseenDisplay",
    "SensitivityDisplay",
]
