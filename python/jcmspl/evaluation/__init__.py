"""Metrics, evaluation, comparison, and the experiments of the paper."""
