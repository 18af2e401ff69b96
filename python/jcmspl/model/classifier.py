"""The classifier that users call, whatever the method: each call is handed to the part that does the work.

Its fitted attributes are in :mod:`jcmspl.model.fitted`, its parameters and what a method implements in
:mod:`jcmspl.model.method`, its prediction methods in :mod:`jcmspl.model.predictor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin

from jcmspl.core.statistics import Statistics
from jcmspl.datasets.splits import HeldOut
from jcmspl.model import calibration, known_classes, learning, partial_learning, prediction_sets, rejection
from jcmspl.model.calibration import Drawing
from jcmspl.model.fitted import REPLACES_CALIBRATED, FittedAttributes, described, facts_of
from jcmspl.model.method import Method
from jcmspl.model.persistence import load_model, save_model
from jcmspl.model.predictor import Predictor
from jcmspl.support.calls import attributes_of, by_name, changes, current_names, lock_of, settled
from jcmspl.support.shown import Card

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(kw_only=True, eq=False, repr=False)
class ZeroShotClassifier(Predictor, Method, FittedAttributes, ClassifierMixin, BaseEstimator):
    """The classifier that all methods are: it learns from some classes and recognises others by their vectors.

    :class:`~jcmspl.model.bilinear.Bilinear` and :class:`~jcmspl.model.kinds.Embedding` ask for less than
    :class:`~jcmspl.model.method.Method` where a method is of that kind.

    The state of a fitted model is one frozen object, :class:`~jcmspl.model.fitted.FittedModel`. A method that changes
    the model assigns a new one in a single step; a method that reads takes the present one first.
    """

    # With metadata routing enabled: class vectors belong to fit and to the predictions they are given for. The score of
    # a fold in cross-validation must not take them for its candidates.
    __metadata_request__fit: ClassVar = {"class_vectors": True, "sample_weight": True}
    __metadata_request__partial_fit: ClassVar = {"class_vectors": True, "sample_weight": True}
    __metadata_request__predict: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__predict_proba: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__decision_function: ClassVar = {"class_vectors": True, "candidates": True}
    __metadata_request__score: ClassVar = {"class_vectors": False}

    @classmethod
    @cache  # a search asks thousands of times, and scikit-learn inspects the signature each time
    def _get_param_names(cls) -> list[str]:
        return list(super()._get_param_names())

    @changes
    def fit(self, X: Any, y: Any = None, *, class_vectors: Any = None, sample_weight: Any = None) -> Self:
        """Learn from labelled samples.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features), or iterable of chunks
            Arrays of any layout, memory maps and DataFrames; float32 is not converted. Chunks, (X, y) or
            (X, y, sample_weight), are read one at a time.
        y : array_like of shape (n_samples,)
            The label of each sample; None if X gives chunks.
        class_vectors : ClassTable, dict of label -> vector, table, array_like or the path of a file
            The vector of each class in y and, if you like, of other classes, which become candidates for later. The
            index of a DataFrame holds the labels; the labels of an array are its row numbers. In cross-validation
            pass a ClassTable: scikit-learn cuts up other forms that are as long as X. By default each class gets a
            dimension of its own, which makes this a plain supervised classifier.
        sample_weight : array_like of shape (n_samples,), optional
            How often each sample counts. A class whose samples all weigh 0 is not a training class.
        """
        self._fitted = learning.fitted_to(settled(self), X, y, class_vectors, sample_weight)
        return self

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
        """Learn from further samples; the result is that of one fit to all samples so far.

        Parameters
        ----------
        X, y
            As for fit.
        classes : array_like, optional
            Labels that may occur, now and in later calls; others in y are then refused. By default any may.
        class_vectors : optional
            As for fit; only classes without a vector so far need one.
        sample_weight : optional
            As for fit.
        refit : bool, default True
            False: only collect the samples, and leave the solution until a later call, which saves time with many
            chunks. The first solution needs samples of two classes. A fitted model recognises new classes at once,
            by their vectors and samples (see :meth:`add_classes`).
        """
        model = settled(self)
        self._fitted = partial_learning.fitted_to_more(model, X, y, classes, class_vectors, sample_weight, refit=refit)
        return self

    @changes
    def fit_from_statistics(self, statistics: Statistics, classes: Any = None, *, class_vectors: Any = None) -> Self:
        """Learn from statistics that were collected elsewhere, and perhaps merged.

        Parameters
        ----------
        statistics : Statistics
            Made with ``unit_rows=True`` and ``power=True`` if ``feature_normalisation`` has ``sample_l2`` and ``power``
            in it. Classes without samples are left out.
        classes : array_like of shape (statistics.n_classes,), optional
            The labels of the class numbers of the statistics; by default the numbers themselves.
        class_vectors
            As for fit.
        """
        self._fitted = learning.fitted_to_statistics(settled(self), statistics, classes, class_vectors)
        return self

    @changes
    def set_params(self, /, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; those that matter after a fit hold at once, others for the next one.

        ``seen_penalty`` replaces a calibrated one, in all spaces; thresholds for rejection among seen and unseen
        classes are forgotten with it. ``adaptation_pull`` and ``adaptation_temperature`` replace calibrated constants.
        Assigning an attribute, as in ``model.seen_penalty = 0.1``, does the same.
        """
        params = current_names(params, self._get_param_names())
        twin = settled(self)
        BaseEstimator.set_params(twin, **params)  # all is refused before anything is changed
        self.__dict__.update({name: vars(twin)[name] for name in params}, _fitted=twin._fitted)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in REPLACES_CALIBRATED or self._fitted.arrays is None:
            super().__setattr__(name, value)
            return
        with lock_of(self):
            self.__dict__.update({name: value, "_fitted": self._fitted.without_calibrated(name)})

    @changes
    def add_classes(self, class_vectors: Any = None, X: Any = None, y: Any = None, *, replace: bool = False) -> Self:
        """Make further classes known to a fitted model, by name, vector and samples; they are recognised at once.

        The solution stays the same. In the visual space of a bilinear method a few labelled samples tell where a class
        lies, together with the model's prediction (prediction_count says how much that counts).

        Parameters
        ----------
        class_vectors : ClassTable, dict of label -> vector or DataFrame
            May be left out if there are samples of classes that the model knows already.
        X, y : optional
            Labelled samples, as for fit, of classes that are added or that the model knows but was not trained on. They
            are added to those of earlier calls, and to the statistics, so that a later :meth:`partial_fit` learns
            from them.
        replace : bool, default False
            Whether a class that the model knows already, but was not trained on, may get a new vector; its samples are
            kept.
        """
        self._fitted = known_classes.extended(self._fitted_twin(), class_vectors, X, y, may_replace=replace)
        return self

    @changes
    def remove_classes(self, labels: Any) -> Self:
        """Make a fitted model forget classes that it was not trained on: they are candidates no longer.

        The solution, a calibrated bias, thresholds and an adaptation stay the same. A removed class may be added again.
        Training classes cannot be removed, for the model is made of them: leave them out of the ``candidates`` of a
        call.

        Parameters
        ----------
        labels : sequence or set of labels
            Of ``unseen_classes_``. Samples that the model was given of them (:meth:`add_classes`) are forgotten as
            well. If these are part of its statistics, from which they cannot be taken out, the model forgets its
            statistics, too: it predicts as before, but :meth:`partial_fit` cannot go on.
        """
        self._fitted = known_classes.without(self._fitted_twin()._fitted, labels)
        return self

    @changes
    def describe_table(
        self,
        *,
        column_names: Sequence[str] | None = None,
        imputed_values: npt.ArrayLike | None = None,
        held_out: HeldOut | None = None,
    ) -> Self:
        """Record how the table of training samples was read, so that other tables can be read in the same way.

        ``jcmspl fit`` does so. A later ``fit`` forgets it.

        Parameters
        ----------
        column_names : sequence of str, optional
            The columns of the table that are features, in order: ``column_names_``.
        imputed_values : array_like of shape (n_features,), optional
            The replacements of missing values: ``imputed_values_``.
        held_out : HeldOut, optional
            How test samples were drawn from the table: ``held_out_``.
        """
        self._fitted = described(self._fitted_twin()._fitted, column_names, imputed_values, held_out)
        return self

    @changes
    def calibrate(
        self,
        X: Any,
        y: Any,
        *,
        n_splits: int | None = None,
        held_out: float = 0.2,
        random_state: Any = 0,
        adaptation: bool = False,
    ) -> Self:
        """Choose the bias on training classes, and the temperature of probabilities, on training data alone.

        Training classes take turns in the part of unseen ones: for each fold of classes a model is fitted to the
        others, and samples of both kinds are recognised among all of them. The bias that gives the highest harmonic
        mean of the two per-class accuracies, in the mean over folds, becomes seen_penalty_. The temperature with the
        lowest log loss is that of temperature="auto" from now on, for seen, unseen and all candidates each
        (``temperatures_``); it stays near the usual one where folds disagree. Both are chosen for each space, for the
        metric of the model. With fewer than 100 classes folds are drawn up to four times, by methods on statistics.

        Parameters
        ----------
        X, y
            Samples of training classes, usually the training data.
        n_splits : int, optional
            The number of folds of classes. By default such that a fold holds out the same share of classes as is unseen
            among those that the model knows; 4 if it knows none.
        held_out : float, default 0.2
            The share of the samples of the other classes that is kept for testing.
        random_state : int, Generator, RandomState or None, default 0
        adaptation : bool, default False
            Whether to choose the constants of ``adapt`` as well, adaptation_constants_: each fold's model is adapted to
            the samples of the classes that it was not trained on. Constants other than adaptation_pull and
            adaptation_temperature are chosen if they recognise more, by more than a standard error over the folds.
        """
        drawing = Drawing(n_splits, held_out, random_state, repeated=not adaptation)
        self._fitted = calibration.calibrated(self._fitted_twin(), X, y, drawing, adaptation=adaptation)
        return self

    @changes
    def calibrate_rejection(
        self,
        X: Any,
        y: Any,
        *,
        max_false_rejection: float = 0.05,
        n_splits: int | None = None,
        held_out: float = 0.2,
        random_state: Any = 0,
    ) -> Self:
        """Choose the threshold of ``predict(..., reject="auto")``, on training data alone.

        Training classes take turns in the part of unseen ones: for each fold of classes a model is fitted to the
        others. Samples of the fold are looked at twice, with their class among the candidates, and without it, as
        strangers. The threshold is the highest that rejects no more than a share of the former. It rises for samples
        that score high for training classes, if that tells strangers better (docs/trust.md). One is chosen for each
        space and for each group of candidates (seen, unseen, all), for the metric of the model and its bias on seen
        classes: calibrate that first. ``rejection_`` has them, with the share of strangers that they reject.

        Parameters
        ----------
        X, y
            Samples of training classes, usually the training data; of four classes at least.
        max_false_rejection : float, default 0.05
            The share of samples of candidates that may be rejected.
        n_splits, held_out, random_state
            As for :meth:`calibrate`; each fold holds out two classes at least.
        """
        model, drawing = self._fitted_twin(), Drawing(n_splits, held_out, random_state)
        self._fitted = rejection.with_thresholds(model, X, y, drawing, max_false_rejection=max_false_rejection)
        return self

    @changes
    def calibrate_sets(
        self, X: Any, y: Any, *, n_splits: int | None = None, held_out: float = 0.2, random_state: Any = 0
    ) -> Self:
        """Calibrate the sets of :meth:`predict_set`, on training data alone.

        Training classes take turns in the part of unseen ones, as in :meth:`calibrate`; their samples say how
        improbable the right class may be. The promise counts classes, not samples: with K training classes sets cover
        what was asked for in the mean over draws of classes, and less, which ``set_calibration_`` tells, with 95 %
        confidence. One calibration is made for each space and each group of candidates (seen, unseen, all), with the
        temperatures and the bias of the model: call :meth:`calibrate` first.

        Parameters
        ----------
        X, y
            Samples of training classes, usually the training data; of four classes at least.
        n_splits, held_out, random_state
            As for :meth:`calibrate`; each fold holds out two classes at least.
        """
        drawing = Drawing(n_splits, held_out, random_state, at_least=2, repeated=True)
        self._fitted = prediction_sets.with_sets(self._fitted_twin(), X, y, drawing)
        return self

    @by_name
    def save(self, path: str | Path, *, statistics: bool = False, overwrite: bool = False) -> None:
        """Write the fitted model to a safetensors file, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Any name but that of another kind of file, such as ``model.pkl``.
        statistics : bool, default False
            Whether to include the statistics of the samples, (n_features, n_features), which :meth:`partial_fit` needs
            to go on.
        overwrite : bool, default False
            Whether an existing file may be replaced.
        """
        save_model(self._fitted_twin(), Path(path), statistics=statistics, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that was written by :meth:`save`. No code in the file is ever run."""
        model = load_model(Path(path))
        if not isinstance(model, cls):
            raise ValueError(f"{path} holds a {type(model).__name__}, not a {cls.__name__}: use jcmspl.load")
        return model

    # scikit-learn, and notebooks.
    def __dir__(self) -> list[str]:
        return attributes_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(current_names(state, self._get_param_names(), warn=False))  # of an old pickle

    def _facts(self) -> dict[str, object]:
        return facts_of(settled(self))

    # Without super(), for searches borrow both.
    def _repr_html_inner(self) -> str:
        return str(BaseEstimator._repr_html_inner(self)) + Card.of_facts(self._facts())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = BaseEstimator._repr_mimebundle_(self, **options)
        if "text/html" in bundle:
            bundle["text/html"] += Card.of_facts(self._facts())
        return bundle
