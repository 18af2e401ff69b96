"""Plots in the manner of scikit-learn: ``jcmspl.plots``."""

from jcmspl.report.charts import AblationDisplay, ConvergenceDisplay, SeenUnseenDisplay, SensitivityDisplay

__all__ = ["AblationDisplay", "ConvergenceDisplay", "SeenUnseenDisplay", "SensitivityDisplay"]
