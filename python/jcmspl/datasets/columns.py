"""The columns of a table of samples: features, a column of labels, a column of ids, and ignored columns."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jcmspl.data.labels import some
from jcmspl.datasets.errors import DatasetError, require_memory
from jcmspl.io.files import Place
from jcmspl.support.shown import quoted, suggestion
from jcmspl.support.warn import warn_user

#: A column with one of these names holds labels.
LABEL_COLUMNS = ("label", "labels", "class", "y")
#: A column with one of these names, in lower or upper case, holds ids of samples. Earlier names take precedence.
ID_COLUMNS = (
    *("id", "ids", "path", "paths", "file", "files", "filename", "filenames", "file_name"),
    *("image_path", "image_file", "image_files", "image_id", "url"),
    "",  # pandas writes an unnamed index with this name
    "unnamed: 0",  # and reads it back with this one
)
#: The remedies for a missing value, as the end of a sentence.
MISSING_ADVICE = "fill it in, or train a model with impute='mean' or 'zero' (--impute), which it remembers"
#: A column by its name, or by its number from 1 on.
Column = str | int


@dataclass(frozen=True)
class TableForm:
    """How a table of samples is written, and which columns are not features, as for ``load_arrays``."""

    header: str = "auto"
    delimiter: str | None = None
    id_column: Column | None = None
    ignore: Sequence[Column] = ()
    ignore_text: bool = False
    missing: bool = False
    vector: str | None = None
    array: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.ignore, (str, int)):
            raise TypeError(f"ignore must be a list of columns, but is {self.ignore!r}")
        object.__setattr__(self, "ignore", tuple(self.ignore))


@dataclass(frozen=True)
class Roles:
    """The positions of the columns of features, labels and ids."""

    features: tuple[int, ...]
    label: int | None = None
    id: int | None = None
    left_out: tuple[str, ...] = ()  #: names of columns that were left out without being asked for


@dataclass(frozen=True)
class Table:
    """The features of a table, and the labels and ids in its other columns."""

    columns: list[str] | None
    numbers: npt.NDArray[Any]
    labels: list[Any] | None
    ids: list[str] | None = None
    id_name: str = "id"
    left_out: tuple[str, ...] = ()  #: names of columns that were left out without being asked for
    label_names: tuple[str, ...] = ()  #: of labels that are numbers from 0, if the file has them


def joined(path: Place, blocks: Iterable[Table]) -> Table:
    """Return the blocks of a file as one table."""
    tables: list[Table] = []
    n_bytes = 0
    for table in blocks:
        tables.append(table)
        n_bytes += table.numbers.nbytes
        if len(tables) > 1:  # they are copied below; a query may have no end
            require_memory(path, "its content", n_bytes)
    if not tables:
        raise DatasetError(f"{path} holds no samples")

    def texts(name: str) -> list[Any] | None:
        lists = [getattr(table, name) for table in tables]
        return None if lists[0] is None else list(itertools.chain.from_iterable(lists))

    numbers = tables[0].numbers if len(tables) == 1 else np.concatenate([table.numbers for table in tables])
    return replace(tables[0], numbers=numbers, labels=texts("labels"), ids=texts("ids"))


def roles_of(
    path: Place,
    names: Sequence[str] | None,
    width: int,
    labels: Column | Sequence[str] | None,
    form: TableForm,
    texts: Iterable[int] = (),
) -> Roles:
    """Return the role of each column; ``texts`` are the positions of columns that do not hold numbers.

    Without a header, ``names`` is None. ``labels`` is a column, several names in order of preference, or None if labels
    come from elsewhere.
    """
    label = None if labels is None else _label(path, names, width, labels)
    ignored = {position_of(path, names, width, column) for column in form.ignore}
    usual = [] if names is None else _usual(names, label, ignored)
    if form.id_column is not None:
        identity: int | None = position_of(path, names, width, form.id_column)
    else:
        identity = next((i for i in usual if names is not None and names[i].lower() in ID_COLUMNS), None)
    taken = {*ignored, label, identity}
    unasked = [i for i in usual if i not in taken]
    texts_left = [i for i in texts if i not in taken and i not in unasked]
    if texts_left and not form.ignore_text:
        raise DatasetError(_unexpected_texts(path, names, texts_left))
    no_features = {*taken, *unasked, *texts_left}
    features = tuple(i for i in range(width) if i not in no_features)
    if not features:
        raise DatasetError(f"{path} has {width} columns, of which none is left for features")
    return Roles(features, label, identity, tuple(names[i] for i in unasked) if names else ())


class NamedRoles(NamedTuple):
    """The names of the columns of features, or of the one that holds vectors, of labels and of ids."""

    features: tuple[str, ...] = ()
    is_vector: bool = False
    label: str | None = None
    id: str | None = None
    left_out: tuple[str, ...] = ()  #: names of columns that were left out without being asked for


def named_roles(
    path: Place,
    names: Sequence[str],
    vectors: Sequence[str],
    labels: Column | Sequence[str] | None,
    form: TableForm,
    texts: Iterable[int],
) -> NamedRoles:
    """Return the role of each column of a table in which some columns may hold a vector in each row."""
    if form.vector is not None and form.vector not in vectors:
        raise no_column(path, form.vector, names, " with a vector in each row")
    if form.vector is None and len(vectors) > 1:
        raise DatasetError(
            f"{path}: the columns {some(list(vectors))} all hold vectors: name one with vector (--vector), or leave "
            "the others out with ignore (--ignore)"
        )
    if not vectors:
        roles = roles_of(path, names, len(names), labels, form, texts)
        label, own = (None if i is None else names[i] for i in (roles.label, roles.id))
        return NamedRoles(tuple(names[i] for i in roles.features), False, label, own, roles.left_out)
    for column in form.ignore:
        position_of(path, names, len(names), column)  # other columns are left out, but a name must be right
    vector = form.vector or vectors[0]
    label = None if labels is None else names[_label(path, names, len(names), labels)]
    if form.id_column is not None:
        return NamedRoles((vector,), True, label, names[position_of(path, names, len(names), form.id_column)])
    by_name = {name.lower(): name for name in reversed(names) if name not in (vector, label)}
    return NamedRoles((vector,), True, label, next((by_name[name] for name in ID_COLUMNS if name in by_name), None))


def position_of(path: Place, names: Sequence[str] | None, width: int, column: Column) -> int:
    """Return the position, from 0, of a column given by its name or by its number from 1 on."""
    if isinstance(column, str) and names is not None and column in names:
        if names.count(column) > 1:
            raise DatasetError(f"{path} has several columns named {quoted(column)}: give the number of one, from 1 on")
        return names.index(column)
    number = str(column).strip()
    if number.isascii() and number.isdecimal():
        if not 1 <= int(number) <= width:
            raise DatasetError(f"{path} has {width} columns, so there is no column {number}: they count from 1")
        return int(number) - 1
    if names is None:
        raise DatasetError(
            f"{path} has no header line, so it has no column named {quoted(column)}: give its number, from 1 on"
        )
    raise no_column(path, str(column), names)


def no_column(path: Place, wanted: str, names: Sequence[str], more: str = "") -> DatasetError:
    """Return the error for a column that is not among those of a table; ``more`` is said after its name."""
    hint = "" if wanted in names else suggestion(wanted, names)
    there = f"its {len(names)} columns are {some(list(names), 6)}{hint}"
    return DatasetError(f"{path} has no column named {quoted(wanted)}{more}: {there}")


def require_same_columns(path: Place, names: Sequence[str], trained: Sequence[str]) -> None:
    """Compare the names of features with those that a model was trained with, as many of them.

    Another order is refused, and so are some other names. If no name is known, the same features may have been renamed:
    they are taken in their order, with a warning.
    """
    first = next((i for i, pair in enumerate(zip(names, trained, strict=True)) if pair[0] != pair[1]), None)
    if first is None:
        return
    own, other = quoted(names[first]), quoted(trained[first])
    here, there = Counter(names), Counter(trained)
    if here == there:
        raise DatasetError(
            f"{path} has its columns in another order than the samples that the model was trained on: feature "
            f"{first + 1} was {other} and is {own} here; put them in that order"
        )
    if here.keys() & there.keys():
        raise DatasetError(
            f"{path} has other columns than the samples that the model was trained on: it lacks "
            f"{some(list(there - here))}, and has {some(list(here - there))} instead; leave columns out with ignore "
            "(--ignore), or rename them as they were in training"
        )
    warn_user(
        f"{path} has columns of other names than in training, such as {own} for {other}: they are taken in their order",
        UserWarning,
    )


def column_name(names: Sequence[str] | None, position: int) -> str:
    """Return the name of a column for messages."""
    return f"number {position + 1}" if names is None else quoted(names[position])


def id_name(names: Sequence[str] | None, position: int | None) -> str:
    """Return the name of the column of ids, by default "id"."""
    return "id" if names is None or position is None or not names[position] else names[position]


def _label(path: Place, names: Sequence[str] | None, width: int, labels: Column | Sequence[str]) -> int:
    if isinstance(labels, (str, int)):
        return position_of(path, names, width, labels)
    wanted = " or ".join(map(repr, labels))
    if names is None:
        raise DatasetError(f"{path} has no header line, so it has no column named {wanted}")
    found = next((name for name in labels if name in names), None)
    if found is None:
        raise no_column(path, labels[0], names, "".join(f" or {name!r}" for name in labels[1:]))
    return position_of(path, names, width, found)


def _usual(names: Sequence[str], label: int | None, ignored: set[int]) -> list[int]:
    """Return the columns with usual names of ids, in the order of preference, and those with names of labels."""
    free = [i for i in range(len(names)) if i != label and i not in ignored]
    ids = [i for i in free if names[i].lower() in ID_COLUMNS]
    ids.sort(key=lambda i: ID_COLUMNS.index(names[i].lower()))
    return [*ids, *(i for i in free if names[i] in LABEL_COLUMNS)]


def _unexpected_texts(path: Place, names: Sequence[str] | None, texts: Sequence[int]) -> str:
    found = ", ".join(column_name(names, i) for i in texts[:3]) + (", ..." if len(texts) > 3 else "")
    several = len(texts) > 1
    example = texts[0] + 1 if names is None else names[texts[0]]
    return (
        f"{path}: the column{'s' * several} {found} {'do' if several else 'does'} not hold numbers: name the one that "
        f"holds ids of samples with id_column (--id), leave others out with ignore (--ignore {example}), or all with "
        "ignore_text=True (--ignore-text)"
    )
