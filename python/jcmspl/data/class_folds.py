"""Cross-validation that holds out classes: a fold trains on no sample of the classes that it tests as unseen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import Label, as_label_list, numbered, sorted_labels
from jcmspl.support.arguments import IntArray, as_count, as_random_state, as_weight


class ClassKFold:
    """Folds of classes, for any function of scikit-learn that takes ``cv``.

    Parameters
    ----------
    n_splits : int, default 5
        The number of folds; at most the number of classes.
    n_repeats : int, default 1
        How often to split the classes anew.
    shuffle : bool, default True
        Whether to shuffle the classes before they are dealt out.
    test_seen : float, default 0
        The share of the samples of each class that all folds use for tests only. Folds that train on the class test
        generalized recognition with them. Each class keeps at least one sample for training.
    random_state : int, Generator, RandomState or None, default 0
        Seed of the draws. The classes of a fold do not depend on the order of the samples; those drawn for
        ``test_seen`` do.

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl import ClassKFold
    >>> y = np.array(["owl", "owl", "wren", "jay", "wren", "kite"])
    >>> for train, test in ClassKFold(2).split(y, y):
    ...     print(sorted(set(y[train].tolist())), sorted(set(y[test].tolist())))
    ['jay', 'wren'] ['kite', 'owl']
    ['kite', 'owl'] ['jay', 'wren']
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        n_repeats: int = 1,
        shuffle: bool = True,
        test_seen: float = 0.0,
        random_state: Any = 0,
    ) -> None:
        self.n_splits = as_count(n_splits, "n_splits", minimum=2)
        self.n_repeats = as_count(n_repeats, "n_repeats")
        self.shuffle = bool(shuffle)
        if not 0 <= as_weight(test_seen, "test_seen") < 1:
            raise ValueError(f"test_seen must be a share from 0 to less than 1, but is {test_seen}")
        self.test_seen = float(test_seen)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds over all repeats."""
        return self.n_splits * self.n_repeats

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Give the indices of the training and of the test samples of each fold.

        Parameters
        ----------
        X : ignored
        y : array_like of labels
        groups : ignored
        """
        if y is None:
            raise ValueError("ClassKFold splits classes, so it needs y")
        labels = as_label_list(y)
        classes = sorted_labels(dict.fromkeys(labels))
        codes = numbered(labels, classes)
        tested = np.zeros(len(labels), dtype=bool)
        if self.test_seen:
            tested = held_out_rows(labels, self.test_seen, as_random_state(self.random_state))
        for held_out in self.split_classes(len(classes)):
            test = tested | np.isin(codes, held_out)
            yield np.flatnonzero(~test), np.flatnonzero(test)

    def split_classes(self, n_classes: int) -> Iterator[IntArray]:
        """Give the indices of the sorted classes that each fold holds out, in ascending order."""
        if n_classes < self.n_splits:
            raise ValueError(f"there are {n_classes} classes, too few for {self.n_splits} folds: lower n_splits")
        rng = as_random_state(self.random_state)
        for _ in range(self.n_repeats):
            order = rng.permutation(n_classes) if self.shuffle else np.arange(n_classes)
            for fold in range(self.n_splits):
                yield np.sort(order[fold :: self.n_splits]).astype(np.int64)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"ClassKFold({settings})"


def held_out_rows(labels: Sequence[Label], share: float, rng: np.random.RandomState) -> npt.NDArray[np.bool_]:
    """Draw test samples from each class; each keeps at least one for training."""
    rows_of: dict[Label, list[int]] = {}
    for row, label in enumerate(labels):
        rows_of.setdefault(label, []).append(row)
    chosen = np.zeros(len(labels), dtype=bool)
    for label in sorted_labels(rows_of):
        rows = rows_of[label]
        count = min(max(1, round(share * len(rows))), len(rows) - 1)  # none of a class with one sample
        chosen[rng.permutation(rows)[:count]] = True
    return chosen
