"""Class tables: a vector for each class, keyed by label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import Label, LabelArray, as_label_list, label_array, some
from jcmspl.data.sources import Sources, check_source_shares, checked_sources, share_roots
from jcmspl.support.arguments import Float64Array, IntArray, as_real_array
from jcmspl.support.containers import Columns, column_matrix, columns_of_table, unwrapped
from jcmspl.support.scaling import unit_length
from jcmspl.support.shown import ELLIPSIS, Card, ShownAsCard, Table, elided, quoted

# What a notebook shows of a table; the rest is left out.
_MOST_ROWS, _MOST_COLUMNS = 10, 8
_MADE_UP = "attribute "  # before the number of an attribute without a name
_EMBEDDING = 16  # dimensions at least
#: A column of a table of class vectors with one of these names holds the labels.
LABEL_COLUMNS = ("class", "class_name", "class_names", "name", "names", "label", "labels")


class ClassTable(ShownAsCard):
    """Class vectors (attributes or text embeddings) under the names of their classes.

    A table has no length and is no array, on purpose: scikit-learn's cross-validation would take it for one value per
    sample whenever the number of classes happens to be the number of samples.

    Parameters
    ----------
    labels : sequence of n_classes different labels
        Strings, numbers or other hashable values.
    vectors : array_like of shape (n_classes, n_attributes)
    attributes : sequence of str, optional
        The names of the dimensions of the vectors.
    sources : sequence of (str, int), optional
        What the vectors were joined of: the name of each source and the number of its dimensions. :meth:`joined` makes
        such tables.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
    vectors : ndarray of shape (n_classes, n_attributes)
        float64, read-only.
    attributes : tuple of str or None
    sources : tuple of (str, int) or None

    Examples
    --------
    >>> from jcmspl import ClassTable
    >>> table = ClassTable(["zebra", "horse"], [[1, 1], [0, 1]], attributes=["stripes", "hooves"])
    >>> table["zebra"]
    array([1., 1.])
    >>> "otter" in table
    False
    >>> table
    ClassTable of 2 classes x 2 attributes: 'zebra', 'horse'
    """

    def __init__(
        self,
        labels: Any,
        vectors: npt.ArrayLike,
        attributes: Iterable[str] | None = None,
        sources: Iterable[tuple[str, int]] | None = None,
    ) -> None:
        matrix = np.array(as_real_array(vectors, "class_vectors"), dtype=np.float64, order="C")
        values = as_label_list(labels, "labels")
        self.labels: LabelArray = label_array(values)
        self.labels.flags.writeable = False
        if len(matrix) != len(values):
            raise ValueError(f"there are {len(values)} labels but {len(matrix)} class_vectors")
        if matrix.size == 0:
            raise ValueError(f"class_vectors is empty (its shape is {matrix.shape})")
        if not np.isfinite(matrix).all():
            bad = [values[row] for row in np.flatnonzero(~np.isfinite(matrix).all(axis=1))]
            raise ValueError(f"class_vectors holds NaN or infinity in the vectors of {len(bad)} classes: {some(bad)}")
        self._position: dict[Label, int] = {}
        for position, label in enumerate(values):
            if self._position.setdefault(label, position) != position:
                raise ValueError(f"class_vectors has two vectors for the class {quoted(label)}: names must differ")
        matrix.flags.writeable = False
        self.vectors: Float64Array = matrix
        self.attributes = None if attributes is None else tuple(map(str, attributes))
        if self.attributes is not None and len(self.attributes) != matrix.shape[1]:
            raise ValueError(f"there are {len(self.attributes)} names for {matrix.shape[1]} attributes")
        self.sources = None if sources is None else checked_sources(sources, matrix.shape[1])

    @classmethod
    def of(cls, value: Any) -> ClassTable:
        """Make a table of whatever stands for one.

        Parameters
        ----------
        value : ClassTable, mapping of labels to vectors, table or array_like
            A table of pandas, polars, pyarrow, DuckDB or Hugging Face has the labels in a column of text (or "class",
            "class_name", "name", "label"), and a column of vectors or one column for each attribute. A DataFrame of
            pandas without such a column has the labels in its index. The labels of an array are its row numbers.
        """
        if isinstance(value, ClassTable):
            return value
        if isinstance(value, Mapping):
            return cls(list(value), _stacked(value))
        if isinstance(value, (list, tuple)):
            return cls(range(len(value)), _stacked(dict(enumerate(value))))
        if hasattr(value, "iloc") and not hasattr(value, "columns"):  # a Series of vectors
            return cls(value.index, column_matrix(value, "class_vectors"))
        table = columns_of_table(value)
        named = None if table is None else _named_columns(table)
        if named is not None:
            return cls(*named)
        if table is not None and hasattr(value, "index") and hasattr(value, "to_numpy"):  # a DataFrame of pandas
            columns: list[Any] = table.names
            if table.vectors():
                return cls(value.index, unwrapped(value, "class_vectors"))
            numbered = columns == list(range(len(columns)))  # what pandas makes up where no names are given
            return cls(value.index, _numbers_of(value), None if numbered else columns)
        matrix = as_real_array(value, "class_vectors")
        return cls(np.arange(len(matrix)), matrix)

    @classmethod
    def one_hot(cls, labels: Iterable[Label]) -> ClassTable:
        """Return a table in which each class has a dimension of its own."""
        names = list(labels)
        return cls(names, np.eye(len(names)))

    @classmethod
    def joined(cls, *tables: Any, shares: Sequence[float] | None = None, **named: Any) -> ClassTable:
        """Set class vectors of several sources side by side, such as attributes and text embeddings.

        The vectors of each source are scaled to length one (those of zeros stay), and then by the root of its share: so
        much it counts for in inner products, whatever its units and the number of its dimensions. The parameter
        ``source_shares`` of all models changes the shares of a joined table.

        Parameters
        ----------
        *tables, **named : two or more of what :meth:`of` takes, with names of classes
            All must have the same classes, in any order; that of the first is kept. Attributes are named after their
            sources, as "text: attribute 3"; a source that is not named has its number.
        shares : sequence of float, optional
            A number of at least 0 for each source; by default equal ones. Only their ratios matter.

        Examples
        --------
        >>> from jcmspl import ClassTable
        >>> look = {"zebra": [1, 1], "horse": [0, 1]}
        >>> text = {"horse": [0.1, 0.2, 0.7], "zebra": [0.3, 0.3, 0.2]}
        >>> ClassTable.joined(look=look, text=text).sources
        (('look', 2), ('text', 3))
        """
        sources = _by_name(tables, named)
        check_source_shares(shares, "shares")
        roots = share_roots([1.0] * len(sources) if shares is None else shares, list(sources), "shares")
        labels = _common_labels(sources)
        parts = [root * unit_length(t.select(labels).vectors) for root, t in zip(roots, sources.values(), strict=True)]
        attributes = chain.from_iterable(_prefixed(name, t.attribute_names) for name, t in sources.items())
        return cls(labels, np.hstack(parts), attributes, [(name, t.n_attributes) for name, t in sources.items()])

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.labels)

    @property
    def n_attributes(self) -> int:
        """The dimension of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The names of the attributes, made up where none were given."""
        return self.attributes or _numbered_names(self.n_attributes)

    @property
    def nameless(self) -> tuple[tuple[str, int, int], ...]:
        """The runs of attributes whose names are mere numbers, as of an embedding: source (or ""), first and end."""
        if self.sources is None or self.attributes is None:
            return () if _are_named(self.attributes) else (("", 0, self.n_attributes),)
        runs, first = [], 0
        for name, width in self.sources:
            if not _are_named(self.attributes[first : first + width]):
                runs.append((name, first, first + width))
            first += width
        return tuple(runs)

    @property
    def is_named(self) -> bool:
        """Whether some attributes have names that tell more than a number."""
        return sum(end - first for _, first, end in self.nameless) < self.n_attributes

    def __contains__(self, label: Label) -> bool:
        return label in self._position

    def __iter__(self) -> Iterator[Label]:
        return iter(self._position)

    def __getitem__(self, label: Label) -> Float64Array:
        if label not in self._position:
            raise KeyError(f"there is no class {quoted(label)} in the table: it has {some(list(self), 5)}")
        return np.array(self.vectors[self._position[label]])

    def positions(self, labels: Iterable[Label], name: str = "the labels") -> IntArray:
        """Return the row of each label; those without a vector are refused by name."""
        wanted = list(labels)
        missing = list(dict.fromkeys(label for label in wanted if label not in self._position))
        if missing:
            count = len(dict.fromkeys(wanted))
            raise ValueError(
                f"there are no class vectors for {len(missing)} of the {count} classes in {name}: {some(missing)} "
                f"(there are for {some(list(self), 5)}){self._why(missing)}"
            )
        return np.array([self._position[label] for label in wanted], dtype=np.int64)

    def _why(self, missing: list[Label]) -> str:
        """Return a likely reason why labels have no vector, as the end of a sentence."""
        alike = {str(label): label for label in self}
        twin = next((label for label in missing if str(label) in alike), None)
        if twin is not None:
            other = alike[str(twin)]
            return (
                f": their types differ, {quoted(twin)} is of type {type(twin).__name__} and {quoted(other)} of type "
                f"{type(other).__name__}, so make them the same, for example with y.astype({type(other).__name__})"
            )
        if all(isinstance(label, int) for label in missing) and all(isinstance(label, str) for label in self):
            return (
                ": the labels are numbers, but the classes have names, so replace each number by its name, as in "
                "np.asarray(names)[y] (for files: label_names, --label-names)"
            )
        by_number = list(self) == list(range(self.n_classes))
        columns = self.attributes or (range(self.n_attributes) if by_number else ())
        if all(label in columns for label in missing):
            return ": if classes are the columns of class_vectors and not its rows, pass its transpose, class_vectors.T"
        return ""

    def own_labels(self, labels: Iterable[Label]) -> list[Label]:
        """Return the labels as this table has them: 1.0 becomes 1 if that is the name of the class."""
        own = list(self)
        return [own[i] for i in self.positions(labels)]

    def select(self, labels: Iterable[Label], name: str = "the labels") -> ClassTable:
        """Return a table of the given classes, in the given order."""
        wanted = list(labels)
        return ClassTable(wanted, self.vectors[self.positions(wanted, name)], self.attributes, self.sources)

    def others(self, labels: Iterable[Label]) -> list[Label]:
        """Return the other classes, in their order."""
        left_out = set(labels)
        return [label for label in self if label not in left_out]

    def without(self, labels: Iterable[Label]) -> ClassTable | None:
        """Return a table of the other classes in their order; None if there are none."""
        rest = self.others(labels)
        return self.select(rest) if rest else None

    def updated(self, other: ClassTable) -> ClassTable:
        """Return a table of the classes of both; where both have a class, the vector of the other table counts."""
        other = other.aligned_with(self)
        rest = self.others(other)
        vectors = np.vstack([self.vectors[self.positions(rest)], other.vectors])
        attributes, sources = self.attributes or other.attributes, self.sources or other.sources
        return ClassTable([*rest, *other], vectors, attributes, sources)

    def aligned_with(self, other: ClassTable) -> ClassTable:
        """Return this table with its attributes in the order of the other's; other attributes are refused.

        So are other sources. A table without any is taken for one that was joined like the other.
        """
        if other.n_attributes != self.n_attributes:
            raise ValueError(
                f"the class vectors given have {self.n_attributes} attributes, but those of the model have "
                f"{other.n_attributes}"
            )
        if self.sources and other.sources and (self.sources, self.attributes) != (other.sources, other.attributes):
            return self._aligned_by_source(other, self.sources, other.sources)
        if not self.attributes or not other.attributes or self.attributes == other.attributes:
            return self
        position = {name: i for i, name in enumerate(self.attributes)}
        strangers = [name for name in self.attributes if name not in other.attributes]
        if strangers or len(position) != self.n_attributes:
            raise ValueError(
                f"the class vectors given have other attributes than those of the model: {some(strangers)} in place of "
                f"{some([name for name in other.attributes if name not in position])}"
            )
        order = [position[name] for name in other.attributes]
        return ClassTable(list(self), self.vectors[:, order], other.attributes, other.sources)

    def _aligned_by_source(self, other: ClassTable, own: Sources, wanted: Sources) -> ClassTable:
        if sorted(own) != sorted(wanted):
            raise ValueError(
                f"the class vectors given were joined of other sources than those of the model: {_shown(own)} in place "
                f"of {_shown(wanted)}"
            )
        mine, theirs = self._parts(own), other._parts(wanted)
        parts = [mine[name].aligned_with(part).vectors for name, part in theirs.items()]
        return ClassTable(list(self), np.hstack(parts), other.attributes, wanted)

    def _parts(self, sources: Sources) -> dict[str, ClassTable]:
        """Return the joined sources, each as a table; its attributes have names unless these were made up."""
        parts, first = {}, 0
        for name, width in sources:
            columns = slice(first, first + width)
            names = None if self.attributes is None else self.attributes[columns]
            if names == _prefixed(name, _numbered_names(width)):
                names = None
            parts[name] = ClassTable(list(self), self.vectors[:, columns], names)
            first += width
        return parts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassTable):
            return NotImplemented
        same_names = list(self) == list(other) and self.attributes == other.attributes
        return same_names and self.sources == other.sources and np.array_equal(self.vectors, other.vectors)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return ClassTable, (list(self), np.array(self.vectors), self.attributes, self.sources)

    def __repr__(self) -> str:
        return f"ClassTable of {self.n_classes} classes x {self.n_attributes} attributes: {some(list(self), 5)}"

    def _card(self) -> Card:
        labels, names = list(self), self.attribute_names
        columns = elided(range(self.n_attributes), _MOST_COLUMNS, None)
        header = ["class", *(ELLIPSIS if column is None else names[column] for column in columns)]
        rows = []
        for row in elided(range(self.n_classes), _MOST_ROWS, None):
            vector = [ELLIPSIS if None in (row, column) else f"{self.vectors[row, column]:.3g}" for column in columns]
            rows.append([ELLIPSIS if row is None else str(labels[row]), *vector])
        sources = {"joined of": _shown(self.sources)} if self.sources else {}
        title = f"ClassTable of {self.n_classes:,} classes x {self.n_attributes:,} attributes"
        return Card(title, facts=sources, tables=[Table("", header, rows)])


def _numbered_names(n_attributes: int) -> tuple[str, ...]:
    return tuple(f"{_MADE_UP}{i}" for i in range(n_attributes))


def _are_named(names: Sequence[str] | None) -> bool:
    """Tell whether names were given and are not those of an embedding: a word with a running number (dim_0, dim_1)."""
    found = [re.fullmatch(r"(.*?)(\d+)", name) for name in names or ()]
    words = {(match[1], int(match[2]) - i) for i, match in enumerate(found) if match}
    if not all(found) or len(words) > 1:
        return True
    ((word, _),) = words or {(_MADE_UP, 0)}
    return len(found) < _EMBEDDING and not word.endswith(_MADE_UP)


def _prefixed(source: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{source}: {name}" for name in names)


def _by_name(tables: Sequence[Any], named: Mapping[str, Any]) -> dict[str, ClassTable]:
    """Return sources as tables, those without a name by their number."""
    given = {**{str(number): table for number, table in enumerate(tables, start=1)}, **named}
    if len(given) < 2 or len(given) < len(tables) + len(named):
        raise ValueError("ClassTable.joined needs two sources at least, with different names")
    for name, value in given.items():
        if not (isinstance(value, (ClassTable, Mapping)) or hasattr(value, "columns")):
            raise TypeError(
                f"the source {quoted(name)} must name its classes, for sources are matched by name: pass a dict, a "
                "DataFrame or a ClassTable"
            )
    return {name: ClassTable.of(value) for name, value in given.items()}


def _common_labels(sources: Mapping[str, ClassTable]) -> list[Label]:
    """Return the classes that all sources must have."""
    labels = list(dict.fromkeys(label for table in sources.values() for label in table))
    for name, table in sources.items():
        missing = [label for label in labels if label not in table]
        if missing:
            raise ValueError(
                f"the source {quoted(name)} has no class vectors for {len(missing)} of the {len(labels)} classes of "
                f"all sources: {some(missing)}{table._why(missing)}"
            )
    return labels


def _shown(sources: Sources) -> str:
    return ", ".join(f"{quoted(name)} ({width} attributes)" for name, width in sources)


def _stacked(vectors: Mapping[Any, Any]) -> Float64Array:
    """Return the vectors of a mapping as rows, or say which one does not fit."""
    rows: list[Float64Array] = []
    for label, vector in vectors.items():
        row = np.asarray(unwrapped(vector))
        if row.dtype.kind not in "fiub":
            raise TypeError(f"the class vector of {quoted(label)} does not hold real numbers")
        if row.ndim != 1:
            raise ValueError(
                f"the class vector of {quoted(label)} must have one dimension, but its shape is {row.shape}"
            )
        if rows and len(row) != len(rows[0]):
            raise ValueError(
                f"class vectors must have the same length, but that of {quoted(next(iter(vectors)))} has "
                f"{len(rows[0])} values and that of {quoted(label)} has {len(row)}"
            )
        rows.append(row)
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)


def _named_columns(table: Columns) -> tuple[Any, npt.NDArray[Any], list[str] | None] | None:
    """Return the labels, vectors and attributes of a table that has a column of labels; else None."""
    vectors = table.vectors()
    others = [name for name in (table.names if vectors else table.candidates) if name not in vectors]
    texts = [name for name in others if name in table.candidates]
    label = next((name for name in LABEL_COLUMNS if name in others), texts[0] if len(texts) == 1 else None)
    if label is None or len(table.names) < 2:
        return None
    labels = np.asarray(table.read(label))
    if labels.dtype.kind not in "iuUSOT":
        return None
    if len(vectors) == 1:
        return labels, column_matrix(table.read(vectors[0]), f"class_vectors[{quoted(vectors[0])}]"), None
    attributes = [name for name in table.names if name != label]
    columns = [as_real_array(table.read(name), f"class_vectors[{quoted(name)}]", ndim=1) for name in attributes]
    return labels, np.column_stack(columns), attributes


def _numbers_of(frame: Any) -> Float64Array:
    """Return the values of a DataFrame, also of columns of different types."""
    for column in frame.columns:
        if getattr(frame[column].dtype, "kind", "O") not in "fiub":
            raise TypeError(
                f"class_vectors must hold real numbers, but its column {quoted(column)} is {frame[column].dtype}"
            )
    return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
