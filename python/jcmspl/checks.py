"""Checks of data: wrong labels, class vectors that do not fit, duplicates, leakage: ``jcmspl.checks``."""

from jcmspl.evaluation.data_checks import ClassIssue, DataChecks, Leak, NearDuplicate, check_data
from jcmspl.evaluation.label_issues import LabelIssues, find_label_issues

__all__ = ["ClassIssue", "DataChecks", "LabelIssues", "Leak", "NearDuplicate", "check_data", "find_label_issues"]
