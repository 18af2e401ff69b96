"""Any model of this package with its parameters chosen by cross-validation over classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone

from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model_selection.base import BaseClassSearch
from jcmspl.support.calls import current_names


@dataclass(kw_only=True, eq=False, repr=False)
class ClassSearchCV(BaseClassSearch):
    """Any model of this package with its parameters chosen by cross-validation over classes.

    What :class:`JCMSPLCV` is to JCMSPL: the same search, so that models can be compared that were tuned alike.

    Parameters
    ----------
    estimator : any model of this package, such as RidgeVS()
    param_grid : dict of str to values, optional
        The values to try of each parameter; a single value needs no list. By default some decades of its weights, for
        JCMSPL and SAE the spaces that the model can compare in, and for ESZSL also the cosine.
    cv, extend, halving, choose, warm_start, n_jobs, random_state, progress
        As for :class:`JCMSPLCV`.

    Attributes
    ----------
    best_params_, best_score_, best_score_stderr_, best_index_, cv_results_, cv_results_table_, best_estimator_
        As for :class:`JCMSPLCV`. This estimator has all methods and attributes of the fitted model as well; save writes
        that model, without the search that led to it.

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl import ClassSearchCV
    >>> from jcmspl.methods import RidgeVS
    >>> rng = np.random.default_rng(0)
    >>> attributes, mixing = rng.random((9, 5)), rng.standard_normal((5, 12))
    >>> y = np.repeat(np.arange(9), 10)
    >>> X = attributes[y] @ mixing + 0.2 * rng.standard_normal((90, 12))
    >>> seen = y < 6
    >>> model = ClassSearchCV(RidgeVS(), cv=3).fit(X[seen], y[seen], class_vectors=attributes)
    >>> list(model.best_params_)
    ['alpha']
    """

    estimator: Any = field(kw_only=False)
    param_grid: Any = field(default=None, kw_only=False)

    def _template(self) -> ZeroShotClassifier:
        if not isinstance(self.estimator, ZeroShotClassifier):
            raise TypeError(f"estimator must be a model of this package, not yet tuned, but is {self.estimator!r}")
        model: ZeroShotClassifier = clone(self.estimator).set_params(progress=self.progress)
        return model

    def _any_model(self) -> Any:
        return vars(self).get("best_estimator_", self.estimator)

    def _axes(self) -> dict[str, Any]:
        known = self.estimator.get_params(deep=False)
        axes = self._template().GRID if self.param_grid is None else current_names(self.param_grid, known)
        unknown = [name for name in axes if name not in known]
        if unknown:
            raise ValueError(f"param_grid names {unknown[0]!r}, which {type(self.estimator).__name__} does not have")
        return dict(axes)
