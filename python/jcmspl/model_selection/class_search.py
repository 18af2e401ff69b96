"""Searches choose the parameters of a model on folds of classes, fit it, and hand calls on to it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from jcmspl.core.statistics import Statistics
from jcmspl.data.class_folds import ClassKFold
from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import LabelledStatistics
from jcmspl.data.labels import as_label_list, require_known_classes, some, sorted_labels
from jcmspl.data.samples import Samples
from jcmspl.datasets.class_files import load_classes
from jcmspl.model.bilinear import Bilinear
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.fitted import facts_of
from jcmspl.model.learning import collector_for, learnt, require_parameters
from jcmspl.model_selection.folds import FoldedData
from jcmspl.model_selection.grid import Key, as_values
from jcmspl.model_selection.search import Search, SearchOptions
from jcmspl.support.arguments import IntArray, as_count, one_of
from jcmspl.support.calls import RenamedKeys, attributes_of, changes, current_names, lock_of
from jcmspl.support.exceptions import AlignmentWarning
from jcmspl.support.progress import told
from jcmspl.support.shown import percent_with_error, shown
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from typing_extensions import Self

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

#: With less training classes than this folds hold out so few that the best setting is mostly luck: the choice is a
#: prudent one.
FEW_CLASSES = 20
# How many times folds are drawn, with less than so many classes.
_REPEATS = ((FEW_CLASSES, 5), (50, 3), (math.inf, 1))
# Parameters that every fitted model can change without another fit, besides those of the comparison.
_AFTER_THE_FIT = ("seen_penalty", "temperature", "adaptation_pull", "adaptation_temperature", "progress")


def _where_model_has(name: str) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that takes a method away from searches whose model lacks the method of a name."""
    return cast(Callable[..., Any], available_if(lambda search: hasattr(search._any_model(), name)))


def _reading(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Return a method of a search that calls the one of its model of the same name, if the model has it."""

    @wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = getattr(self._fitted_model(), method.__name__)(*args, **kwargs)
        return result

    return cast(Callable[Concatenate[Any, P], R], _where_model_has(method.__name__)(call))


def _changing(method: Callable[Concatenate[Any, P], Any]) -> Callable[Concatenate[S, P], S]:
    """Return the same for a method that changes the model and returns it: the search returns itself."""

    @wraps(method)
    def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        with lock_of(self):  # a fit of the search would put another model in the place of this one
            getattr(self._fitted_model(), method.__name__)(*args, **kwargs)
        return self

    return cast(Callable[Concatenate[S, P], S], _where_model_has(method.__name__)(call))


@dataclass(kw_only=True, eq=False, repr=False)
class BaseClassSearch(SearchOptions, ClassifierMixin, BaseEstimator):
    """A search over folds of classes. Once it is fitted it has the best model, best_estimator_, and hands calls on."""

    # With metadata routing enabled, as for the models themselves.
    __metadata_request__fit = {"class_vectors": True, "sample_weight": True}  # noqa: RUF012 - how scikit-learn wants it
    __metadata_request__partial_fit = {"class_vectors": True, "sample_weight": True}  # noqa: RUF012
    __metadata_request__predict = {"class_vectors": True, "candidates": True}  # noqa: RUF012
    __metadata_request__predict_proba = {"class_vectors": True, "candidates": True}  # noqa: RUF012
    __metadata_request__decision_function = {"class_vectors": True, "candidates": True}  # noqa: RUF012
    __metadata_request__score = {"class_vectors": False}  # noqa: RUF012

    recogniser = _reading(ZeroShotClassifier.recogniser)
    predict = _reading(ZeroShotClassifier.predict)
    predict_topk = _reading(ZeroShotClassifier.predict_topk)
    predict_proba = _reading(ZeroShotClassifier.predict_proba)
    predict_set = _reading(ZeroShotClassifier.predict_set)
    decision_function = _reading(ZeroShotClassifier.decision_function)
    score = _reading(ZeroShotClassifier.score)
    generalized_curve = _reading(ZeroShotClassifier.generalized_curve)
    explain = _reading(Bilinear.explain)
    transform = _reading(Bilinear.transform)
    get_feature_names_out = _reading(Bilinear.get_feature_names_out)
    reconstruct_semantic = _reading(Bilinear.reconstruct_semantic)
    reconstruct_visual = _reading(Bilinear.reconstruct_visual)
    save = _reading(ZeroShotClassifier.save)  # as a file of the chosen model, without the search that led to it
    calibrate = _changing(ZeroShotClassifier.calibrate)
    adapt = _changing(Bilinear.adapt)
    reset_adaptation = _changing(Bilinear.reset_adaptation)
    calibrate_rejection = _changing(ZeroShotClassifier.calibrate_rejection)
    calibrate_sets = _changing(ZeroShotClassifier.calibrate_sets)
    add_classes = _changing(ZeroShotClassifier.add_classes)
    remove_classes = _changing(ZeroShotClassifier.remove_classes)
    describe_table = _changing(ZeroShotClassifier.describe_table)

    best_estimator_: ClassVar[ZeroShotClassifier]  # of an instance that is fitted; no parameter of the dataclass
    best_params_: ClassVar[dict[str, Any]]

    @changes
    def fit(self, X: Any, y: Any = None, *, class_vectors: Any = None, sample_weight: Any = None) -> Self:
        """Choose the parameters by cross-validation over the classes in y, then fit to all samples.

        Ctrl-C ends the search early: the best setting that was finished on all folds is fitted. If there is none, the
        model stays as it was and KeyboardInterrupt is raised.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            An array, memory map or DataFrame, of dask too: samples are read for the statistics, and again to be
            recognised, so that an iterator will not do.
        y : array_like of shape (n_samples,)
            The label of each sample.
        class_vectors : ClassTable, dict of label -> vector, DataFrame or array_like
            The vector of each class in y and, if you like, of other classes, which become candidates for later. The
            choice does not depend on these. Without class_vectors, or with less than four classes, nothing can be
            chosen: that is warned of, and of the values to try those nearest to the defaults are fitted.
        sample_weight : array_like of shape (n_samples,), optional
            How often each sample counts, in training and in the accuracy within its class where that is held out; 0 is
            as if it were not there.

        Returns
        -------
        self
        """
        self._fit(X, y, class_vectors, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, class_vectors: Any, sample_weight: Any) -> None:
        """Set the results of a search, in one step at its end."""
        self._check_parameters()
        started = time.perf_counter()
        table = None if class_vectors is None else load_classes(class_vectors)
        template, name = self._template(), type(self).__name__
        require_known_classes(template.class_weight, table)
        samples, features = replace(template.reader, name=name).samples(X, y, sample_weight)
        samples.require_rereadable(name, "; choose the parameters on a part that fits in memory")
        if self._may_read_samples(template):
            samples.array(name)  # refused where samples stay on workers
        with told(f"{name}.fit", X) as line:
            best, collected, found = self._choose(samples, table)
            chosen = found["best_params_"]
            rows = samples.coded(collected.labels).labelled_rows() if best.needs == "samples" else None
            if collected.digest is None:  # folds have statistics alone
                collected = replace(collected, digest=samples.digest())
            with warnings.catch_warnings():
                # it was chosen for what it recognises after so many iterations; converged_ tells the rest
                warnings.simplefilter("ignore", ConvergenceWarning)
                if "cosine_share" in chosen:
                    warnings.simplefilter("ignore", AlignmentWarning)
                timings = {"search": time.perf_counter() - started}
                best.state = learnt(best, collected, table, features.columns, timings, rows)
            line.text = f"{type(best).__name__} with {chosen}, {found['best_score_']:.4f} on held-out classes"
        if hasattr(self, "_sklearn_output_config"):
            best.set_output(**self._sklearn_output_config)
        self.__dict__.update(found, best_estimator_=best)

    @changes
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        *,
        class_vectors: Any = None,
        sample_weight: Any = None,
        refit: bool = True,
    ) -> Self:
        """Learn from further samples with the parameters that fit chose.

        The first call of a search that is not fitted chooses them, from the samples of that call alone.

        Parameters
        ----------
        X, y, classes, class_vectors, sample_weight, refit
            As for :class:`jcmspl.JCMSPL`.

        Returns
        -------
        self
        """
        self._template().reader.require_weights_known("partial_fit")
        if hasattr(self, "best_estimator_"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                self.best_estimator_.partial_fit(
                    X, y, classes, class_vectors=class_vectors, sample_weight=sample_weight, refit=refit
                )
            return self
        if classes is not None:
            declared = set(as_label_list(classes, "classes"))
            strangers = [label for label in dict.fromkeys(as_label_list(y)) if label not in declared]
            if strangers:
                raise ValueError(f"y holds labels that are not in classes: {some(strangers)}")
        self._fit(X, y, class_vectors, sample_weight)
        return self

    @_where_model_has("transform")
    def fit_transform(self, X: Any, y: Any = None, *, class_vectors: Any = None, sample_weight: Any = None) -> Any:
        """Fit, then project the same samples into the concept space."""
        return self.fit(X, y, class_vectors=class_vectors, sample_weight=sample_weight).transform(X)

    @_where_model_has("transform")
    def set_output(self, *, transform: Any = None) -> Self:
        """Choose what transform returns, as in scikit-learn: "default", "pandas", "polars" or None, as it is."""
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # which clone copies
            if "best_estimator_" in vars(self):
                self.best_estimator_.set_output(transform=transform)
        return self

    def fit_from_statistics(self, statistics: Statistics, classes: Any = None, *, class_vectors: Any = None) -> Self:
        """Refuse: held-out classes are scored by their samples, which statistics do not have."""
        raise TypeError(
            f"{type(self).__name__} recognises samples of held-out classes, so statistics are not enough: use fit, or "
            "fit_from_statistics of best_estimator_"
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Refuse: files hold the chosen model and not the search."""
        name = type(ZeroShotClassifier.load(path)).__name__
        raise ValueError(f"{path} holds a {name}, not a {cls.__name__}: use jcmspl.load")

    @changes
    def set_params(self, /, **params: Any) -> Self:
        """Set parameters of the search.

        After a fit, what says how samples and classes are compared (space, metric, cosine_share, seen_mean_share,
        prediction_count, seen_penalty, temperature) or adapted, given as a single value, holds for the chosen model at
        once; anything else holds for the next fit.
        """
        params = current_names(params, self.get_params())
        BaseEstimator.set_params(clone(self), **params)  # all is refused before anything is changed
        if "best_estimator_" not in vars(self):
            super().set_params(**params)
            return self
        model = self.best_estimator_
        known = {*model.COMPARISON, *_AFTER_THE_FIT} & {*model.get_params(deep=False)}
        prefix = "" if "estimator" not in self.get_params(deep=False) else "estimator__"
        names = {} if "estimator" in params else {prefix + name: name for name in known}
        tried = {names[name]: as_values(value, name) for name, value in params.items() if name in names}
        now = {name: values[0] for name, values in tried.items() if len(values) == 1 and _is_of_model(name, values[0])}
        require_parameters(clone(model).set_params(**now))
        super().set_params(**params)
        model.set_params(**now)
        return self

    @property
    def cv_results_table_(self) -> Any:
        """cv_results_ as a pandas DataFrame, the chosen setting first, then by rank."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("cv_results_table_ needs the package pandas: use cv_results_, or install it") from None
        check_is_fitted(self)
        table = pd.DataFrame(self.cv_results_)
        rest = table.drop(index=self.best_index_).sort_values("rank_test_score", kind="stable")
        return pd.concat([table.loc[[self.best_index_]], rest])

    def __getattr__(self, name: str) -> Any:
        """Return fitted attributes of the model: classes_, class_table_, visual_projection_, ..."""
        if name.endswith("_") and not name.startswith("_"):
            model = vars(self).get("best_estimator_")
            if model is None:
                raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call fit first")
            return getattr(model, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> Iterable[str]:
        model = vars(self).get("best_estimator_")
        fitted = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")] if model else []
        return sorted({*attributes_of(self), *fitted})

    def __copy__(self) -> Self:
        twin: Self = object.__new__(type(self))
        vars(twin).update(vars(self))  # type: ignore[attr-defined]
        if "best_estimator_" in vars(self):
            twin.__dict__["best_estimator_"] = copy(self.best_estimator_)
        return twin

    _repr_html_inner = ZeroShotClassifier._repr_html_inner
    _repr_mimebundle_ = ZeroShotClassifier._repr_mimebundle_

    def _facts(self) -> dict[str, object]:
        """Return the facts of the search and of its model that a notebook shows."""
        state = dict(vars(self))  # as it is now, whatever other threads do
        if "best_estimator_" not in state:
            return {}
        tried = state["cv_results_"]["params"]
        fixed = [name for name, value in tried[0].items() if all(str(one[name]) == str(value) for one in tried)]
        chosen = {name: value for name, value in state["best_params_"].items() if name not in fixed or len(tried) == 1}
        facts: dict[str, object] = {
            "chosen": ", ".join(f"{name}={shown(value, 40)}" for name, value in chosen.items()),
            "of": f"{len(tried):,} settings tried" + ", interrupted" * state["interrupted_"],
        }
        if state["n_splits_"]:
            found = percent_with_error(state["best_score_"], state["best_score_stderr_"])
            facts["on held-out classes"] = f"{found} per class, over {state['n_splits_']} folds"
        return facts | facts_of(copy(state["best_estimator_"]))

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags = self._any_model().__sklearn_tags__().transformer_tags
        return tags

    # What a search is about.
    def _template(self) -> ZeroShotClassifier:
        """Return the model whose parameters are looked for."""
        raise NotImplementedError

    def _axes(self) -> dict[str, Any]:
        """Return the values to try of each parameter."""
        raise NotImplementedError

    def _fitted_model(self) -> ZeroShotClassifier:
        check_is_fitted(self)
        return self.best_estimator_

    def _any_model(self) -> Any:
        """Return a model of the kind that is looked for, fitted or not, to see what it has."""
        raise NotImplementedError

    def _may_read_samples(self, template: ZeroShotClassifier) -> bool:
        """Whether the model reads samples, with its own parameters or with one of those that are tried."""
        tried = ({name: value} for name, values in self._axes().items() for value in as_values(values, name))
        return any(clone(template).set_params(**one).needs == "samples" for one in ({}, *tried))

    def _check_parameters(self) -> None:
        template = self._template()
        if "class_weight" in self._axes():
            raise ValueError("class_weight cannot be tuned, for all settings share sums of weighted samples: fix it")
        for name, values in self._axes().items():
            for value in as_values(values, name):
                require_parameters(clone(template).set_params(**{name: value}))
        require_parameters(template)
        if self.cv is not None and not isinstance(self.cv, ClassKFold):
            as_count(self.cv, "cv", minimum=2)
        if getattr(self.cv, "test_seen", 0):
            raise ValueError("cv has test_seen, but this search tests on held-out classes alone: leave test_seen out")
        as_count(self.extend, "extend", minimum=0)
        one_of(self.choose, "choose", ("auto", "best", "prudent"))
        if self.n_jobs is not None:
            as_count(self.n_jobs, "n_jobs")

    def _choose(
        self, samples: Samples, table: ClassTable | None
    ) -> tuple[ZeroShotClassifier, LabelledStatistics, dict[str, Any]]:
        """Return the chosen model, the statistics to fit it to, and the results of the search as attributes."""
        template, axes = self._template(), self._axes()
        classes = sorted_labels(label for label, weight in samples.label_counts().items() if weight)
        if table is None or len(classes) < 4:
            return self._choose_blindly(samples, table)
        folds, n_splits = self._folds(len(classes))
        data = FoldedData(samples, classes, table, folds, n_splits)
        axis = axes.get("feature_normalisation", template.feature_normalisation)
        data.read(as_values(axis, "feature_normalisation"), progress=bool(self.progress))
        search = self._search(template, axes, data)
        search.run()
        prudently = self.choose == "prudent" or (self.choose == "auto" and self._is_prudent(len(classes)))
        best = search.prudent() if prudently else search.best()
        scores = search.scores_of(best)
        parameters: dict[str, Any] = RenamedKeys(search.parameters(best))
        interrupted = search.interrupted
        if not interrupted:
            try:
                parameters |= self._further_choices(search, best, data)
            except KeyboardInterrupt:
                interrupted = True
                warn_user("interrupted: the setting is chosen, and the rest has its defaults", RuntimeWarning)
        found = {
            "best_params_": parameters,
            "best_index_": search.choices().index(best),
            "cv_results_": RenamedKeys(search.results()),
            "best_score_": float(scores.mean()),
            "best_score_stderr_": float(scores.std(ddof=1) / np.sqrt(len(scores))),
            "n_splits_": len(folds),
            "interrupted_": interrupted,
        }
        chosen = template.set_params(**parameters)
        return chosen, data.total(chosen.feature_normalisation), found

    def _search(self, template: ZeroShotClassifier, axes: dict[str, Any], data: FoldedData) -> Search:
        return Search(template, axes, data, self)

    def _is_prudent(self, n_classes: int) -> bool:
        """Whether to stay near the defaults where nothing is clearly better."""
        return n_classes < FEW_CLASSES

    def _further_choices(self, search: Search, best: tuple[Key, int], data: FoldedData) -> dict[str, Any]:
        """Return parameters that are chosen when the rest is."""
        return {}

    def _choose_blindly(
        self, samples: Samples, table: ClassTable | None
    ) -> tuple[ZeroShotClassifier, LabelledStatistics, dict[str, Any]]:
        why = "without class_vectors" if table is None else "with less than four classes in y"
        warn_user(
            f"{why} no classes can be held out, so nothing is tuned: the values nearest to the defaults are fitted",
            UserWarning,
        )
        template = self._template()
        own = template.get_params(deep=False)
        parameters = {name: _nearest(as_values(values, name), own[name]) for name, values in self._blind_axes().items()}
        found = {
            "best_params_": parameters,
            "best_index_": 0,
            "cv_results_": {"params": [dict(parameters)]},
            "best_score_": float("nan"),
            "best_score_stderr_": float("nan"),
            "n_splits_": 0,
            "interrupted_": False,
        }
        chosen = template.set_params(**parameters)
        return chosen, samples.collected(collector_for(chosen, table)), found

    def _blind_axes(self) -> dict[str, Any]:
        """Return the values to choose from where nothing can be held out."""
        return self._axes()

    def _folds(self, n_classes: int) -> tuple[list[IntArray], int]:
        """Return the classes that each fold holds out, two at least, and the number of folds of a repeat."""
        cv = self.cv
        if not isinstance(cv, ClassKFold):
            repeats = 1 if cv is not None else next(times for below, times in _REPEATS if n_classes < below)
            cv = ClassKFold(min(cv or 5, n_classes // 2), n_repeats=repeats, random_state=self.random_state)
        folds = list(cv.split_classes(n_classes))
        sizes = [len(fold) for fold in folds]
        if min(sizes) < 2 or n_classes - max(sizes) < 2:
            raise ValueError(
                f"{cv.n_splits} folds of {n_classes} classes hold out {min(sizes)} to {max(sizes)} of them: there must "
                "be two classes at least on either side"
            )
        return folds, cv.n_splits


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


def _is_of_model(name: str, value: Any) -> bool:
    """Whether a value is one that a model can have: "auto" tells a search to choose, but for what it does not try."""
    return name in ("temperature", "seen_mean_share") or not isinstance(value, str) or value != "auto"


def _nearest(values: list[Any], own: Any) -> Any:
    """Return the model's own value of a parameter if it is to be tried, else the nearest one, or the first."""
    if own in values:
        return own
    if not all(isinstance(value, (int, float)) and value > 0 for value in [*values, own]):
        return values[0]
    return min(values, key=lambda value: abs(np.log(value / own)))
