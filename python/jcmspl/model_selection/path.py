"""The search for a good JCMSPL: first along a path on which it is ridge regression, then a little beside it.

With pinned codes (class_match and visual_reconstruction infinite) a fit has a closed form and a single parameter that
matters, semantic_reconstruction. On this path normalisations of samples and kernels of class vectors are tried; other
weights only at the end, and next to the best that was found. The fewer settings are compared, the less is the best of
them the luckiest, and the less time it takes.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from jcmspl.data.normalisation import parse_feature_normalisation
from jcmspl.model.parameters import AUTO
from jcmspl.model.recogniser import affine_map, normalised, score_blocks
from jcmspl.model_selection.folds import FoldedData
from jcmspl.model_selection.grid import Key, next_value
from jcmspl.model_selection.search import Search, is_clearly_better
from jcmspl.support.arguments import Float64Array, IntArray
from jcmspl.support.scaling import unit_length

#: The weights on the path.
ON_PATH = {"semantic_match": 1.0, "class_match": np.inf, "visual_reconstruction": np.inf}
#: Values of semantic_reconstruction that are tried on it.
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
#: Weights beside it.
BESIDE = ({"class_match": 1.0, "visual_reconstruction": 10.0}, {"class_match": 1.0, "visual_reconstruction": 1.0})
#: Normalisations of samples, shrinkages where they whiten, and kernels; the first of each is where the search starts.
FEATURES = ("auto_power+sample_l2+center+whiten", "sample_l2+center+whiten", "auto_power+sample_l2+center_unit")
SHRINKAGES = (5.0, 2.0, 10.0)
KERNELS = ("linear", "poly2", "rbf")
WIDTHS = (1.0, 0.5, 2.0)

# How far a step away from the start is, in decades of a weight: what is nearer is chosen where it is as good.
_OTHER_NAME, _BESIDE_THE_PATH = 0.5, 5.0


class PathSearch(Search):
    """A search in steps. Its axes hold all values that may be tried, the start first."""

    ITERATES = False  # not on the path

    def variants_of(self, key: Key) -> list[dict[str, Any]]:
        """Return the spaces to compare in: on the path it is the visual one, if there is a choice."""
        visual = [variant for variant in self.variants if variant.get("space", "visual") == "visual"]
        on_path = self.grid.setting(key)["class_match"] == np.inf
        return visual if on_path and visual else self.variants

    def _explore(self) -> None:
        self._try([key for start in self._normalisations() for key in self._path(start)])
        self._try([key for start in self._kernels(self._best_setting()) for key in self._path(start)])
        self._lengthen()
        # with so few classes that folds are drawn again, what is found beside the path is mostly luck
        if self._data.n_folds == self._data.n_splits:
            self._try([self._key(self._best_setting() | weights) for weights in BESIDE])

    def _best_setting(self) -> dict[str, Any]:
        return self.grid.setting(self.best()[0])

    def _normalisations(self) -> list[dict[str, Any]]:
        """Return starts of paths: all normalisations, with the first kernel; shrinkages with the first that whitens."""
        axes = self.grid.axes
        first = {name: values[0] for name, values in axes.items()} | ON_PATH
        features = self._data.without_duplicates(axes["feature_normalisation"])
        that_whiten = [name for name in features if parse_feature_normalisation(name).whiten]
        whitening = that_whiten[0] if that_whiten else None
        if whitening is not None and self._finds_shares(whitening):
            # held-out classes live by the plain cosine there, and do not tell what classes with samples need
            features = that_whiten
        starts = []
        for name, classes, shares in itertools.product(features, axes["class_normalisation"], axes["source_shares"]):
            for shrinkage in axes["whitening_shrinkage"] if name == whitening else axes["whitening_shrinkage"][:1]:
                of_samples = {"feature_normalisation": name, "whitening_shrinkage": shrinkage}
                starts.append(first | of_samples | {"class_normalisation": classes, "source_shares": shares})
        return starts

    def _finds_shares(self, normalisation: str) -> bool:
        """Whether encoders are found to be aligned, and the plain cosine has a share."""
        alignment = self._data.alignment(normalisation) if isinstance(self._model.cosine_share, str) else None
        return alignment is not None and alignment.is_aligned

    def _kernels(self, setting: dict[str, Any]) -> list[dict[str, Any]]:
        """Return starts of paths: a setting with the other kernels."""
        axes = self.grid.axes
        starts = []
        for kernel in axes["class_kernel"]:
            widths = axes["kernel_width"] if kernel == "rbf" else axes["kernel_width"][:1]
            starts += [setting | {"class_kernel": kernel, "kernel_width": width} for width in widths]
        return starts[1:]  # the first one has been tried

    def _path(self, start: dict[str, Any]) -> list[Key]:
        return [self._key(start | {"semantic_reconstruction": value}) for value in PENALTIES]

    def _lengthen(self) -> None:
        """Go on where the best lies at an end of its path."""
        while self._round < self._options.extend:
            setting = self._best_setting()
            tried = {self.grid.setting(key)["semantic_reconstruction"] for key in self.trials}
            further = next_value(sorted(tried), setting["semantic_reconstruction"])
            if further is None or self.trials[self.best()[0]].best >= 1:
                break
            self._round += 1
            self._try([self._key(setting | {"semantic_reconstruction": further})])

    def _key(self, setting: dict[str, Any]) -> Key:
        return tuple(setting[name] for name in self.grid.axes)

    def _distance(self, choice: tuple[Key, int]) -> float:
        """Return how far a choice is from where the path starts."""
        total = 0.0
        for name, value in self.parameters(choice).items():
            start = self.grid.axes[name][0] if name in self.grid.axes else value
            if name == "semantic_reconstruction":
                total += abs(math.log10(value))
            elif name in ("whitening_shrinkage", "kernel_width"):
                total += abs(math.log10(value / start))
            elif name == "class_match":
                total += 0.0 if value == np.inf else _BESIDE_THE_PATH
            elif value != start and name != "visual_reconstruction":
                total += _OTHER_NAME
        return round(total, 6)


# How much each source of evidence for prototypes counts is chosen on held-out classes once a setting is chosen.
#: Shares of the plain cosine of samples and class vectors that are tried.
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Numbers of samples that a prediction may count for, and numbers of labelled samples of a class that are tried.
PREDICTION_WEIGHTS = (0.5, 1.0, 2.0, 4.0)
SHOTS = (1, 5)
# Samples of a class that are enough to see the difference, where it has more.
_MOST_SAMPLES = 100


def chosen_share(search: Search, choice: tuple[Key, int], data: FoldedData) -> float | str:
    """Return the share of the plain cosine that recognises held-out classes clearly better than "auto", or that.

    The cosine is there where samples and class vectors have as many dimensions, in the visual space, without roots.
    Where encoders are found to be aligned only leaving it out is an alternative: other shares would hold for classes
    with samples as well, of which folds of classes tell nothing.
    """
    parameters = search.parameters(choice)
    alignment = data.alignment(parameters["feature_normalisation"])
    if alignment is None or parameters["space"] != "visual" or search.metric != "cosine":
        return AUTO
    tried = (AUTO, 0.0) if alignment.is_aligned else SHARES
    scores = search.scores_with(choice, [{"cosine_share": share} for share in tried])
    best = int(np.argmax(np.round(scores.mean(axis=1), 10)))
    return tried[best] if is_clearly_better(scores[best], scores[0], data.n_splits) else AUTO


def chosen_prediction_weight(search: Search, choice: tuple[Key, int], data: FoldedData, own: float, seed: int) -> float:
    """Return the prediction_count with which held-out classes are recognised best from some samples of each.

    Another one than the given is chosen where it is clearly better.
    """
    if search.parameters(choice)["space"] != "visual" or search.metric != "cosine":
        return own
    tried = sorted({own, *PREDICTION_WEIGHTS})
    rows_of = _rows_of_classes(data, seed)
    if min(len(rows) for rows in rows_of) <= max(SHOTS):
        return own

    def accuracies(fold: int, model: Any, vectors: Float64Array, length: float) -> Float64Array:
        return _few_shot_accuracies(model, vectors, length, data, [rows_of[i] for i in data.held_out[fold]], tried)

    scores = np.array(search.of_fitted_folds(choice, accuracies)).T
    best = int(np.argmax(np.round(scores.mean(axis=1), 10)))
    return tried[best] if is_clearly_better(scores[best], scores[tried.index(own)], data.n_splits) else own


def _rows_of_classes(data: FoldedData, seed: int) -> list[IntArray]:
    """Return some different samples of each class, in an order that depends on what they are and not on where.

    So neither the order of the samples nor that some of them come twice makes a difference.
    """
    # positions in a random direction, but for rounding
    positions = np.round(data.positions(np.random.default_rng(seed).standard_normal(data.n_features)), 10)
    rows = []
    for number in range(len(data.classes)):
        own = np.flatnonzero(data.codes == number)
        _, first = np.unique(positions[own], return_index=True)
        rows.append(own[np.random.default_rng((seed, number)).permutation(first)[:_MOST_SAMPLES]])
    return rows


def _few_shot_accuracies(
    model: Any,
    candidates: Float64Array,
    sample_length: float,
    data: FoldedData,
    rows: list[IntArray],
    weights: list[float],
) -> Float64Array:
    """Return the mean accuracy over numbers of shots, for each prediction_count."""
    vectors = model.class_normalisation_.of_rows(candidates)
    predicted = unit_length((vectors @ model.semantic_projection_.T) @ model.visual_projection_)
    features, raw = model.feature_normalisation_, data.samples(rows)
    few = np.array([normalised(features, own[: max(SHOTS)]) for own in raw])
    tried = list(itertools.product(SHOTS, weights))
    prototypes = [
        unit_length(weight * predicted + few[:, :shots].sum(axis=1) / sample_length) for shots, weight in tried
    ]
    # the map of samples is folded into prototypes, which are fewer
    scorer, samples = affine_map(np.concatenate(prototypes), features), np.concatenate(raw)
    numbers = np.repeat(np.arange(len(raw)), [len(own) for own in raw])
    positions = np.concatenate([np.arange(len(own)) for own in raw])
    hits = np.empty((len(samples), len(tried)))
    for block in score_blocks(len(samples), len(tried) * len(raw)):
        scores = scorer.scores(samples[block]).reshape(-1, len(tried), len(raw))
        hits[block] = scores.argmax(axis=2) == numbers[block, None]
    found = []
    for (shots, _), own_hits in zip(tried, hits.T, strict=True):
        tested = positions >= shots
        found.append(np.mean(np.bincount(numbers[tested], own_hits[tested]) / np.bincount(numbers[tested])))
    return np.asarray(np.reshape(found, (len(SHOTS), len(weights))).mean(axis=0))
