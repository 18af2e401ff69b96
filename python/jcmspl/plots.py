"""Plots in the manner of scikit-learn: ``jcmspl.plots``."""

from jcmspl.report.charts import AblationDisplay as AblationDisplay
from jcmspl.report.charts import ClassAccuracyDisplay as ClassAccuracyDisplay
from jcmspl.report.charts import ComparisonDisplay as ComparisonDisplay
from jcmspl.report.charts import ConfusionDisplay as ConfusionDisplay
from jcmspl.report.charts import ConvergenceDisplay as ConvergenceDisplay
from jcmspl.report.charts import SeenUnseenDisplay as SeenUnseenDisplay
from jcmspl.report.charts import SensitivityDisplay as SensitivityDisplay
