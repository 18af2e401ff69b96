"""What the columns of a table of samples are for: features, labels, ids, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jcmspl.data.labels import some
from jcmspl.datasets.errors import DatasetError
from jcmspl.io.paths import Place
from jcmspl.support.shown import quoted
from jcmspl.support.warn import warn_user

#: What holds labels, where a column has one of these names.
LABEL_COLUMNS = ("label", "labels", "class", "y")
#: What tells samples apart, where a column has one of these names, in small or capital letters.
ID_COLUMNS = (
    "id",
    "ids",
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "file_name",
    "image_path",
    "image_file",
    "image_files",
    "image_id",
    "url",
    "",  # pandas writes the index of a table without a name
    "unnamed: 0",  # and reads it so
)
#: A column by its name, or by its number, which counts from 1.
Column = str | int


@dataclass(frozen=True)
class TableForm:
    """How a table of samples is written, and which of its columns are no features.

    Attributes
    ----------
    header : {"auto", "yes", "no"}
        Whether a CSV file starts with a header.
    delimiter : str, optional
        What is between the cells of a CSV file; None: it is found out.
    id_column : name or number, optional
        What tells samples apart; by default a column with one of the usual names.
    ignore : sequence of names or numbers
        Columns that are left out.
    ignore_text : bool
        Whether all other columns of texts are left out; they are refused otherwise.
    missing : bool
        Whether values may be missing, which are NaN then.
    """

    header: str = "auto"
    delimiter: str | None = None
    id_column: Column | None = None
    ignore: Sequence[Column] = ()
    ignore_text: bool = False
    missing: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.ignore, (str, int)):
            raise TypeError(f"ignore must be a list of columns, but is {self.ignore!r}")
        object.__setattr__(self, "ignore", tuple(self.ignore))


@dataclass(frozen=True)
class Roles:
    """The positions of columns, and what they are for."""

    features: tuple[int, ...]
    label: int | None = None
    id: int | None = None
    left_out: tuple[str, ...] = ()  #: names of columns that nobody has asked to leave out


def roles_of(
    path: Place,
    names: Sequence[str] | None,
    width: int,
    labels: Column | Sequence[str] | None,
    form: TableForm,
    texts: Iterable[int] = (),
) -> Roles:
    """Return what the columns are for.

    Parameters
    ----------
    path : Path or address
        For messages.
    names : sequence of str, optional
        None: there is no header.
    width : int
        The number of columns.
    labels : column, several names of which the first that exists is meant, or None
        None: labels come from elsewhere.
    form : TableForm
    texts : iterable of int
        The positions of columns that hold no numbers.
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
        raise DatasetError(_about_texts(path, names, texts_left))
    no_features = {*taken, *unasked, *texts_left}
    features = tuple(i for i in range(width) if i not in no_features)
    if not features:
        raise DatasetError(f"{path} has {width} columns, of which none is left for features")
    return Roles(features, label, identity, tuple(names[i] for i in unasked) if names else ())


def position_of(path: Place, names: Sequence[str] | None, width: int, column: Column) -> int:
    """Return the position, from 0, of a column that is given by its name, or by its number from 1 on."""
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
    raise DatasetError(f"{path} has no column named {quoted(column)}: its {width} columns are {some(list(names), 6)}")


def require_same_columns(path: Place, names: Sequence[str], trained: Sequence[str]) -> None:
    """Compare the names of features with those that a model was trained with; both are of one length.

    Features in another order are refused, and others among the same ones. Where no name is known they may be the same
    under other names: they are taken as they come, with a warning.
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
            "(--ignore), or give them the names of before"
        )
    warn_user(
        f"{path} has columns of other names than in training, such as {own} for {other}: they are taken in their order",
        UserWarning,
    )


def column_name(names: Sequence[str] | None, position: int) -> str:
    """Return how a message calls a column."""
    return f"number {position + 1}" if names is None else quoted(names[position])


def _label(path: Place, names: Sequence[str] | None, width: int, labels: Column | Sequence[str]) -> int:
    if isinstance(labels, (str, int)):
        return position_of(path, names, width, labels)
    wanted = " or ".join(map(repr, labels))
    if names is None:
        raise DatasetError(f"{path} has no header line, so it has no column named {wanted}")
    found = next((name for name in labels if name in names), None)
    if found is None:
        raise DatasetError(f"{path} has no column named {wanted}: its {width} columns are {some(list(names), 6)}")
    return position_of(path, names, width, found)


def _usual(names: Sequence[str], label: int | None, ignored: set[int]) -> list[int]:
    """Return the columns whose names say that they hold labels or ids, those of ids in the order of preference."""
    free = [i for i in range(len(names)) if i != label and i not in ignored]
    ids = [i for i in free if names[i].lower() in ID_COLUMNS]
    ids.sort(key=lambda i: ID_COLUMNS.index(names[i].lower()))
    return [*ids, *(i for i in free if names[i] in LABEL_COLUMNS)]


def _about_texts(path: Place, names: Sequence[str] | None, texts: Sequence[int]) -> str:
    if names is None:
        found, options = ", ".join(f"number {i + 1}" for i in texts[:3]), f"--ignore {texts[0] + 1}"
    else:
        found, options = some([names[i] for i in texts]), f"--ignore {names[texts[0]]}"
    if len(texts) == 1:
        return (
            f"{path}: the column {found} does not hold numbers: if it tells samples apart, name it with id_column "
            f"(--id), else leave it out with ignore ({options}) or ignore_text=True (--ignore-text)"
        )
    return (
        f"{path}: the columns {found} do not hold numbers: say which of them tells samples apart with id_column "
        f"(--id), and leave others out with ignore ({options}), or all with ignore_text=True (--ignore-text)"
    )
