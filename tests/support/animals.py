"""A small zero-shot problem with names: animals described by attributes, features that mix them with noise."""

from typing import NamedTuple

import numpy as np

from jcmspl import ClassTable


class Zoo(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    table: ClassTable  # seen and unseen classes
    X_new: np.ndarray
    y_new: np.ndarray

    @property
    def seen(self):
        return sorted(set(self.y.tolist()))

    @property
    def unseen(self):
        return [name for name in self.table if name not in self.seen]

    @property
    def attributes(self):
        """The table as a dict."""
        return {name: self.table[name] for name in self.table}


def make_zoo(
    n_seen=6,
    n_unseen=3,
    n_attributes=8,
    n_features=20,
    per_class=15,
    noise=0.3,
    seed=0,
    aligned=False,
    rectified=False,
):
    """Make animals.

    aligned: features are attributes themselves, of which there must be as many; rectified: there are twice as many
    features, what is above zero and what is below, and none is negative.
    """
    rng = np.random.default_rng(seed)
    n_classes = n_seen + n_unseen
    vectors = rng.random((n_classes, n_attributes))
    names = [f"animal {i}" for i in rng.permutation(n_classes)]
    mixing = np.eye(n_features) if aligned else rng.standard_normal((n_attributes, n_features))

    def images(classes):
        clean = np.repeat(vectors[classes] @ mixing, per_class, axis=0)
        order = rng.permutation(len(clean))
        features = (clean + noise * rng.standard_normal(clean.shape))[order]
        if rectified:
            features = np.maximum(0, np.hstack([features, -features]))
        return features, np.repeat(np.array(names)[classes], per_class)[order]

    seen, unseen = np.arange(n_seen), np.arange(n_seen, n_classes)
    attributes = [f"trait {i}" for i in range(n_attributes)]
    return Zoo(*images(seen), ClassTable(names, vectors, attributes), *images(unseen))
