"""Metrics of zero-shot recognition: ``jcmspl.metrics``."""

from jcmspl.evaluation.metrics import *  # noqa: F403
from jcmspl.evaluation.metrics import __all__ as __all__
