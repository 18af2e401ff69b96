"""Methods that predict where classes lie among samples: prototypes, which labelled and unlabelled samples may move."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from jcmspl.data.class_table import ClassTable
from jcmspl.model import adapting
from jcmspl.model.adaptation import Adaptation
from jcmspl.model.adapting import AdaptationTrials
from jcmspl.model.fitted import FittedAttribute
from jcmspl.model.known_classes import Call
from jcmspl.model.method import check_parameters
from jcmspl.model.parameters import POSITIVE, SHARE_OR_AUTO, WEIGHT_OR_INFINITY
from jcmspl.model.prototypes import SEEN_SHARE, Prototypes, combined
from jcmspl.model.recogniser import FunctionScorer, LinearScorer, NearestScorer, Scorer, minus_distances
from jcmspl.support.arguments import Float64Array
from jcmspl.support.calls import changes

if TYPE_CHECKING:
    from typing_extensions import Self

    from jcmspl.model.classifier import ZeroShotClassifier as _Method
else:
    _Method = object  # a mixin before a kind of method


@dataclass(kw_only=True, eq=False, repr=False)
class VisualPrototypes(_Method):
    """A method that predicts, in the visual space, where classes lie: :meth:`_predicted`.

    More can be known of a class than the model predicts (:mod:`jcmspl.model.prototypes`), and unlabelled samples can
    move prototypes (:meth:`adapt`).
    """

    seen_mean_share: Any = field(default=0.0, metadata=SHARE_OR_AUTO)
    prediction_count: float = field(default=1.0, metadata=WEIGHT_OR_INFINITY)
    adaptation_pull: float = field(default=0.3, metadata=POSITIVE)
    adaptation_temperature: float = field(default=0.02, metadata=POSITIVE)

    SPACES: ClassVar[tuple[str, ...]] = ("visual",)
    COMPARISON: ClassVar[tuple[str, ...]] = ("seen_mean_share", "prediction_count")

    adapted_ = FittedAttribute[Adaptation]("adaptation", "The result of adapt.")

    def _predicted(self, vectors: Float64Array) -> Float64Array:
        """Return where classes with the given vectors lie among normalised samples; by cosine, of length one."""
        raise NotImplementedError(f"{type(self).__name__} does not say where classes lie")

    @changes
    def adapt(
        self,
        X: Any,
        *,
        class_vectors: Any = None,
        candidates: Any = None,
        seen_penalty: float | None = None,
        class_shares: Any = None,
        check: bool = True,
    ) -> Self:
        """Move the prototypes of the candidates to where unlabelled samples are (transductive recognition).

        For when all samples to be named are at hand. From then on predictions use the moved prototypes where all
        candidates of the call have been adapted, with the vectors that they had then; among other candidates the model
        predicts as before. Where seen and unseen classes compete, adaptation makes up for the preference for seen ones:
        predictions that use it take no bias off their scores, unless the call names one.

        Candidates may be missing among the samples, but the more are, the less is gained. ``adapted_`` tells what has
        moved, and whether it is trusted: neighbouring samples should have the same name no less often than before. If
        they do not, the model predicts as before, and says so in a warning.

        Parameters that are set later hold for the next adaptation, which starts from the model and not from the last
        one. fit, fit_from_statistics, partial_fit, and new vectors or samples by add_classes forget it, as
        :meth:`reset_adaptation` does.

        Only where samples and classes are compared in the visual space by their cosines.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features), or iterable of such arrays
            Samples without labels: an array of any layout, a memory map, a DataFrame, or chunks of samples, which are
            read one at a time. Directions of samples, in float32, are kept in memory up to 256 MB, and beyond that in
            a temporary file; those of arrays and DataFrames of dask stay on its workers.
        class_vectors, candidates, seen_penalty
            As for predict. The bias is taken off the scores of seen classes while prototypes move.
        class_shares : "even", dict of label -> number or array_like of shape (n_candidates,), optional
            The share of each candidate in the samples, where it is known: shares, percentages or numbers of samples, in
            the order of the candidates. Names are given in these shares. Right shares help, wrong ones do much harm.
        check : bool, default True
            Whether to predict as without the adaptation if it is not to be trusted; False: use it in any case.

        Returns
        -------
        self
        """
        call = Call(class_vectors, candidates, seen_penalty)
        self._fitted = adapting.adapted(self._fitted_twin(), X, call, class_shares=class_shares, check=check)
        return self

    @changes
    def reset_adaptation(self) -> Self:
        """Forget an adaptation: predict as without it."""
        self._fitted = replace(self._fitted, adaptation=None)
        return self

    def _adaptation_trials(self) -> AdaptationTrials:
        adapting.require_adaptable(self)
        return AdaptationTrials(float(self.adaptation_pull), float(self.adaptation_temperature))

    def _scorer_of(self, table: ClassTable, space: str) -> Scorer:
        if space != "visual":
            return super()._scorer_of(table, space)
        return self._adapted_scorer(table) or self._visual_scorer(table)

    def _visual_scorer(self, table: ClassTable) -> Scorer:
        """Return the scorer by prototypes, without an adaptation."""
        metric, prototypes = self.own_metric, self._prototypes_of(table).vectors
        if callable(metric):
            return FunctionScorer(partial(minus_distances, metric, np.asarray, prototypes))
        if metric == "euclidean":
            halves = (prototypes**2).sum(axis=1) / 2
            return NearestScorer(prototypes, -halves, np.asarray, 1.0, prototypes)
        return LinearScorer(prototypes, np.zeros(len(prototypes)))

    def _labelled(self, table: ClassTable) -> Float64Array:
        """Return the number of labelled samples of each candidate that the model has."""
        counts, evidence = np.zeros(table.n_classes), self._evidence_for(table)
        if evidence is not None:
            counts[evidence.rows] = evidence.counts
        return counts

    def _makes_up_for_seen(self, table: ClassTable, space: str) -> bool:
        """Whether predictions use an adaptation: it leaves no preference for seen classes that a bias would undo."""
        return space == "visual" and self._adapted_scorer(table) is not None

    def _adapted_scorer(self, table: ClassTable) -> LinearScorer | None:
        """Return the adapted scorer, or None unless every candidate was adapted."""
        adaptation = self._fitted.adaptation
        return adaptation.scorer(table) if adaptation is not None and self._is_by_cosine else None

    def _prototypes_of(self, table: ClassTable) -> Prototypes:
        """Return where classes lie in the visual space."""
        check_parameters(self, self.COMPARISON)  # they may have been set since the fit
        predicted, evidence = self._predicted(table.vectors), self._evidence_for(table)
        if evidence is None:
            return Prototypes(predicted, np.ones(len(predicted)))
        return combined(
            predicted,
            evidence,
            self.feature_normalisation_,
            seen_mean_share=self._sample_shares(evidence.counts),
            prediction_count=self.prediction_count,
            sample_length=self._fitted.sample_length if self._is_by_cosine else None,
        )

    def _sample_shares(self, counts: Float64Array) -> float | Float64Array:
        """Return the share of their samples in the prototypes of training classes that have so many."""
        return SEEN_SHARE if isinstance(self.seen_mean_share, str) else float(self.seen_mean_share)

    @property
    def _is_by_cosine(self) -> bool:
        return bool(self.own_metric == "cosine")
