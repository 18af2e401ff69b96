"""The search for the best parameters over folds of classes, for any model of this package."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone

from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.learning import Monitor, warm_start
from jcmspl.model.parameters import weight_names
from jcmspl.model.recogniser import Recogniser
from jcmspl.model_selection.folds import FoldedData, PreparedFold
from jcmspl.model_selection.grid import Grid, Key
from jcmspl.support.arguments import Float64Array
from jcmspl.support.exceptions import DivergenceError
from jcmspl.support.machine import one_blas_thread, usable_cores
from jcmspl.support.progress import Progress, logger
from jcmspl.support.warn import warn_user

T = TypeVar("T")

NORMALISATION = (
    "feature_normalisation",
    "class_normalisation",
    "whitening_shrinkage",
    "whitening_components",
    "class_kernel",
    "kernel_width",
    "source_shares",
)

# Settings that are fitted before they are scored together, and the bytes that their weights may take. Ctrl-C while
# they are scored loses them, and a memory map is read once for each such batch.
_BATCH_SETTINGS, _BATCH_BYTES = 27, 2**28
# Successive halving: all settings get the first share of the iterations, the best third of them the next, ...
_RUNGS, _KEPT = (0.04, 0.2), 1 / 3
# A fold is prepared while so many fits are made to each of the others.
_LAG = 4
# Means over folds that differ by less are equal but for rounding.
_TIE_DIGITS = 10


@dataclass(kw_only=True, eq=False, repr=False)
class SearchOptions:
    """How to search: what the searches of this package have for parameters in common."""

    cv: Any = None
    extend: int = 4
    halving: bool = False
    choose: str = "auto"
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = 0
    progress: bool = True


@dataclass(frozen=True)
class Trial:
    """The accuracies, (variants of comparison, folds), of a setting, after at most so many iterations (None: all).

    ``round`` is how many times the grid had grown before.
    """

    scores: Float64Array
    iterations: int | None
    round: int

    @property
    def best(self) -> float:
        """The best mean over folds; minus infinity if the fit diverged on any."""
        return float(np.nan_to_num(self.scores.mean(axis=1), nan=-np.inf).max())


def is_clearly_better(scores: Float64Array, others: Float64Array, n_splits: int) -> bool:
    """Whether accuracies on folds are higher by more than a standard error of the differences.

    Folds that are drawn again hold out the same classes in other company: they make the differences more certain, but
    do not count as further ones.
    """
    gains = scores - others
    error = float(gains.std(ddof=1)) / math.sqrt(n_splits)
    return float(gains.mean()) > error + 10.0**-_TIE_DIGITS


class _Stopped(Exception):
    """A fit in another thread was told to stop."""


class Search:
    """Scores settings over folds, keeps what is known at Ctrl-C, and chooses.

    Parameters of the model count where the axes of the grid have none.
    """

    #: Whether fits iterate, so that settings can be given up after a few iterations, and others start near a result.
    ITERATES = True

    def __init__(
        self, model: ZeroShotClassifier, axes: dict[str, Any], data: FoldedData, options: SearchOptions
    ) -> None:
        free = {*model.COMPARISON} - {*model.FITTED_FOR}
        learning = {name: values for name, values in axes.items() if name not in free}
        # normalisations first, so that settings of the same one follow each other and share its eigenbases
        learning = {name: learning[name] for name in sorted(learning, key=lambda name: name not in NORMALISATION)}
        self.grid = Grid(learning, weight_names(model))
        comparisons = Grid({name: values for name, values in axes.items() if name in free}, ())
        self.variants = [comparisons.setting(key) for key in comparisons.keys()]  # noqa: SIM118 - not a dict
        self.trials: dict[Key, Trial] = {}
        self.interrupted = False
        self.max_iter: int | None = getattr(model, "max_iter", None)
        self._round = 0
        self._model, self._data, self._options = model, data, options
        # of one normalisation at a time: eigenbases take memory
        self._folds: list[_Once] = []
        self._folds_for: tuple[Any, ...] | None = None

    def run(self) -> None:
        """Try settings. KeyboardInterrupt passes only if none of them was finished."""
        try:
            self._explore()
        except KeyboardInterrupt:
            if not self.finished():
                raise
            self.interrupted = True
            n_settings = len({key for key, _ in self.finished()})
            warn_user(
                f"interrupted: the choice is among the {n_settings} settings that were finished on all folds",
                RuntimeWarning,
            )

    def _explore(self) -> None:
        """Try the grid, then let it grow."""
        self._try(self.grid.keys())
        while self._round < self._options.extend:
            best, _ = self.best()
            new = self.grid.beyond(best)
            if not new or self.trials[best].best >= 1:
                break
            self._round += 1
            self._try(new)

    def best(self) -> tuple[Key, int]:
        """Return the best setting and variant; of equal ones the simplest of those that were tried first."""
        return min(self.finished(), key=self._preference)

    def prudent(self) -> tuple[Key, int]:
        """Return, of all that the best is not clearly better than, the one nearest to the model's own parameters.

        With few classes the best of hundreds of settings is the luckiest of them: what is not clearly worse but nearer
        to settings known to be good elsewhere recognises other classes better.
        """
        best, n_splits = self.scores_of(self.best()), self._data.n_splits
        good = [one for one in self.finished() if not is_clearly_better(best, self.scores_of(one), n_splits)]
        return min(good, key=lambda choice: (self._distance(choice), self._preference(choice)))

    def scores_of(self, choice: tuple[Key, int]) -> Float64Array:
        """Return the accuracies of a choice on each fold."""
        return np.asarray(self.trials[choice[0]].scores[choice[1]])

    def _distance(self, choice: tuple[Key, int]) -> float:
        """Return how far a choice is from the model's own parameters: decades of each weight, else 1 if different."""
        own = self._model.get_params(deep=False)
        total = 0.0
        for name, value in self.parameters(choice).items():
            if value == own[name]:
                continue
            weights = name in self.grid.weights and value > 0 and own[name] > 0
            total += abs(math.log10(value / own[name])) if weights else 1.0
        return round(total, _TIE_DIGITS)

    def parameters(self, choice: tuple[Key, int]) -> dict[str, Any]:
        """Return a choice as parameters of the model."""
        key, variant = choice
        return self.grid.setting(key) | self.variants_of(key)[variant]

    def variants_of(self, key: Key) -> list[dict[str, Any]]:
        """Return the ways to compare that are tried with a setting."""
        return self.variants

    def choices(self) -> list[tuple[Key, int]]:
        """Return all settings and variants that have scores, in the order of trial."""
        return [(key, variant) for key in self.trials for variant in range(len(self.variants_of(key)))]

    def results(self) -> dict[str, Any]:
        """Return the scores of all settings that were tried, a row for each, in the form of GridSearchCV."""
        choices = self.choices()
        scores = np.array([self.scores_of(choice) for choice in choices])
        params = [self.parameters(choice) for choice in choices]
        iterations = [self.trials[key].iterations for key, _ in choices]
        table: dict[str, Any] = {"params": params}
        for name in params[0]:
            column = np.empty(len(params), dtype=object)
            for row, setting in enumerate(params):  # one by one, for a value may be a tuple
                column[row] = setting[name]
            table[f"param_{name}"] = column
        table |= {f"split{fold}_test_score": scores[:, fold] for fold in range(scores.shape[1])}
        table["mean_test_score"], table["std_test_score"] = scores.mean(axis=1), scores.std(axis=1)
        # equal scores share the first rank; what was dropped comes last (accuracies lie between 0 and 1)
        handicap = np.array([0 if budget is None else 2 for budget in iterations])
        order = np.nan_to_num(handicap - np.round(table["mean_test_score"], _TIE_DIGITS), nan=4.0)
        table["rank_test_score"] = rankdata(order, method="min").astype(np.int32)
        if self.max_iter is not None:
            table["iterations"] = np.array([self.max_iter if budget is None else budget for budget in iterations])
        return table

    def finished(self) -> list[tuple[Key, int]]:
        """Return the choices that had all the iterations they may have and did not diverge."""
        whole = (choice for choice in self.choices() if self.trials[choice[0]].iterations is None)
        return [choice for choice in whole if np.isfinite(self.scores_of(choice)).all()]

    def _preference(self, choice: tuple[Key, int]) -> tuple[Any, ...]:
        """Return the sort key that puts the best choice first.

        Where the grid has grown onto a plateau, values beyond its edge are no better than those on it.
        """
        key, variant = choice
        mean = round(float(self.scores_of(choice).mean()), _TIE_DIGITS)
        setting = self.grid.setting(key)
        sign = -1 if self._model.HEAVY_IS_SIMPLE else 1
        weights = tuple(sign * setting[name] for name in self.grid.weights)
        others = tuple(
            (value or 0) if name == "n_concepts" else self.grid.axes[name].index(value)
            for name, value in setting.items()
            if name not in self.grid.weights
        )
        return -mean, self.trials[key].round, weights, others, variant

    def _try(self, keys: list[Key]) -> None:
        """Score settings on all folds, by successive halving if that is wanted."""
        if self._options.halving and self.max_iter is not None and self.ITERATES:
            for share in _RUNGS:
                budget = math.ceil(share * self.max_iter)
                if budget >= self.max_iter or len(keys) < 4:
                    break
                self._score(keys, budget)
                keys = sorted(keys, key=lambda key: -self.trials[key].best)[: math.ceil(len(keys) * _KEPT)]
        self._score(keys, None)
        if not self.finished():
            raise DivergenceError("the fit diverged with every setting that was tried")

    def _score(self, keys: list[Key], iterations: int | None) -> None:
        with (
            Progress("tuning", len(keys) * self._data.n_folds, "fits", enabled=bool(self._options.progress)) as line,
            workers(self._options.n_jobs or usable_cores()) as pool,
        ):
            for batch in self._batches(keys):
                scores = self._scores(batch, iterations, pool, line, keys.index(batch[0]))
                self.trials.update({key: Trial(values, iterations, self._round) for key, values in scores.items()})
                logger.debug("tuning: %d of %d settings on %d folds", len(scores), len(keys), self._data.n_folds)
                if len(scores) < len(batch):
                    raise KeyboardInterrupt

    def _batches(self, keys: list[Key]) -> Iterator[list[Key]]:
        candidates = max(len(classes) for classes in self._data.held_out)
        for _, group in itertools.groupby(keys, lambda key: (self._normalisation_of(key), self.variants_of(key))):
            alike = list(group)
            size = 8 * self._data.n_features * candidates * len(self.variants_of(alike[0])) * self._data.n_folds
            most = int(np.clip(_BATCH_BYTES // size, 1, _BATCH_SETTINGS))
            yield from (alike[first : first + most] for first in range(0, len(alike), most))

    def _normalisation_of(self, key: Key) -> tuple[Any, ...]:
        """Return all that decides how samples and class vectors are normalised."""
        setting = self.grid.setting(key)
        per_axis = clone(self._model).set_params(**setting).treats_axes_separately  # another whitening
        return (*(setting.get(name) for name in NORMALISATION), per_axis)

    def _scores(
        self, keys: list[Key], iterations: int | None, pool: Pool, line: Progress, before: int
    ) -> dict[Key, Float64Array]:
        """Return the accuracies of settings that share a normalisation; after Ctrl-C, of those that were fitted."""
        n_folds = self._data.n_folds
        fitted: list[list[Recogniser] | None] = []
        try:
            self._prepare(keys[0])
            variants = self.variants_of(keys[0])
            settings = itertools.product(keys, range(n_folds))
            jobs = ((self._recognisers, key, variants, fold, iterations, pool.stop) for key, fold in settings)
            order = _interleaved(len(keys), n_folds, pool.n_threads)
            for recognisers in pool.results(jobs, order):
                fitted.append(recognisers)
                line.update(before * n_folds + len(fitted))
        except KeyboardInterrupt:
            if len(fitted) < n_folds:
                raise
            pool.cancel()
        n_settings = len(fitted) // n_folds
        of_folds = (fitted[fold : n_settings * n_folds : n_folds] for fold in range(n_folds))
        n_variants = len(self.variants_of(keys[0]))
        columns = self._accuracies(list(of_folds), n_variants, pool)
        return dict(zip(keys[:n_settings], np.stack(columns, axis=2), strict=True))

    def scores_with(self, choice: tuple[Key, int], variants: list[dict[str, Any]]) -> Float64Array:
        """Return the accuracies, (variants, folds), of a setting with other ways to compare."""
        key, variant = choice
        ways = [self.variants_of(key)[variant] | other for other in variants]
        with workers(self._options.n_jobs or usable_cores()) as pool:
            self._prepare(key)
            jobs = ((self._recognisers, key, ways, fold, None, pool.stop) for fold in range(self._data.n_folds))
            fitted = list(pool.results(jobs))
            scored = self._accuracies([[own] for own in fitted], len(ways), pool)
            return np.stack([scores[0] for scores in scored], axis=1)

    def of_fitted_folds(
        self, choice: tuple[Key, int], function: Callable[[int, Any, Float64Array, float], T]
    ) -> list[T]:
        """Return the values of a function for all folds.

        It is given the number of the fold, the model that a choice is there, the vectors of held-out classes, and the
        length of z, and is called in several threads.
        """
        key, variant = choice

        def of_fold(number: int) -> T:
            fold, _ = self._folds[number].get()
            model = clone(self._model).set_params(**self.grid.setting(key), **self.variants_of(key)[variant])
            model = fold.fitted(model, Monitor(wants_objective=False))
            return function(number, model, fold.candidates.vectors, fold.training.sample_length)

        with workers(self._options.n_jobs or usable_cores()) as pool:
            self._prepare(key)
            return list(pool.results((of_fold, number) for number in range(self._data.n_folds)))

    @property
    def metric(self) -> Any:
        """How samples and classes are compared."""
        return getattr(self._model, "metric", None)

    def _prepare(self, key: Key) -> None:
        """Forget the folds of another normalisation; those of this one are prepared when they are asked for."""
        normalisation = self._normalisation_of(key)
        if normalisation == self._folds_for:
            return
        model = clone(self._model).set_params(**self.grid.setting(key))
        self._folds = [_Once(self._prepared, fold, model) for fold in range(self._data.n_folds)]
        self._folds_for = normalisation

    def _prepared(self, number: int, model: ZeroShotClassifier) -> tuple[PreparedFold, dict[str, Any]]:
        """Return a fold and the parameters that fits to it start with."""
        fold = self._data.prepared(number, model)
        warm = self._options.warm_start and self.ITERATES
        return fold, warm_start(clone(self._model), fold.prepared, fold.training) if warm else {}

    def _recognisers(
        self, key: Key, variants: list[dict[str, Any]], fold: int, iterations: int | None, stop: threading.Event
    ) -> list[Recogniser] | None:
        """Fit a setting to a fold; None if it diverges."""

        def watch(done: int, value: float) -> None:
            if stop.is_set():
                raise _Stopped

        if stop.is_set():
            raise _Stopped
        prepared: PreparedFold
        prepared, start = self._folds[fold].get()
        model = clone(self._model).set_params(**self.grid.setting(key))
        if iterations is not None:
            model.set_params(max_iter=iterations)
        if getattr(model, "n_concepts", None) is None:  # a start fits the number of concepts that it was found with
            model.set_params(**start)
        try:
            return prepared.recognisers(model, variants, Monitor(watch, watch, wants_objective=False))
        except DivergenceError:
            return None

    def _accuracies(
        self, fitted: list[list[list[Recogniser] | None]], n_variants: int, pool: Pool
    ) -> list[Float64Array]:
        """Return the accuracies, (settings, variants), on each fold; NaN where the fit diverged."""
        every = [[one for recognisers in of_fold for one in recognisers or ()] for of_fold in fitted]
        columns = []
        for of_fold, found in zip(fitted, self._data.accuracies_of_folds(every, pool), strict=True):
            scores = np.full((len(of_fold), n_variants), np.nan)
            converged = [i for i, recognisers in enumerate(of_fold) if recognisers is not None]
            scores[converged] = found.reshape(len(converged), n_variants)
            columns.append(scores)
        return columns


def _interleaved(n_settings: int, n_folds: int, n_threads: int) -> list[int]:
    """Return the order of fits, of which those of a setting to all folds follow each other, for several threads.

    Folds take turns, so that fits to those that are prepared fill the time until the last ones are: while these are
    prepared, other threads have no fold left to prepare, and the first fits to them come later.
    """
    first_of_last = n_folds - n_folds % n_threads

    def rank(job: int) -> tuple[int, bool, int]:
        setting, fold = divmod(job, n_folds)
        comes_later = fold >= first_of_last and 0 < setting < _LAG
        return (_LAG - 1 if comes_later else setting), comes_later, job

    return sorted(range(n_settings * n_folds), key=rank)


class _Once:
    """A value that is computed by the first thread that asks, while others that ask wait."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call: Callable[[], Any] | None = partial(function, *arguments)
        self._lock = threading.Lock()

    def get(self) -> Any:
        """Return it."""
        with self._lock:
            if self._call is not None:
                self._result = self._call()
                self._call = None
            return self._result


class Pool:
    """Runs functions in several threads, or in this one, and gives their results in order."""

    def __init__(self, executor: ThreadPoolExecutor | None, n_threads: int = 1) -> None:
        self._executor, self.n_threads = executor, n_threads
        self._running: list[Future[Any]] = []
        self.stop = threading.Event()

    def results(self, jobs: Iterable[tuple[Any, ...]], order: Iterable[int] | None = None) -> Iterator[Any]:
        """Yield the result of each job, a function and its arguments; several threads start them in a given order."""
        if self._executor is None:
            return (function(*arguments) for function, *arguments in jobs)
        given = list(jobs)
        started = {number: self._executor.submit(*given[number]) for number in order or range(len(given))}
        self._running = [started[number] for number in range(len(given))]
        return (future.result() for future in self._running)

    def cancel(self) -> None:
        """Stop what runs and forget what waits; later jobs are taken again."""
        self.stop.set()
        for future in self._running:
            future.cancel()
        for future in self._running:
            if not future.cancelled():
                future.exception()
        self.stop.clear()


@contextmanager
def workers(n_jobs: int) -> Iterator[Pool]:
    """Give a pool of threads, each with a BLAS of one thread: fits are too small to be shared between cores."""
    with one_blas_thread(), ThreadPoolExecutor(n_jobs) as executor:
        pool = Pool(executor if n_jobs > 1 else None, n_jobs)
        try:
            yield pool
        except BaseException:
            pool.cancel()
            raise
