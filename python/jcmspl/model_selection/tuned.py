"""What estimators have in common that choose their own parameters."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.statistics import Statistics
from jcmspl.data.class_folds import ClassKFold
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import Collector, LabelledStatistics
from jcmspl.data.labels import Label, as_label_list, some, sorted_labels
from jcmspl.data.normalisation import parse_normalisation
from jcmspl.model_selection.folds import FoldedData
from jcmspl.model_selection.grid import as_values
from jcmspl.model_selection.results import results_table
from jcmspl.model_selection.search import Search
from jcmspl.models.fitting import _gives_chunks, unchanged_on_failure
from jcmspl.models.model import ZeroShotModel
from jcmspl.support.arguments import Float64Array, IntArray, as_count, one_of

#: With less training classes than this folds hold out so few that the best setting is mostly luck: they are drawn
#: several times, and the choice is a prudent one.
FEW_CLASSES = 20
_REPEATS_OF_FEW = 5


class TunedModel(ZeroShotModel):
    """A model that is fitted with the best of several settings, and is then what a fit with that setting would be."""

    cv: Any
    extend: int
    halving: bool
    choose: str
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    progress: bool

    best_params_: dict[str, Any]
    best_score_: float
    best_score_std_: float
    best_index_: int
    cv_results_: dict[str, Any]
    n_splits_: int
    interrupted_: bool
    _chosen: ZeroShotModel

    def fit(self, X: Any, y: Any = None, *, class_vectors: Any = None) -> Any:
        """Choose the parameters by cross-validation over the classes in y, then fit to all samples.

        Ctrl-C ends the search early: the best setting that was finished on all folds is fitted. If there is none, the
        model stays as it was and KeyboardInterrupt is raised.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            An array, memory map or DataFrame: samples are read for the statistics, and again to be recognised, so that
            an iterator will not do.
        y : array_like of shape (n_samples,)
            The label of each sample.
        class_vectors : ClassTable, dict of label -> vector, DataFrame or array_like
            The vector of each class in y and, if you like, of other classes, which become candidates for later. The
            choice does not depend on these. Without class_vectors, or with less than four classes, nothing can be
            chosen: that is warned of, and of the values to try those nearest to the defaults are fitted.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._check_parameters()
            if y is None and _gives_chunks(X):
                raise TypeError(
                    f"{type(self).__name__} reads samples more than once, so X must be an array or a memory map and "
                    "not an iterable of chunks; choose the parameters on a part that fits in memory"
                )
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
            started = time.perf_counter()
            samples, labels = self._samples(X, reset=True), as_label_list(y)
            if len(labels) != len(samples):
                raise ValueError(
                    f"Found input variables with inconsistent numbers of samples: {len(samples)} samples in X, "
                    f"{len(labels)} labels in y"
                )
            table = None if class_vectors is None else ClassTable.of(class_vectors)
            collected = self._choose(samples, labels, table)
            self._learn_from(collected, table, {"search": time.perf_counter() - started})
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, class_vectors: Any = None, solve: bool = True
    ) -> Any:
        """Learn from further samples with the parameters that fit chose.

        The first call of a model that is not fitted chooses them, from the samples of that call alone.

        Parameters
        ----------
        X, y, classes, class_vectors, solve
            As for :class:`jcmspl.JCMSPL`.

        Returns
        -------
        self
        """
        if hasattr(self, "best_params_"):
            return super().partial_fit(X, y, classes, class_vectors=class_vectors, solve=solve)
        if classes is not None:
            declared = set(as_label_list(classes, "classes"))
            strangers = [label for label in dict.fromkeys(as_label_list(y)) if label not in declared]
            if strangers:
                raise ValueError(f"y holds labels that are not in classes: {some(strangers)}")
        return self.fit(X, y, class_vectors=class_vectors)

    def fit_from_statistics(self, statistics: Statistics, classes: Any = None, *, class_vectors: Any = None) -> Any:
        """Refuse: held-out classes are scored by their samples, which statistics do not have."""
        raise TypeError(
            f"{type(self).__name__} recognises samples of held-out classes, so statistics are not enough: use fit, or "
            "fit_from_statistics of best_estimator_"
        )

    def save(self, path: str | Path, *, statistics: bool = False, overwrite: bool = False) -> None:
        """Write the model with its chosen parameters; without the search that led to it.

        The file is that of :attr:`best_estimator_`, and loads as such.

        Parameters
        ----------
        path, statistics, overwrite
            As for :class:`jcmspl.JCMSPL`.
        """
        self.best_estimator_.save(path, statistics=statistics, overwrite=overwrite)

    @property
    def best_estimator_(self) -> Any:
        """The fitted model on its own: a plain estimator with the chosen parameters."""
        check_is_fitted(self, "visual_projection_")
        plain = clone(self._chosen)
        own = {*self.get_params(deep=False), *_SEARCH_ATTRIBUTES}
        plain.__dict__.update({name: value for name, value in vars(self).items() if name not in own})
        return plain

    @property
    def cv_results_table_(self) -> Any:
        """cv_results_ as a pandas DataFrame, the chosen setting first, then by rank."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("cv_results_table_ needs the package pandas: use cv_results_, or install it") from None
        check_is_fitted(self, "cv_results_")
        table = pd.DataFrame(self.cv_results_)
        rest = table.drop(index=self.best_index_).sort_values("rank_test_score", kind="stable")
        return pd.concat([table.loc[[self.best_index_]], rest])

    # What a search is about.
    def _template(self) -> ZeroShotModel:
        """Return the estimator whose parameters are looked for."""
        raise NotImplementedError

    def _axes(self) -> dict[str, Any]:
        """Return the values to try of each parameter."""
        raise NotImplementedError

    @property
    def _settings(self) -> Any:
        return self._chosen

    def _check_parameters(self) -> None:
        template = self._template()
        for name, values in self._axes().items():
            for value in as_values(values, name):
                clone(template).set_params(**{name: value})._check_parameters()
        template._check_parameters()
        if self.cv is not None and not isinstance(self.cv, ClassKFold):
            as_count(self.cv, "cv", minimum=2)
        as_count(self.extend, "extend", minimum=0)
        one_of(self.choose, "choose", ("auto", "best", "prudent"))
        if self.n_jobs is not None:
            as_count(self.n_jobs, "n_jobs")

    def _learn(self, statistics: Statistics, class_vectors: Float64Array) -> dict[str, float]:
        plain = clone(self._chosen)
        with warnings.catch_warnings():
            # it was chosen for what it recognises after so many iterations; converged_ tells the rest
            warnings.simplefilter("ignore", ConvergenceWarning)
            timings: dict[str, float] = plain._learn(statistics, class_vectors)
        self.__dict__.update({name: value for name, value in vars(plain).items() if name.endswith("_")})
        return timings

    def _choose(self, X: npt.NDArray[Any], labels: list[Label], table: ClassTable | None) -> LabelledStatistics:
        """Set the results of the search; return the statistics that the chosen model is fitted to."""
        template, axes = self._template(), self._axes()
        classes = sorted_labels(dict.fromkeys(labels))
        if table is None or len(classes) < 4:
            return self._choose_blindly(X, labels, table)
        folds, n_splits = self._folds(len(classes))
        data = FoldedData(X, labels, table, folds, n_splits)
        axis = axes.get("feature_normalisation", template.get_params()["feature_normalisation"])
        scalings = {name: parse_normalisation(name, "")[0] for name in as_values(axis, "feature_normalisation")}
        data.read(sorted(set(scalings.values())), progress=bool(self.progress))
        search = Search(
            template,
            axes,
            data,
            extend=self.extend,
            halving=bool(self.halving),
            warm_start=bool(self.warm_start),
            n_jobs=self.n_jobs,
            progress=bool(self.progress),
        )
        search.run()
        prudently = self.choose == "prudent" or (self.choose == "auto" and len(classes) < FEW_CLASSES)
        best = search.prudent() if prudently else search.best()
        self.best_params_ = search.parameters(best)
        self._chosen = template.set_params(**self.best_params_)
        self.best_index_ = search.choices().index(best)
        self.cv_results_ = results_table(search)
        scores = search.trials[best[0]].scores[best[1]]
        self.best_score_ = float(scores.mean())
        self.best_score_std_ = float(scores.std(ddof=1) / np.sqrt(len(scores)))
        self.n_splits_, self.interrupted_ = len(folds), search.interrupted
        return data.total(scalings[self._chosen.get_params()["feature_normalisation"]])

    def _choose_blindly(self, X: npt.NDArray[Any], labels: list[Label], table: ClassTable | None) -> LabelledStatistics:
        why = "without class_vectors" if table is None else "with less than four classes in y"
        warnings.warn(
            f"{why} no classes can be held out, so nothing is tuned: the values nearest to the defaults are fitted",
            UserWarning,
            stacklevel=4,
        )
        template = self._template()
        own = template.get_params(deep=False)
        self.best_params_ = {
            name: _nearest(as_values(values, name), own[name]) for name, values in self._axes().items()
        }
        self._chosen = template.set_params(**self.best_params_)
        self.best_score_ = self.best_score_std_ = float("nan")
        self.best_index_, self.n_splits_, self.interrupted_ = 0, 0, False
        self.cv_results_ = {"params": [dict(self.best_params_)]}
        unit_rows, _ = parse_normalisation(self._chosen.get_params()["feature_normalisation"], "feature_normalisation")
        collector = Collector(table, unit_rows=unit_rows, progress=bool(self.progress))
        collector.add_array(X, labels)
        return collector.result()

    def _folds(self, n_classes: int) -> tuple[list[IntArray], int]:
        """Return the classes that each fold holds out, two at least, and the number of folds of a repeat."""
        cv = self.cv
        if not isinstance(cv, ClassKFold):
            repeats = _REPEATS_OF_FEW if cv is None and n_classes < FEW_CLASSES else 1
            cv = ClassKFold(min(cv or 5, n_classes // 2), n_repeats=repeats, random_state=self.random_state)
        folds = list(cv.split_classes(n_classes))
        sizes = [len(fold) for fold in folds]
        if min(sizes) < 2 or n_classes - max(sizes) < 2:
            raise ValueError(
                f"{cv.n_splits} folds of {n_classes} classes hold out {min(sizes)} to {max(sizes)} of them: there must "
                "be two classes at least on either side"
            )
        return folds, cv.n_splits


def _nearest(values: list[Any], own: Any) -> Any:
    """Return the model's own value of a parameter if it is to be tried, else the nearest one, or the first."""
    if own in values:
        return own
    if not all(isinstance(value, (int, float)) and value > 0 for value in [*values, own]):
        return values[0]
    return min(values, key=lambda value: abs(np.log(value / own)))


_SEARCH_ATTRIBUTES = (
    "best_params_",
    "best_score_",
    "best_score_std_",
    "best_index_",
    "cv_results_",
    "n_splits_",
    "interrupted_",
    "_chosen",
)
