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
from jcmspl.model_selection.grid import Key, next_value
from jcmspl.model_selection.search import Search

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
        features = self._data.different(axes["feature_normalisation"])
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
