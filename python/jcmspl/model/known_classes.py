"""Classes that a model gets to know, and forgets, after it was fitted."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jcmspl.data.class_table import ClassTable
from jcmspl.data.collect import Collector
from jcmspl.data.labelled_sums import LabelledSums
from jcmspl.data.labels import as_label_list, some, sorted_labels
from jcmspl.data.sample_digest import sum_if_known
from jcmspl.model.cautions import warn_of_zero_vectors
from jcmspl.model.learner import Learner
from jcmspl.support.shown import quoted
from jcmspl.support.state import changes

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(kw_only=True, eq=False, repr=False)
class KnowsClasses(Learner):
    """add_classes and remove_classes, for classes that a model was not trained on."""

    @changes
    def add_classes(self, class_vectors: Any = None, X: Any = None, y: Any = None, *, replace: bool = False) -> Self:
        """Make further classes known to a fitted model, by name, vector and samples; they are recognised at once.

        What the model has learnt stays as it is. In the visual space of a bilinear method a few labelled samples tell
        where a class lies, together with the model's prediction (prediction_count says how much that counts).

        Parameters
        ----------
        class_vectors : ClassTable, dict of label -> vector or DataFrame
            May be left out if there are samples of classes that the model knows already.
        X, y : optional
            Labelled samples, as for fit, of classes that are added or that the model knows but was not trained on. They
            are added to those of earlier calls. A model that has its statistics takes them in there, too, so that a
            later :meth:`partial_fit` learns from them.
        replace : bool, default False
            Whether a class that the model knows already, but was not trained on, may get a new vector; its samples are
            kept.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if X is None and (y is not None or class_vectors is None):
            missing = "y came without X" if y is not None else "nothing was given"
            raise ValueError(f"{missing}: pass class_vectors, or samples X and their labels y, or all of them")
        if self._table is None:
            raise ValueError(
                "the model was trained without class_vectors, so it cannot know what other classes look like"
            )
        if class_vectors is not None:
            self._add_vectors(class_vectors, replace=replace)
        if X is not None:
            self._add_samples(X, y)
        return self

    @changes
    def remove_classes(self, labels: Any) -> Self:
        """Make a fitted model forget classes that it was not trained on: they are candidates no longer.

        What the model has learnt stays as it is, and so do a calibrated bias, thresholds and an adaptation. A class
        may be added again, as if it had never been there. Training classes cannot be removed, for the model is made of
        them: leave them out of the ``candidates`` of a call.

        Parameters
        ----------
        labels : sequence or set of labels
            Of ``unseen_classes_``. Samples that the model was given of them (:meth:`add_classes`) are forgotten as
            well. If these are part of its statistics, of which they cannot be taken out again, the model forgets its
            statistics, too: it predicts as before, but :meth:`partial_fit` cannot go on.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if isinstance(labels, str):
            raise TypeError(f"labels must be a list of labels, but is the text {quoted(labels)}: pass [{labels!r}]")
        wanted = dict.fromkeys(as_label_list(sorted_labels(labels) if isinstance(labels, Set) else labels, "labels"))
        unknown = [label for label in wanted if label not in self.class_table_]
        if unknown:
            known = self.class_table_.others(self.classes_.tolist())
            raise ValueError(
                f"the model does not know {some(unknown)}: those that can be removed are {some(known, 5) or 'none'}"
            )
        classes = set(self.classes_.tolist())
        trained = [label for label in wanted if label in classes]
        if trained:
            raise ValueError(
                f"the model was trained on {some(trained)} and cannot forget that: leave them out of the candidates of "
                "a call, or fit it without them"
            )
        if not wanted:
            return self
        self.class_table_ = self.class_table_.select(self.class_table_.others(wanted))
        if self._table is not None:
            self._table = self._table.without(wanted)
        if self._collected is not None and any(label in wanted for label in self._collected.labels):
            self._collected = None
        self._samples = self._samples.without(wanted)
        return self

    def _add_vectors(self, class_vectors: Any, *, replace: bool) -> None:
        if isinstance(class_vectors, (np.ndarray, list, tuple)):
            raise TypeError("class_vectors must name its classes: pass a dict, a DataFrame or a ClassTable")
        table = ClassTable.of(class_vectors)
        classes = set(self.classes_.tolist())
        trained = [label for label in table if label in classes]
        if trained:
            raise ValueError(f"the model was trained on {some(trained)}: their vectors cannot be changed")
        known = [label for label in table if label in self.class_table_]
        if known and not replace:
            raise ValueError(f"the model knows {some(known)} already: pass replace=True to give them new vectors")
        warn_of_zero_vectors(table)
        if known:
            self.__dict__.pop("adapted_", None)
        self.class_table_ = self.class_table_.updated(table)
        self._table = self.class_table_

    def _add_samples(self, X: Any, y: Any) -> None:
        """Remember samples of classes that the model knows and was not trained on."""
        scaling = self.feature_normalisation_.scaling
        collector = Collector(self.class_table_, *scaling, progress=bool(self.progress))
        class_weight = self.class_weight
        if isinstance(class_weight, str):  # balanced over a call, each would count otherwise in another call
            self.class_weight = None
        new = self._read(X, y, None, collector, reset=False)
        self.class_weight = class_weight
        classes = set(self.classes_.tolist())
        trained = [label for label in new.labels if label in classes]
        if trained:
            raise ValueError(
                f"y holds {some(trained)}, which the model was trained on: use partial_fit to learn from more samples"
            )
        self.__dict__.pop("adapted_", None)
        self.training_digest_ = sum_if_known(self._digest_so_far(), new.digest)
        if self._collected is None:
            self._samples += LabelledSums.of(new)
        else:
            self._collected += new
            self._samples = LabelledSums.of(self._collected)
