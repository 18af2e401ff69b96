"""The classifier: what users call, whatever the method."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, as_label_list, some
from jcmspl.data.on_dask import is_dask
from jcmspl.model.adaptation_trials import AdaptationTrials
from jcmspl.model.calibration import SeenUnseenCurve, calibrated_biases, curve_of, generalized_curve
from jcmspl.model.candidates import unseen_in
from jcmspl.model.checking import rereadable_samples
from jcmspl.model.class_map import ClassMap
from jcmspl.model.labelled_samples import SamplesInMemory, SamplesOnDask
from jcmspl.model.persistence import load_model, save_model
from jcmspl.model.prediction import Recognises
from jcmspl.model.recogniser import Recogniser
from jcmspl.model.rejection import chosen_thresholds
from jcmspl.model.scorers import Scorer
from jcmspl.model.topk import right_in
from jcmspl.support.arguments import Float64Array, as_sample_weights, one_of
from jcmspl.support.names import SPACES
from jcmspl.support.renamed import accepts_old_keywords
from jcmspl.support.state import changes, reads
from jcmspl.support.warn import OneWarning

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(kw_only=True, eq=False, repr=False)
class ZeroShotClassifier(Recognises):
    """What all methods have in common: they learn from some classes and recognise others by their vectors.

    A method says how it learns (see :class:`~jcmspl.model.learner.Learner`) and what it makes of candidate classes:
    :meth:`_scorer`. :class:`~jcmspl.model.bilinear.Bilinear` and :class:`~jcmspl.model.embedding.Embedding` ask for
    less where a method is of that kind.
    """

    #: What kind of method it is; None: what it derives from says so.
    KIND: ClassVar[str | None] = None
    #: Whether scores are one linear layer, unless the metric is a function.
    LINEAR: ClassVar[bool] = False
    #: Parameters that say how samples and classes are compared: one fit serves all of their values.
    COMPARISON: ClassVar[tuple[str, ...]] = ()
    #: Those of them that a fit looks at as well, so that a search fits each of their values.
    FITTED_FOR: ClassVar[tuple[str, ...]] = ()
    #: What a search tries where it is not told: a few values of each parameter.
    GRID: ClassVar[dict[str, tuple[Any, ...]]] = {}
    #: Whether large weights make the simpler model, as penalties do, or small ones, as those of further terms do.
    HEAVY_IS_SIMPLE: ClassVar[bool] = True
    #: Reduced forms of the method that have a name: the parameters that make them.
    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {}

    def _scorer(self, class_vectors: Float64Array, space: str) -> Scorer:
        """Return what scores normalised samples for candidate classes with the given normalised vectors."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it recognises")

    def _scorer_of(self, table: ClassTable, space: str) -> Scorer:
        """Return what scores normalised samples for candidate classes; a kind of model may know more than vectors."""
        return self._scorer(np.ascontiguousarray(self.class_normalisation_.of_rows(table.vectors)), space)

    def _class_map(self, space: str) -> ClassMap | None:
        """Return how the normalised vector of a class of which nothing else is known becomes its scores, if it can."""
        return None

    def _adaptation_trials(self) -> AdaptationTrials:
        """Return what finds the constants of an adaptation, for a model that can be adapted."""
        raise TypeError(f"a {type(self).__name__} cannot be adapted to samples: leave adaptation=True out")

    def _for_other_classes(self) -> Self:
        """Return an unfitted copy that can be fitted to other classes than these."""
        twin: Self = clone(self)
        return twin

    def _warm_start(self, prepared: Any, class_means: Float64Array) -> dict[str, Any]:
        """Return parameters that start other fits to the same data near the result of a fit, if there are any."""
        return {}

    @reads
    @accepts_old_keywords
    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
        average: str = "class",
    ) -> float:
        """Return the share recognised among the classes in y if all are unseen, else among all that the model knows.

        The former is zero-shot recognition, as in cross-validation over classes: predict with ``candidates="unseen"``
        where y holds all unseen classes. The latter is predict as it is. Name the candidates, or use a scorer of
        :mod:`jcmspl.metrics`, and nothing depends on what y holds.

        Parameters
        ----------
        X, class_vectors, candidates, seen_penalty
            As for predict; but if y holds no class of the training data and neither class_vectors nor candidates are
            given, the candidates are the classes in y, which must be two at least.
        y : array_like of shape (n_samples,)
            The true labels. They must be among the candidates, if the model was trained with class vectors.
        sample_weight : array_like of shape (n_samples,), optional
        average : {"class", "sample"}, default "class"
            The mean over classes of the share within each, as is usual in this field, or the share of all samples.

        Returns
        -------
        accuracy : float
        """
        check_is_fitted(self)
        one_of(average, "average", ("class", "sample"))
        if is_dask(X):
            return self._score_on_dask(X, y, sample_weight, class_vectors, candidates, seen_penalty, average)
        labels, samples = as_label_list(y), self._checked(X)
        if len(labels) != len(samples):
            raise ValueError(f"there are {len(samples)} samples in X but {len(labels)} labels in y")
        weights = np.ones(len(samples)) if sample_weight is None else as_sample_weights(sample_weight, len(samples))
        if not weights.any():
            raise ValueError("there are no samples in X, or none that weighs anything: there is nothing to score")
        present = dict.fromkeys(labels)
        recogniser = self._judge_of(present, class_vectors, candidates, seen_penalty)
        predicted = recogniser.predict(samples).tolist()
        right = weights * np.array([a == b for a, b in zip(predicted, labels, strict=True)], dtype=np.float64)
        if average == "sample":
            return float(right.sum() / weights.sum())
        numbers = {label: number for number, label in enumerate(present)}
        codes = np.array([numbers[label] for label in labels])
        totals = np.bincount(codes, weights)
        counted = totals > 0
        return float(np.mean(np.bincount(codes, right)[counted] / totals[counted]))

    def _judge_of(
        self, present: Iterable[Label], class_vectors: Any, candidates: Any, seen_penalty: float | None
    ) -> Recogniser:
        """Return what names samples whose labels are these, to see whether it is right."""
        there = dict.fromkeys(present)
        if class_vectors is None and candidates is None and not there.keys() & set(self.classes_.tolist()):
            candidates = unseen_in(there, self.class_table_, self.classes_.tolist())
        recogniser = self.recogniser(class_vectors=class_vectors, candidates=candidates, seen_penalty=seen_penalty)
        possible = set(recogniser.labels.tolist())
        strangers = [label for label in there if label not in possible]
        if strangers and self._table is not None:
            raise ValueError(f"y holds {some(strangers)}, which is not among the candidates and could never be right")
        return recogniser

    def _score_on_dask(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        class_vectors: Any,
        candidates: Any,
        seen_penalty: float | None,
        average: str,
    ) -> float:
        """Return the score of samples that dask has: only sums of weights travel."""
        parts = self._parts_of(X, y, sample_weight)
        weights = parts.label_counts()
        if not any(weights.values()):
            raise ValueError("there are no samples in X, or none that weighs anything: there is nothing to score")
        recogniser = self._judge_of(weights, class_vectors, candidates, seen_penalty)
        right = parts.reduced(right_in, recogniser, what="recognising", progress=bool(self.progress))
        if average == "sample":
            return float(sum(right.values()) / sum(weights.values()))
        return float(np.mean([right[label] / weight for label, weight in weights.items() if weight]))

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
        """Choose the bias on training classes for generalized recognition, on training data alone.

        Training classes take turns in the part of unseen ones: for each fold of classes a model is fitted to the
        others, and samples of both kinds are recognised among all of them. The bias that gives the highest harmonic
        mean of the two per-class accuracies, in the mean over folds, becomes seen_penalty_; one is chosen for each
        space, for the metric of the model.

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
            Whether to choose the constants of ``adapt`` as well, adaptation_constants_, for models that have it: each
            fold's model is adapted to the samples of the classes that it was not trained on. Others than
            adaptation_pull and adaptation_temperature are chosen if they recognise more, by more than a standard error
            over the folds.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self._table is None:
            raise ValueError("a model without class_vectors has no unseen classes to be calibrated for")
        with self._telling("calibrate", X) as line:
            samples = self._labelled_samples(X, y)
            trials = self._adaptation_trials() if adaptation else None
            found = calibrated_biases(
                self, samples, n_splits=n_splits, held_out=held_out, random_state=random_state, on_fold=trials
            )
            if trials is not None:
                self.adaptation_constants_ = trials.chosen()
            self.calibration_ = {**self.calibration_, **{(space, self._own_metric): found[space] for space in found}}
            # thresholds among seen and unseen classes were chosen with another bias
            self.rejection_ = {key: one for key, one in self.rejection_.items() if key[2] != "all"}
            self._competition = OneWarning()
            line.text = f"bias {self.seen_penalty_:.4g} in the {self.own_space} space"
        return self

    @changes
    @accepts_old_keywords
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
        """Choose when ``predict(..., reject="auto")`` names nothing, on training data alone.

        Training classes take turns in the part of unseen ones: for each fold of classes a model is fitted to the
        others. Samples of the fold are looked at twice, with their class among the candidates, and without it, as
        strangers. The threshold is the highest that rejects no more than a share of the former. One is chosen for each
        space and for each group of candidates (seen, unseen, all), for the metric of the model and its bias on seen
        classes: calibrate that first. ``rejection_`` has them, with what they did to strangers.

        Parameters
        ----------
        X, y
            Samples of training classes, usually the training data; of four classes at least.
        max_false_rejection : float, default 0.05
            The share of samples of candidates that may be rejected.
        n_splits, held_out, random_state
            As for :meth:`calibrate`; each fold holds out two classes at least.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self._table is None:
            raise ValueError("a model without class_vectors has no unseen classes to be calibrated for")
        with self._telling("calibrate_rejection", X) as line:
            found = chosen_thresholds(
                self,
                self._labelled_samples(X, y),
                max_false_rejection=max_false_rejection,
                n_splits=n_splits,
                held_out=held_out,
                random_state=random_state,
            )
            own = {(space, self._own_metric, group): threshold for (space, group), threshold in found.items()}
            self.rejection_ = {**self.rejection_, **own}
            line.text = f"among unseen classes {found[self.own_space, 'unseen']}"
        return self

    def _labelled_samples(self, X: Any, y: Any) -> SamplesInMemory | SamplesOnDask:
        """Return samples that are read more than once, with the weights of their classes."""
        if is_dask(X):
            if self._needs == "samples":
                rereadable_samples(self, X, y)  # which refuses them
            return SamplesOnDask(self._parts_of(X, y).weighed(self.class_weight))
        samples, labels = self._checked(X), as_label_list(y)
        if len(labels) != len(samples):
            raise ValueError(f"there are {len(samples)} samples in X but {len(labels)} labels in y")
        weights = self._weights_of(labels, None)
        by_class = None if weights is None else dict(zip(labels, weights.tolist(), strict=True))
        return SamplesInMemory(samples, labels, by_class)

    @reads
    def generalized_curve(
        self, X: Any, y: Any, *, class_vectors: Any = None, space: str | None = None
    ) -> SeenUnseenCurve:
        """Return accuracy on seen against accuracy on unseen classes, as the bias on the former varies.

        Parameters
        ----------
        X, y
            Samples of classes of the training data and of others.
        class_vectors : optional
            Of the latter, where the model does not know them.
        space : str, optional
            Where to compare, if not in the space of the model.
        """
        seen = self.recogniser(candidates="seen", space=space)
        unseen = self.recogniser(candidates="unseen", class_vectors=class_vectors, space=space)
        if is_dask(X):
            samples = SamplesOnDask(self._parts_of(X, y))
            (pieces,) = samples.judged([(seen, unseen)], np.arange(len(samples.labels)))
            return curve_of(pieces, set(seen.labels.tolist()))
        return generalized_curve(seen, unseen, [(self._checked(X), y)])

    @reads
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
        save_model(self, Path(path), statistics=statistics, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that was written by :meth:`save`. No code in the file is ever run."""
        model = load_model(Path(path))
        if not isinstance(model, cls):
            raise ValueError(f"{path} holds a {type(model).__name__}, not a {cls.__name__}: use jcmspl.load")
        return model

    @reads
    def _facts(self) -> dict[str, object]:
        facts = super()._facts()
        if facts and self.own_space in SPACES:
            facts["compares in"] = f"the {self.own_space} space"
        if facts and self.unseen_classes_.size:
            known = self._is_biased_in(self.own_space)
            facts["bias on seen classes"] = f"{self.seen_penalty_:.3g}" if known else "none: not calibrated"
        if facts and self.timings_:
            facts["fitted in"] = f"{sum(self.timings_.values()):.2f} s"
        return facts
