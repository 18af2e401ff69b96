"""Models whose prototypes can be moved to unlabelled samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jcmspl.data.class_table import ClassTable
from jcmspl.data.on_dask import is_dask
from jcmspl.data.partitions import Parts
from jcmspl.model.adaptation import Adaptation
from jcmspl.model.adaptation_check import neighbour_agreement
from jcmspl.model.adaptation_rounds import MOST_ROUNDS, Settings, moved_to_samples
from jcmspl.model.adaptation_trials import AdaptationTrials
from jcmspl.model.checking import unlabelled_chunks
from jcmspl.model.class_shares import known_shares
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.directions import Directions, rows_at_a_time
from jcmspl.model.directions_on_dask import DirectionsOnDask
from jcmspl.model.parameters import POSITIVE, check_parameters
from jcmspl.model.scorers import LinearScorer, Scorer, normalised
from jcmspl.support.arguments import Float64Array, require_finite
from jcmspl.support.progress import Progress
from jcmspl.support.renamed import accepts_old_keywords
from jcmspl.support.state import changes
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(kw_only=True, eq=False, repr=False)
class Adaptable(ZeroShotClassifier):
    """A model that compares samples with prototypes in the visual space, and can move these to unlabelled samples."""

    adaptation_pull: float = field(default=0.3, metadata=POSITIVE)
    adaptation_temperature: float = field(default=0.02, metadata=POSITIVE)

    @changes
    @accepts_old_keywords
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
        check_is_fitted(self)
        self._require_adaptable()
        self.__dict__.pop("adapted_", None)  # it starts from the model
        table, bias = self._biased_candidates(class_vectors, candidates, seen_penalty, self.own_space)
        settings = Settings(*self._adaptation_constants, known_shares(class_shares, table))
        with (
            self._telling("adapt", X) as told,
            self._directions_of(X, table.n_classes) as directions,
            Progress("adapting", MOST_ROUNDS, "rounds", enabled=bool(self.progress)) as line,
        ):
            self.adapted_ = self._adapted_to(directions, table, bias, settings, check=check, on_round=line.update)
            told.text = f"{self.adapted_.n_samples} samples, {table.n_classes} classes, {self.adapted_.rounds} rounds"
        for text in self.adapted_.warnings:
            warn_user(text, RuntimeWarning)
        return self

    @changes
    def reset_adaptation(self) -> Self:
        """Forget an adaptation: predict as without it."""
        self.__dict__.pop("adapted_", None)
        return self

    @property
    def _adaptation_constants(self) -> tuple[float, float]:
        """The pull and the temperature: as calibrated, or as given."""
        given = float(self.adaptation_pull), float(self.adaptation_temperature)
        return getattr(self, "adaptation_constants_", given)

    def _adaptation_trials(self) -> AdaptationTrials:
        self._require_adaptable()
        return AdaptationTrials(float(self.adaptation_pull), float(self.adaptation_temperature))

    def _require_adaptable(self) -> None:
        check_parameters(self, ("adaptation_pull", "adaptation_temperature"))  # they may have been set since the fit
        for name, needed in (("space", "visual"), ("metric", "cosine")):
            value = getattr(self, name)
            if callable(value) or value != needed:
                shown = "a function" if callable(value) else repr(value)
                raise ValueError(
                    f"only models that compare by cosine in the visual space can be adapted to samples, but {name} is "
                    f"{shown}: use set_params(space='visual', metric='cosine') (--set space=visual --set metric=cosine)"
                )

    def _directions_of(self, X: Any, n_candidates: int) -> Directions | DirectionsOnDask:
        """Read samples, once, and keep their directions: here, or where dask has the samples."""
        if is_dask(X):
            parts, show = Parts.of(X), bool(self.progress)
            self._checked(parts.header, least=0)
            found = DirectionsOnDask(parts, self.feature_normalisation_, n_candidates, progress=show)
            if not found.n_samples:
                raise ValueError("there are no samples in X to adapt to, or all of them are zero")
            return found
        directions = Directions(self.n_features_in_, rows_at_a_time(self.n_features_in_, n_candidates))
        try:
            self._read_unlabelled(X, directions)
        except BaseException:
            directions.close()
            raise
        return directions

    def _read_unlabelled(self, X: Any, directions: Directions) -> None:
        """Read samples, once, and keep their directions."""
        rows, read = rows_at_a_time(self.n_features_in_, 1), 0
        chunks, n_samples = unlabelled_chunks(X, lambda chunk: self._checked(chunk, least=0))
        with Progress("reading", n_samples, "samples", enabled=bool(self.progress)) as line:
            for chunk in chunks:
                for first in range(0, len(chunk), rows):
                    block = chunk[first : first + rows]
                    require_finite(block, "X", first_row=read)
                    directions.add(normalised(self.feature_normalisation_, block))
                    read += len(block)
                    line.update(read)
        if not read:
            raise ValueError("there are no samples in X to adapt to")

    def _adapted_to(
        self,
        directions: Directions | DirectionsOnDask,
        table: ClassTable,
        bias: Float64Array,
        settings: Settings,
        *,
        check: bool,
        on_round: Any = lambda done: None,
    ) -> Adaptation:
        layer, labelled = self._visual_scorer(table), self._labelled(table)
        assert isinstance(layer, LinearScorer)  # by cosine
        moved = moved_to_samples(
            directions, layer.weights, layer.offsets, settings, bias=bias, labelled=labelled, on_round=on_round
        )
        agreement = None
        if check:
            before = LinearScorer(layer.weights, layer.offsets + bias)
            after = LinearScorer(moved.weights, moved.offsets)
            agreement = neighbour_agreement(directions, before, after, moved.class_size)
        return Adaptation.of(table, moved, labelled, directions.n_samples, agreement)

    def _labelled(self, table: ClassTable) -> Float64Array:
        """Return how many labelled samples of each candidate the model has."""
        counts, evidence = np.zeros(table.n_classes), self._evidence_for(table)
        if evidence is not None:
            counts[evidence.rows] = evidence.counts
        return counts

    def _visual_scorer(self, table: ClassTable) -> Scorer:
        """Return what scores normalised samples in the visual space, without any adaptation."""
        raise NotImplementedError(f"{type(self).__name__} does not say where classes are in the visual space")

    def _makes_up_for_seen(self, table: ClassTable, space: str) -> bool:
        """Whether predictions use an adaptation: it leaves no preference for seen classes that a bias would undo."""
        return space == "visual" and self._adapted_scorer(table) is not None

    def _adapted_scorer(self, table: ClassTable) -> LinearScorer | None:
        """Return the adapted scorer, or None unless every candidate was adapted."""
        adapted: Adaptation | None = getattr(self, "adapted_", None)
        is_by_cosine = not callable(self._own_metric) and self._own_metric == "cosine"
        return adapted.scorer(table) if adapted is not None and is_by_cosine else None
