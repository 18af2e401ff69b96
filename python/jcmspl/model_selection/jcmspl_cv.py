"""JCMSPL with its parameters chosen by cross-validation over classes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from jcmspl.methods.jcmspl import JCMSPL, WEIGHTS
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.parameters import AUTO, estimator
from jcmspl.model_selection import path
from jcmspl.model_selection.class_search import BaseClassSearch, ClassSearchCV
from jcmspl.model_selection.folds import FoldedData
from jcmspl.model_selection.grid import Key, as_values
from jcmspl.model_selection.path import PathSearch, chosen_prediction_weight, chosen_share
from jcmspl.model_selection.search import NORMALISATION, Search
from jcmspl.support.arguments import as_count

# Parameters that the model has as well.
_HANDED_ON = (
    "init",
    "max_iter",
    "tol",
    "class_weight",
    "metric",
    "seen_mean_share",
    "seen_penalty",
    "temperature",
    "adaptation_pull",
    "adaptation_temperature",
    "progress",
)


@estimator
class JCMSPLCV(BaseClassSearch):
    """JCMSPL with its parameters chosen by cross-validation over classes.

    For each fold of training classes and each setting a model is fitted to the other classes, and samples of the fold
    are recognised among the fold's classes. The search starts on the path on which JCMSPL is ridge regression of mean
    samples on class vectors (``class_match`` and ``visual_reconstruction`` infinite), for which a fit has a closed
    form. It tries values of ``semantic_reconstruction``, with and without roots and whitening of samples, with some
    shrinkages; then kernels of class vectors, with the best of these; then, unless folds are drawn several times
    because classes are few, weights beside the path and the other spaces. Of all settings that the best is not clearly
    better than, by more than a standard error of the paired differences over folds, the one nearest to the start is
    fitted to all samples. At the end the shares of evidence for prototypes are chosen.

    If a weight, or ``n_concepts``, is named, or ``init="random"``, all combinations of the values are tried instead,
    with some decades of the weights that are not named; of equal ones the setting with the smallest weights is chosen,
    nearest to a model with fewer terms, and if the best weights lie on the edge of the grid, it grows.

    Parameters
    ----------
    semantic_match, class_match, visual_reconstruction, semantic_reconstruction : float or sequence of float, optional
        Values of λ1 to λ4 to try. A single value stays as it is, so that ``class_match=0`` tunes the paper's JCMSPL1.
    n_concepts : int, None or sequence of them
        Values of k to try; None is the number of training classes.
    space : str or sequence of str, default all three
        Where to compare samples and classes. The path is that of the visual space, unless only others are named.
    feature_normalisation, class_normalisation, class_kernel : str or sequence of str, optional
        Values to try, the start first. By default those that :mod:`jcmspl.model_selection.path` lists; in a grid the
        defaults of JCMSPL.
    whitening_shrinkage, kernel_width : float or sequence of float, optional
        Values to try, likewise.
    source_shares : None or sequence of sequences of float, optional
        Values to try, likewise.
    cv : int or ClassKFold, optional
        The number of folds of classes, less if there would not be two classes in each; or how to split the classes. By
        default 5 folds, which are drawn five times if there are less than 20 classes, three times if less than 50.
    extend : int, default 4
        How many times the path or the grid may grow beyond a best value at its end; a grid on several axes at once. A
        step is the factor between the two outermost values. 0: never.
    halving : bool, default False
        In a grid, whether to try all settings with few iterations first and only the best third with more, twice.
        Faster, but the choice may be another one.
    choose : {"auto", "best", "prudent"}, default "auto"
        Take the setting with the highest mean accuracy; or, of all that it is not clearly better than, the one nearest
        to the start of the path, or in a grid to the defaults of JCMSPL. "auto" is prudent on the path, and in a grid
        with less than 20 classes, where the best of so many settings is mostly luck.
    warm_start : bool, default False
        In a grid, whether all fits to a fold start from the codes of its classes after a fit with the defaults of
        JCMSPL, and not from init. Fits that converge end where they would have, in other numbers of iterations.
    ensemble : int, default 1
        How many values of semantic_reconstruction to average, of the best that were tried with the other parameters
        that are chosen (``ensemble_factors`` of JCMSPL). Recognition costs the same.
    cosine_share : float or "auto", default "auto"
        "auto": as in JCMSPL, unless another share of the plain cosine is clearly better; where encoders are found to be
        aligned, unless leaving it out is. All settings whiten there: folds of classes do not tell what classes with
        samples need.
    prediction_count : float or "auto", default "auto"
        "auto": choose how many samples a prediction counts for, from one and from five labelled samples of each
        held-out class.
    init : {"codes", "random"}, default "codes"
        The start of all fits.
    max_iter : int, default 35
        The largest number of iterations of all fits.
    tol : float, default 1e-6
        Of all fits, that with the chosen setting included: it is the one that was found good.
    n_jobs : int, optional
        The number of fits at a time, each in a thread of its own; by default that of the cores.
    random_state : int, RandomState or None, default 0
        Seed of the folds if cv is a number, of the labelled samples that are drawn, and of ``init="random"``.
    progress : bool, default True
        Whether to show progress, on stderr if that is a terminal.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters.
    best_score_ : float
        Their mean accuracy over folds: the mean over the held-out classes of the share of samples recognised among
        these. Chosen as the highest of many, it is too high for an estimate of the accuracy on other classes.
    best_score_stderr_ : float
        The standard error of that mean, from its spread over folds.
    best_index_ : int
        The row of cv_results_ that was chosen.
    cv_results_ : dict of arrays
        In the form of scikit-learn's GridSearchCV: ``params``, ``param_*``, ``split*_test_score``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``; and ``iterations``, the most that a setting was given, less than
        max_iter where halving dropped it. Such settings rank last, as do those whose fit diverged.
    cv_results_table_ : DataFrame
        The same, best first; needs pandas.
    best_estimator_ : JCMSPL
        The fitted model on its own. This estimator has all of its methods and attributes as well.
    n_splits_ : int
        The number of folds.
    interrupted_ : bool
        Whether Ctrl-C ended the search.

    Notes
    -----
    The samples are read once for the statistics of each fold, whose sums are those of the training classes of each
    fold. Eigenbases are computed once for each fold and normalisation and shared by all settings. The samples of
    held-out classes are recognised by many settings in one product.

    Saving keeps the chosen model and not the search: the file loads as :class:`jcmspl.JCMSPL`.

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl import JCMSPLCV
    >>> rng = np.random.default_rng(0)
    >>> attributes, mixing = rng.random((9, 5)), rng.standard_normal((5, 12))
    >>> y = np.repeat(np.arange(9), 10)
    >>> X = attributes[y] @ mixing + 0.2 * rng.standard_normal((90, 12))
    >>> seen = y < 6
    >>> model = JCMSPLCV(cv=3).fit(X[seen], y[seen], class_vectors=attributes)
    >>> sorted(model.best_params_)[:3]
    ['class_kernel', 'class_match', 'class_normalisation']
    >>> bool(model.score(X[~seen], y[~seen]) > 0.7)
    True
    """

    semantic_match: Any = None
    class_match: Any = None
    visual_reconstruction: Any = None
    semantic_reconstruction: Any = None
    n_concepts: Any = None
    space: Any = JCMSPL.GRID["space"]
    feature_normalisation: Any = None
    class_normalisation: Any = None
    whitening_shrinkage: Any = None
    class_kernel: Any = None
    kernel_width: Any = None
    source_shares: Any = None
    init: str = "codes"
    max_iter: int = 35
    tol: float = JCMSPL.tol
    class_weight: Any = None
    metric: Any = JCMSPL.metric
    seen_mean_share: Any = JCMSPL.seen_mean_share
    prediction_count: Any = AUTO
    cosine_share: Any = AUTO
    ensemble: int = 1
    seen_penalty: float = JCMSPL.seen_penalty
    temperature: Any = JCMSPL.temperature
    adaptation_pull: float = JCMSPL.adaptation_pull
    adaptation_temperature: float = JCMSPL.adaptation_temperature

    @property
    def _is_on_path(self) -> bool:
        """Whether the weights are searched along the path: the user named none, nor a parameter that it lacks."""
        named = [getattr(self, name) for name in (*WEIGHTS, "n_concepts")]
        return all(value is None for value in named) and self.init == "codes"

    def _template(self) -> JCMSPL:
        given = {name: getattr(self, name) for name in _HANDED_ON}
        given |= {
            name: getattr(self, name) for name in ("cosine_share", "prediction_count") if getattr(self, name) != AUTO
        }
        return JCMSPL(**given, random_state=_seed(self.random_state) if self.init == "random" else None)

    def _any_model(self) -> Any:
        return vars(self).get("best_estimator_", JCMSPL())

    def _axes(self) -> dict[str, Any]:
        names = (*WEIGHTS, "n_concepts", "space", *_NORMALISATION)
        given = {name: getattr(self, name) for name in names}
        tried = _ON_PATH if self._is_on_path else _IN_GRID
        if (
            not isinstance(self.cosine_share, str) and self.cosine_share
        ):  # for roots of samples there is no plain cosine
            tried = tried | {"feature_normalisation": ("sample_l2+center+whiten", "sample_l2+center_unit")}
        return {name: tried[name] if value is None and name in tried else value for name, value in given.items()}

    def _blind_axes(self) -> dict[str, Any]:
        own = self._template().get_params(deep=False)
        return {name: own[name] if getattr(self, name) is None else values for name, values in self._axes().items()}

    def _search(self, template: ZeroShotClassifier, axes: dict[str, Any], data: FoldedData) -> Search:
        if self.cosine_share == AUTO:
            found = (data.alignment(name) for name in as_values(axes["feature_normalisation"], ""))
            if not any(one is not None and one.is_aligned for one in found):
                template = clone(template).set_params(cosine_share=0.0)  # folds of few classes might find otherwise
        return (PathSearch if self._is_on_path else Search)(template, axes, data, self)

    def _is_prudent(self, n_classes: int) -> bool:
        return self._is_on_path or super()._is_prudent(n_classes)

    def _further_choices(self, search: Search, best: tuple[Key, int], data: FoldedData) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.cosine_share == AUTO:
            found["cosine_share"] = chosen_share(search, best, data)
        if self.prediction_count == AUTO:
            seed, own = _seed(self.random_state), JCMSPL.prediction_count
            found["prediction_count"] = chosen_prediction_weight(search, best, data, own, seed)
        if self.ensemble > 1:
            found["ensemble_factors"] = _best_factors(search, best, self.ensemble)
        return found

    def _check_parameters(self) -> None:
        if not isinstance(self.init, str):
            raise ValueError("init must be 'codes' or 'random': folds have other numbers of classes than an array")
        as_count(self.ensemble, "ensemble")
        super()._check_parameters()


# What is tried of what is not named: in the search along the path, and in a grid.
_ON_PATH: dict[str, Any] = {
    "semantic_match": path.ON_PATH["semantic_match"],
    "class_match": (path.ON_PATH["class_match"], *{weights["class_match"] for weights in path.BESIDE}),
    "visual_reconstruction": (
        path.ON_PATH["visual_reconstruction"],
        *(weights["visual_reconstruction"] for weights in path.BESIDE),
    ),
    "semantic_reconstruction": path.PENALTIES,
    "feature_normalisation": path.FEATURES,
    "class_normalisation": JCMSPL.class_normalisation,
    "whitening_shrinkage": path.SHRINKAGES,
    "class_kernel": path.KERNELS,
    "kernel_width": path.WIDTHS,
}
# all directions of whitened samples are kept
_NORMALISATION = tuple(name for name in NORMALISATION if name != "whitening_components")
_IN_GRID: dict[str, Any] = {name: getattr(JCMSPL, name) for name in _NORMALISATION} | JCMSPL.GRID


def _best_factors(search: Search, best: tuple[Key, int], number: int) -> tuple[float, ...] | None:
    """Return by what to multiply semantic_reconstruction so that the best values beside the chosen one count, too."""
    chosen = search.parameters(best)
    alike = {}
    for choice in search.finished():
        parameters = search.parameters(choice)
        if not 0 < parameters["semantic_reconstruction"] < np.inf:
            continue
        if parameters | {"semantic_reconstruction": chosen["semantic_reconstruction"]} == chosen:
            alike[parameters["semantic_reconstruction"]] = float(search.scores_of(choice).mean())
    if chosen["semantic_reconstruction"] not in alike:
        return None
    values = sorted(alike, key=lambda value: (value != chosen["semantic_reconstruction"], -alike[value]))[:number]
    return tuple(value / chosen["semantic_reconstruction"] for value in values) if len(values) > 1 else None


def _seed(random_state: Any) -> int:
    """Return one seed for all fits, so that they do not depend on the order in which they are made."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def search_for(method: type[Any], fixed: dict[str, Any], **options: Any) -> BaseClassSearch:
    """Return the search for the parameters of a method, of which some may be fixed."""
    if method is JCMSPL:
        return JCMSPLCV(**fixed, **options)
    return ClassSearchCV(method(**seeded(method, fixed, options.get("random_state"))), **options)


def seeded(method: type[Any], fixed: dict[str, Any], seed: Any) -> dict[str, Any]:
    """Return parameters of a method with a seed among them, if it draws something."""
    return {"random_state": seed, **fixed} if "random_state" in {one.name for one in fields(method)} else fixed
