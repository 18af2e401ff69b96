"""Dataset: samples, labels, class vectors and parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label, LabelArray, as_label_list, label_array, some
from jcmspl.data.reading import in_chunks, read_rows, unlabelled_rows
from jcmspl.datasets.errors import DatasetError, about
from jcmspl.datasets.row_source import Imputation, LazyIds, RowSource, imputed
from jcmspl.datasets.splits import draw_per_class
from jcmspl.support.arguments import FloatArray, IntArray, as_count, one_of
from jcmspl.support.names import PARTS as PARTS
from jcmspl.support.shown import Card, ShownAsCard, Table, quoted, shown

_ALL_PARTS = (*PARTS, "trainval")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(ShownAsCard):
    """Samples, labels, the vectors of all classes, and the parts for training, validation and testing.

    Parameters
    ----------
    name : str
    X : array of shape (n_samples, n_features)
        An array, a memory map, or an object that reads rows on demand (``shape``, ``dtype``, ``len`` and indexing by
        slices and integer arrays), such as a dask array of known shape. Rows are samples. NaN is not refused here but
        by the fit, as it reads.
    y : array_like of shape (n_samples,)
        The label of each sample, one of ``classes``.
    classes : ClassTable
        The vectors of all classes, seen and unseen.
    parts : mapping of str to int array
        The row numbers, from 0, of the samples in "train", "val", "test_seen" and "test_unseen"; no row is in two
        parts, and a row may be in none. Missing parts are empty. "val" are samples of seen classes for validation; in
        benchmark files their classes differ from those of "train".
    source : str, optional
        The origin of the data.
    ids : sequence of str, optional
        The identity of each sample, such as the path of an image: predictions show it too.
    id_name : str, default "id"
        The name of the ids, such as that of their column.
    imputation : Imputation, optional
        The replacements of missing values in X: see :meth:`imputed`.
    columns : sequence of str, optional
        The names of the features, if they come from a table.

    Attributes
    ----------
    class_numbers : ndarray of shape (n_samples,)
        The row of ``classes`` that each sample belongs to.

    Examples
    --------
    >>> from jcmspl import JCMSPL
    >>> from jcmspl.datasets import load_digits
    >>> digits = load_digits()
    >>> digits.unseen
    ['two', 'four', 'six']
    >>> X, y = digits.part("test_unseen")
    >>> model = JCMSPL().fit(digits.chunks("trainval"), class_vectors=digits.classes)
    >>> model.score(X, y) > 1 / 3
    True
    """

    name: str
    X: RowSource
    y: LabelArray
    classes: ClassTable
    parts: Mapping[str, IntArray]
    source: str = ""
    ids: Sequence[str] | None = None
    id_name: str = "id"
    imputation: Imputation | None = None
    columns: Sequence[str] | None = None
    class_numbers: IntArray = field(init=False)

    def __post_init__(self) -> None:
        _check_features(self.X)
        if not isinstance(self.classes, ClassTable):
            raise DatasetError(f"classes must be a ClassTable, but is a {type(self.classes).__name__}")
        with about(None):
            labels = as_label_list(self.y)
            if len(labels) != len(self.X):
                raise DatasetError(f"there are {len(self.X)} samples in X but {len(labels)} labels in y")
            numbers = self.classes.positions(labels, "y")
        # the class is frozen, but may convert its fields here
        if not (isinstance(self.y, np.ndarray) and self.y.ndim == 1):
            object.__setattr__(self, "y", label_array(labels))
        object.__setattr__(self, "parts", _checked_parts(self.parts, len(self.X)))
        object.__setattr__(self, "class_numbers", numbers)
        if self.ids is not None:
            if len(self.ids) != len(self.X):
                raise DatasetError(f"there are {len(self.X)} samples in X but {len(self.ids)} ids")
            if not isinstance(self.ids, LazyIds):
                object.__setattr__(self, "ids", [str(one) for one in self.ids])
        if self.columns is not None and len(self.columns) != self.n_features:
            raise DatasetError(f"there are {self.n_features} features in X but {len(self.columns)} names in columns")
        self._check_protocol()

    @property
    def n_samples(self) -> int:
        """The number of samples, including those in no part."""
        return len(self.X)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    @cached_property
    def seen(self) -> list[Label]:
        """The classes that have samples in "train" or "val", in the order of ``classes``."""
        return self._labels_in("trainval")

    @cached_property
    def unseen(self) -> list[Label]:
        """The classes that have samples in "test_unseen", in the order of ``classes``."""
        return self._labels_in("test_unseen")

    def rows(self, part: str) -> IntArray:
        """Return the row numbers of a part, ascending; "trainval" is "train" and "val" together."""
        if one_of(part, "part", _ALL_PARTS) == "trainval":
            return np.sort(np.concatenate([self.parts["train"], self.parts["val"]]))
        return self.parts[part]

    def part(self, name: str) -> tuple[FloatArray, LabelArray]:
        """Return the samples and labels of a part, in memory; from a dask array, as a dask array."""
        rows = self.rows(name)
        X = read_rows(self.X, rows)
        in_file = isinstance(self.X, np.memmap) and np.may_share_memory(X, self.X)
        return np.array(X) if in_file else X, self.y[rows]

    def chunks(self, name: str, size: int = 8192) -> Iterator[tuple[FloatArray, LabelArray]]:
        """Yield the samples and labels of a part in chunks, which ``JCMSPL.fit`` takes as a stream.

        A dask array is one chunk.
        """
        rows, size = self.rows(name), as_count(size, "size")
        return ((X, self.y[block]) for block, X in in_chunks(self.X, rows, size))

    def unlabelled(self, *names: str) -> Any:
        """Return the samples of some parts without labels, as ``JCMSPL.adapt`` takes them.

        These are chunks, or a dask array where the data set has one.
        """
        return unlabelled_rows(self.X, [self.rows(name) for name in names])

    def held_out(self, share: float = 0.2, random_state: int = 0) -> Dataset:
        """Return the data set with some training samples of each class set aside as "test_seen".

        This is the generalised protocol for data without such a part. The samples are not copied.

        Parameters
        ----------
        share : float, default 0.2
            The share of each seen class; at least one sample of a class stays for training.
        random_state : int, default 0
            The samples drawn from a class depend on this seed, its name and its number of samples, not on other
            classes.
        """
        if len(self.parts["test_seen"]):
            raise ValueError(
                f"{self.name} already has {len(self.parts['test_seen'])} samples in the part 'test_seen': use those"
            )
        drawn = draw_per_class(self.rows("trainval"), self.class_numbers, list(self.classes), share, random_state)
        left = {name: np.setdiff1d(self.parts[name], drawn) for name in ("train", "val")}
        return replace(self, parts={**self.parts, **left, "test_seen": drawn})

    def imputed(self, how: Any = "mean", part: str = "trainval") -> Dataset:
        """Return the data set with missing values (NaN) replaced as they are read. Nothing is copied.

        Parameters
        ----------
        how : {"mean", "zero"} or array_like of shape (n_features,), default "mean"
            The mean of each feature over the training samples, ignoring missing values; zero; or values such as
            ``model.imputed_values_``.
        part : {"trainval", "train"}, default "trainval"
            The training samples, which are read once for the mean.

        Examples
        --------
        >>> import numpy as np
        >>> from jcmspl.datasets import load_arrays
        >>> X = np.array([[1.0, 2.0], [np.nan, 4.0], [3.0, np.nan]])
        >>> data = load_arrays(X, ["a", "b", "a"], class_vectors={"a": [0], "b": [1]}).imputed("mean")
        >>> data.X[:].tolist()
        [[1.0, 2.0], [2.0, 4.0], [3.0, 3.0]]
        >>> data.imputation.values.tolist(), data.imputation.n_values
        ([2.0, 3.0], 2)
        """
        if isinstance(how, str):
            found = Imputation.of(self.X, self.rows(part), how)
        else:
            found = Imputation("given", np.asarray(how, dtype=np.float64))
        return replace(self, X=imputed(self.X, found.values), imputation=found)

    def without(self, part: str, labels: Iterable[Label]) -> Dataset:
        """Return the data set without the samples of some classes in one part."""
        left_out = self.classes.positions(labels)
        if not len(left_out):
            return self
        rows = self.parts[part]
        return replace(self, parts={**self.parts, part: rows[~np.isin(self.class_numbers[rows], left_out)]})

    def with_labels_of(self, table: ClassTable) -> Dataset:
        """Return the data set with labels converted to the types of another table.

        A text file of labels holds "3" where a model has 3.
        """
        by_text = {str(label): label for label in table}
        labels = list(self.classes)
        own = [by_text.get(str(label), label) for label in labels]
        if own == labels or len(set(own)) != len(own):
            return self
        classes = ClassTable(own, self.classes.vectors, self.classes.attributes, self.classes.sources)
        return replace(self, y=classes.labels[self.class_numbers], classes=classes)

    def describe(self) -> str:
        """Return a summary of a few lines."""
        lines = [
            f"{shown(self.name)}: {self.n_samples:,} samples x {self.n_features:,} features ({self.X.dtype}), "
            f"{self.classes.n_classes} classes x {self.classes.n_attributes} attributes",
        ]
        for part in PARTS:
            rows = self.parts[part]
            count = len(np.unique(self.class_numbers[rows]))
            lines.append(f"  {part:12}{len(rows):>10,} samples of {count:>5} classes" if len(rows) else f"  {part:12}-")
        rest = self.n_samples - sum(len(rows) for rows in self.parts.values())
        if rest:
            lines.append(f"  {'in no part':12}{rest:>10,} samples")
        lines.append(f"  unseen classes: {some(self.unseen, 5) or '-'}")
        if self.source:
            lines.append(f"  source: {shown(self.source, 200)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"Dataset {quoted(self.name)}: {self.n_samples:,} samples x {self.n_features:,} features, "
            f"{len(self.seen)} seen and {len(self.unseen)} unseen classes"
        )

    def _card(self) -> Card:
        facts = {
            "samples": f"{self.n_samples:,} x {self.n_features:,} features ({self.X.dtype})",
            "classes": f"{self.classes.n_classes:,} x {self.classes.n_attributes:,} attributes",
            "seen classes": f"{len(self.seen):,}: {some(self.seen, 5)}",
            "unseen classes": f"{len(self.unseen):,}: {some(self.unseen, 5)}" if self.unseen else "none",
        } | ({"source": self.source} if self.source else {})
        counts = {part: (len(rows), len(np.unique(self.class_numbers[rows]))) for part, rows in self.parts.items()}
        rows = [[part, f"{n:,}", f"{n_classes:,}"] for part, (n, n_classes) in counts.items() if n]
        if rest := self.n_samples - sum(n for n, _ in counts.values()):
            rows.append(["in no part", f"{rest:,}", ""])
        return Card(f"Dataset {self.name}", facts=facts, tables=[Table("", ["part", "samples", "classes"], rows)])

    def _labels_in(self, part: str) -> list[Label]:
        labels = list(self.classes)
        return [labels[number] for number in np.unique(self.class_numbers[self.rows(part)])]

    def _check_protocol(self) -> None:
        """Refuse parts that are not a zero-shot problem."""
        if not len(self.parts["train"]):
            raise DatasetError("there are no training samples: the part 'train' is empty")
        seen = set(self.seen)
        both = [label for label in self.unseen if label in seen]
        if both:
            raise DatasetError(
                "seen and unseen classes overlap: 'test_unseen' and the training data both have samples of "
                f"{len(both)} classes: {some(both)}"
            )
        untrained = [label for label in self._labels_in("test_seen") if label not in seen]
        if untrained:
            raise DatasetError(
                f"'test_seen' has samples of {len(untrained)} classes without training samples: {some(untrained)}"
            )


class TestSet(Dataset):
    """A data set to test a model with, which need not have training samples."""

    def _check_protocol(self) -> None:
        """Accept any parts."""


def _check_features(X: Any) -> None:
    """Refuse anything but rows of real numbers, without reading them."""
    shape, dtype = getattr(X, "shape", None), getattr(X, "dtype", None)
    if shape is None or dtype is None:
        raise DatasetError(f"X must be an array with shape and dtype, but is a {type(X).__name__}")
    if len(shape) != 2:
        raise DatasetError(f"X must have rows and columns, but its shape is {tuple(shape)}")
    if np.dtype(dtype).kind not in "fiub":
        raise DatasetError(f"X must hold real numbers, but its dtype is {dtype}")
    if 0 in shape:
        raise DatasetError(f"X is empty (its shape is {tuple(shape)})")


def _checked_parts(parts: Mapping[str, Any], n_samples: int) -> dict[str, IntArray]:
    """Return all parts with sorted rows, missing ones empty; refuse parts that overlap."""
    unknown = [name for name in parts if name not in PARTS]
    if unknown:
        raise DatasetError(f"there is no part named {some(unknown)}: parts are {', '.join(PARTS)}")
    checked = {name: _checked_rows(np.asarray(parts.get(name, ())), name, n_samples) for name in PARTS}
    owner = np.full(n_samples, -1, dtype=np.int8)
    for number, (name, rows) in enumerate(checked.items()):
        taken = rows[owner[rows] >= 0]
        if len(taken):
            raise DatasetError(
                f"the parts {PARTS[owner[taken[0]]]!r} and {name!r} overlap: row {taken[0]} is in both "
                f"({len(taken)} such rows in all)"
            )
        owner[rows] = number
    return checked


def _checked_rows(rows: npt.NDArray[Any], name: str, n_samples: int) -> IntArray:
    if rows.size == 0:
        return np.empty(0, dtype=np.int64)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise DatasetError(f"part {name!r} must be a list of row numbers, but is {rows.dtype} of shape {rows.shape}")
    for extreme in (rows.min(), rows.max()):
        if not 0 <= extreme < n_samples:
            raise DatasetError(
                f"part {name!r} holds the row {extreme}, but rows are 0 to {n_samples - 1} "
                "(files of this field count from 1, Python from 0)"
            )
    rows = np.sort(rows.astype(np.int64))
    twice = rows[1:][rows[1:] == rows[:-1]]
    if len(twice):
        raise DatasetError(f"part {name!r} holds the row {twice[0]} more than once")
    rows.flags.writeable = False
    return rows
