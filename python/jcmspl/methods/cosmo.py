"""Generalized recognition by a gate between an expert for training classes and one for others."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from jcmspl.core.scoring import METRICS, SPACES
from jcmspl.core.statistics import Statistics
from jcmspl.data.class_folds import ClassKFold
from jcmspl.data.class_table import ClassTable
from jcmspl.data.training import TrainingData
from jcmspl.model import registry
from jcmspl.model.bilinear import Bilinear
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.gate import CrossFitted, Expert, LeftOut, Mixture, Trial, halves, learnt, scores_of, spread
from jcmspl.model.iterations import WeightedBlocks
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import (
    FLAG,
    NamedArrays,
    checked_by,
    estimator,
    field,
)
from jcmspl.model.posteriors import Affine, ClassGaussians, LdaOrLogistic, training_numbers
from jcmspl.model.recogniser import FunctionScorer
from jcmspl.support.arguments import IntArray, as_count

# With fewer training classes none can be held out.
_FEWEST_CLASSES = 4


def _check_expert(value: Any, name: str) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be the name of a method, but is {value!r}")
    method = registry.get(value)
    if not issubclass(method, Bilinear) or method.NEEDS != "statistics":
        raise ValueError(f"{name} must be a bilinear method on statistics, such as 'JCMSPL' or 'RPL', but is {value!r}")


@estimator
class COSMO(LdaOrLogistic, ZeroShotClassifier):
    """Adaptive confidence smoothing: a gate says whether a sample is of a training class, and an expert which one.

    After the paper: ``p(k|x) = p(seen|x) p(k|x, seen)`` for training classes, and the same with unseen for others;
    each expert's answer is mixed with a uniform one, the more the less the gate believes that the sample is the
    expert's. The score is the logarithm. Here the expert for training classes is linear discriminant analysis, and
    that for others a method of this package. By option the former is a logistic regression. The gate is a logistic
    regression on how sure both are: the log odds of the best against the second-best training class, and how much
    better the other expert finds training classes than unseen ones. It is learnt on training classes alone, some of
    which take turns in the part of unseen ones, and from samples that are left out when they are looked at; so are
    the temperatures of both experts. Of a logistic regression half of the samples is left out at a time. (The
    paper's gate has more features and its experts are others.) Unseen classes alone are named as the expert names
    them. Scores depend on which candidates there are, and the draw of the classes that take turns on the order of their
    labels: other names are another draw. A seen_penalty is subtracted on top of the gate, and usually not needed.

    Parameters
    ----------
    expert : str
        The name of a bilinear method on statistics, which is used with its defaults.
    posterior : {"lda", "logistic"}
        The expert for training classes. The second is fitted thirteen times, with the default of n_splits.
    smoothing : bool
        Whether answers are mixed with uniform ones.
    n_splits : int
        Into how many parts training classes are split for the gate. With less than four classes there is none: both
        kinds are equally likely.

    Attributes
    ----------
    n_iter_
        The number of iterations of the logistic regression on all samples; 1 for "lda".
    converged_
        Whether all logistic regressions converged; True for "lda".

    Examples
    --------
    >>> from jcmspl.methods import COSMO
    >>> from jcmspl.datasets import make_zsl
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = COSMO(expert="RPL").fit(*data.part("train"), class_vectors=data.classes)
    >>> model.score(*data.part("test_unseen")) > 0.2  # chance
    True
    >>> accuracy_on_seen = model.score(*data.part("test_seen"), candidates="all")
    >>> accuracy_on_unseen = model.score(*data.part("test_unseen"), candidates="all")
    """

    expert: str = field(default="JCMSPL", kw_only=False, metadata=checked_by(_check_expert))
    shrinkage: float = 0.3
    smoothing: bool = field(default=True, metadata=FLAG)
    n_splits: int = field(default=4, metadata=checked_by(partial(as_count, minimum=2)))
    feature_normalisation: str = "auto_power+sample_l2+center+whiten"
    class_normalisation: str = "sample_l2+center_unit"

    PAPER = "Atzmon, Chechik (2019): Adaptive confidence smoothing for generalized zero-shot learning"
    NEEDS = "samples"
    COMPARISON = ("smoothing",)
    GRID = {"expert": ("JCMSPL", "RPL")}
    ARRAYS = {
        "weights": ("c", "m"),
        "offsets": ("c",),
        "visual_projection": ("k", "m"),
        "semantic_projection": ("k", "d"),
        "comparison": (2,),
        "gate": (3,),
        "temperatures": (2,),
        "n_iter": (),
        "converged": (),
    }

    def _fit(self, prepared: TrainingData, monitor: Monitor) -> NamedArrays:
        expert, blocks = self._expert_of(prepared, monitor), WeightedBlocks(prepared)
        seen, n_iter, converged = self._seen_expert(prepared, blocks, monitor)
        trials = self._trials(prepared, blocks, monitor)
        units = np.array([spread(seen.of(prepared.class_means)), spread(expert.seen.of(prepared.class_means))])
        gate, temperatures = np.zeros(3), units
        if trials:
            gate, temperatures = learnt(blocks, trials, units)
        projections = {"visual_projection": expert.A, "semantic_projection": expert.B, "comparison": expert.comparison}
        converged &= all(trial.converged for trial in trials)
        facts = {"n_iter": np.array(float(n_iter)), "converged": np.array(float(converged))}
        return {**seen._asdict(), **projections, "gate": gate, "temperatures": temperatures, **facts}

    def _seen_expert(
        self, training: TrainingData, blocks: WeightedBlocks, monitor: Monitor
    ) -> tuple[Affine, int, bool]:
        """Return the log posteriors of training classes, the number of iterations, and whether they converged."""
        if self.posterior == "lda":
            return ClassGaussians(training).log_posterior(self.shrinkage), 1, True
        fit = self._logistic(blocks, training.statistics, np.eye(len(training.class_vectors)), monitor)
        return Affine(fit.weights, fit.offsets), fit.n_iter, fit.converged

    def _expert_of(self, training: TrainingData, monitor: Monitor) -> Expert:
        model = registry.get(self.expert)()
        arrays = model._fit(model._prepare(training), Monitor(monitor.tell_of_iteration))
        A, B = arrays["visual_projection"], arrays["semantic_projection"]
        return Expert(A, B, model.space, model.metric, training.class_vectors)

    def _trials(self, training: TrainingData, blocks: WeightedBlocks, monitor: Monitor) -> list[Trial]:
        """Return models that were fitted without some of the training classes."""
        c = len(training.class_vectors)
        if c < _FEWEST_CLASSES:
            return []
        folds = [np.sort(part) for part in ClassKFold(min(self.n_splits, c // 2)).split_classes(c)]
        parts = _statistics_of(training, blocks, folds)
        half_of = halves(blocks, training.statistics.n_features) if self.posterior == "logistic" else None
        trials = []
        for number, held_out in enumerate(folds):
            kept = np.setdiff1d(np.arange(c), held_out)
            others = [part for other, part in enumerate(parts) if other != number]
            statistics = sum(others[1:], others[0]).select_classes(kept)
            data = replace(training, statistics=statistics, class_vectors=training.class_vectors[kept])
            expert = self._expert_of(data, monitor)
            unseen = expert.among(training.class_vectors[held_out])
            if half_of is None:
                gaussians = ClassGaussians(data)
                left_out: LeftOut | CrossFitted = LeftOut(gaussians, self.shrinkage)
                posterior, converged = gaussians.log_posterior(self.shrinkage), True
            else:
                fit = partial(self._logistic, targets=np.eye(len(kept)), monitor=monitor)
                left_out = CrossFitted(blocks, half_of, kept, statistics.n_features, fit)
                posterior, converged = left_out.whole, left_out.converged
            trials.append(Trial(left_out.log_posterior, posterior, converged, expert.seen, unseen, kept, held_out))
        return trials

    def _is_biased_in(self, space: str) -> bool:
        return True  # by the gate

    def _scorer_of(self, table: ClassTable, space: str) -> FunctionScorer:
        numbers = training_numbers(self, table)
        others = table.vectors[numbers < 0]
        if not len(others):  # the gate compares with unseen classes that the model knows
            others = self.class_table_.vectors[len(self.classes_) :]
        arrays, normalised = self.arrays_, self.class_normalisation_.of_rows
        where, how = arrays["comparison"].astype(int).tolist()  # of the expert that was fitted
        expert = Expert(
            arrays["visual_projection"],
            arrays["semantic_projection"],
            SPACES[where],
            METRICS[how],
            normalised(self._trained_vectors),
        )
        seen = Affine(arrays["weights"], arrays["offsets"])
        unseen = expert.among(normalised(others)) if len(others) else None
        mixture = Mixture(
            seen, expert.seen, unseen, arrays["gate"], arrays["temperatures"], numbers, bool(self.smoothing)
        )
        return FunctionScorer(partial(scores_of, mixture))


def _statistics_of(training: TrainingData, blocks: WeightedBlocks, folds: list[IntArray]) -> list[Statistics]:
    """Return the statistics of the classes of each fold."""
    n_classes = len(training.class_vectors)
    parts = [Statistics(training.statistics.n_features, n_classes) for _ in folds]
    for Z, numbers, counts in blocks:
        for part, classes in zip(parts, folds, strict=True):
            own = np.isin(numbers, classes)
            part.update(Z[own], numbers[own], sample_weight=counts[own])
    return parts
