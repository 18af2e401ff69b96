"""The table of a search, in the form of scikit-learn's GridSearchCV."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from jcmspl.model_selection.search import Search


def results_table(search: Search) -> dict[str, Any]:
    """Return the scores of all settings that were tried, a row for each."""
    choices = search.choices()
    scores = np.array([search.trials[key].scores[variant] for key, variant in choices])
    params = [search.parameters(choice) for choice in choices]
    iterations = [search.trials[key].iterations for key, _ in choices]
    table: dict[str, Any] = {"params": params}
    for name in params[0]:
        column = np.empty(len(params), dtype=object)
        column[:] = [setting[name] for setting in params]
        table[f"param_{name}"] = column
    table |= {f"split{fold}_test_score": scores[:, fold] for fold in range(scores.shape[1])}
    table["mean_test_score"], table["std_test_score"] = scores.mean(axis=1), scores.std(axis=1)
    table["rank_test_score"] = _ranks(table["mean_test_score"], np.array([budget is None for budget in iterations]))
    if search.max_iter is not None:
        table["iterations"] = np.array([search.max_iter if budget is None else budget for budget in iterations])
    return table


def _ranks(means: Any, finished: Any) -> Any:
    """Return ranks, 1 the best, of which equal scores share the first; what was dropped comes last."""
    order = np.where(finished, -np.round(means, 10), 2 - np.round(means, 10))  # accuracies lie between 0 and 1
    return rankdata(np.nan_to_num(order, nan=4.0), method="min").astype(np.int32)
