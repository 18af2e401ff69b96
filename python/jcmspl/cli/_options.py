"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jcmspl.support.names import DELIMITERS, HEADERS, IMPUTATIONS, LAYOUTS
from jcmspl.support.shown import shown

if TYPE_CHECKING:
    from jcmspl.datasets import Dataset

_SHARE = 0.2  # of classes, and of samples of the others, that are held out where nobody says which


def add_data(parser: argparse.ArgumentParser, *, impute: bool = True) -> None:
    """Add the data set and how to read it; what takes the place of missing values, where no model says it."""
    parser.add_argument("data", metavar="DATA", help="a file or folder in a known layout, or `digits`")
    group = parser.add_argument_group("data")
    group.add_argument("--layout", choices=LAYOUTS, help="the layout of DATA, if it is not to be found out")
    group.add_argument(
        "--attributes", choices=("att", "original_att"), default=None, help="which class vectors of an xlsa17 folder"
    )
    group.add_argument(
        "--labels",
        metavar="FILE",
        help="own data: the label of each sample (DATA has the features); or a column of DATA (name, or number from 1 "
        "on) or of its metadata",
    )
    group.add_argument("--classes", metavar="FILE", help="own data: a CSV of class vectors, names first")
    group.add_argument("--split", metavar="FILE", help="own data: the part of each sample (train, val, test_seen, ...)")
    add_headers(group)
    group.add_argument(
        "--unseen",
        metavar="SHARE",
        type=float,
        help="own data without a split: hold out all samples of this share of the classes (default: none)",
    )
    group.add_argument(
        "--hold-out",
        metavar="SHARE",
        type=float,
        help="hold out this share of the samples of seen classes for testing (default: none)",
    )
    if impute:
        group.add_argument(
            "--impute",
            choices=IMPUTATIONS,
            help="replace missing values (empty, NA, NaN, null, ?) by the mean of the training samples or by zero; the "
            "model remembers them (default: they are refused)",
        )
    group.add_argument("--seed", type=int, default=0, help="seed of whatever is drawn (default: 0)")


def add_headers(parser: Any) -> None:
    """Add how CSV files of features and of class vectors are written, and which columns are no features."""
    for prefix, what in (("--", "features"), ("--classes-", "class vectors")):
        text = f"whether a CSV of {what} has a header (default: auto, it is found out)"
        parser.add_argument(f"{prefix}header", choices=HEADERS, default="auto", help=text)
        text = f"what is between the cells of a CSV of {what}: a sign, or {', '.join(DELIMITERS)} (default: found out)"
        parser.add_argument(f"{prefix}delimiter", metavar="SIGN", help=text)
    parser.add_argument(
        "--id",
        metavar="COLUMN",
        dest="id_column",
        help="the column that tells samples apart, by name or number from 1 on; predictions have it, too (default: one "
        "named id, path, file, url or the like)",
    )
    parser.add_argument(
        "--ignore", metavar="COLUMN", action="append", default=[], help="a column to leave out (may be repeated)"
    )
    parser.add_argument("--ignore-text", action="store_true", help="leave all columns out that hold no numbers")


def table_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how the table of features is to be read, as the options say."""
    return {name: getattr(arguments, name) for name in ("header", "delimiter", "id_column", "ignore", "ignore_text")}


def dataset_of(arguments: argparse.Namespace, imputed_values: Any = None, *, tested: bool = False) -> Dataset:
    """Read the data set that the options name.

    Parameters
    ----------
    arguments : Namespace
    imputed_values : ndarray, optional
        What takes the place of missing values, if a model says it and not an option.
    tested : bool
        Whether classes, and samples of the others, must be held out, which are drawn if nobody says which.
    """
    dataset, is_own = _read_dataset(arguments, missing=imputed_values is not None)
    if tested and is_own and not dataset.unseen:
        dataset = _with_held_out_classes(dataset, arguments)
    if arguments.hold_out is not None:
        dataset = dataset.held_out(arguments.hold_out, arguments.seed)
    elif tested and not len(dataset.rows("test_seen")):
        dataset = dataset.held_out(_SHARE, arguments.seed)
        say(arguments, f"note: {_SHARE:.0%} of the samples of seen classes are held out to test with (--hold-out)")
    if imputed_values is not None:
        return dataset.imputed(imputed_values)
    how = getattr(arguments, "impute", None)
    return dataset if how is None else dataset.imputed(how, getattr(arguments, "part", None) or "trainval")


def dataset_for(arguments: argparse.Namespace, model: Any) -> Dataset:
    """Read the data set that the options name as the model has learnt to read such samples."""
    dataset = dataset_of(arguments, getattr(model, "imputed_values_", None))
    compare_columns(model, arguments.data, dataset.columns)
    return dataset


def compare_columns(model: Any, source: str, columns: Sequence[str] | None) -> None:
    """Refuse features in another order than those that the model was trained on, where both have names."""
    from jcmspl.datasets._columns import require_same_columns
    from jcmspl.io.paths import place_of

    trained = columns_of(model)
    if columns is not None and trained is not None and len(columns) == len(trained):  # else it is told elsewhere
        require_same_columns(place_of(source), columns, trained)


def columns_of(model: Any) -> list[str] | None:
    """Return the names of the features that a model was trained with, if it knows them."""
    names = getattr(model, "column_names_", getattr(model, "feature_names_in_", None))
    return None if names is None else [str(name) for name in names]


def remember_table(model: Any, dataset: Dataset) -> None:
    """Let a model know how the table that it was trained with was read."""
    if dataset.imputation is not None:
        model.imputed_values_ = dataset.imputation.values
    if dataset.columns is not None:
        model.column_names_ = tuple(dataset.columns)


def remember_held_out(arguments: argparse.Namespace, model: Any, dataset: Dataset) -> None:
    """Let a model know which samples of seen classes were held out, so that it can be tested with them."""
    import numpy as np

    from jcmspl.datasets.splits import HeldOut

    if arguments.hold_out is not None:
        rows = np.union1d(dataset.rows("trainval"), dataset.rows("test_seen"))
        model.held_out_ = HeldOut.of(rows, dataset.y[rows], arguments.hold_out, arguments.seed)


def _read_dataset(arguments: argparse.Namespace, missing: bool) -> tuple[Dataset, bool]:
    """Return the data set, and whether it is made of files of the user's own."""
    from jcmspl.datasets import load_arrays, load_dataset
    from jcmspl.datasets.errors import refuse_pictures
    from jcmspl.datasets.loading import is_data_set, is_folder_of_arrays
    from jcmspl.datasets.rows import holds_rows

    path, layout, classes = Path(arguments.data), arguments.layout, arguments.classes
    own = {"labels": arguments.labels, "class_vectors": classes, "split": arguments.split, "unseen": arguments.unseen}
    given = {name: value for name, value in own.items() if value is not None}
    table = table_options(arguments)
    table |= {name: getattr(arguments, name) for name in ("classes_header", "classes_delimiter")}
    # what takes their place is known when there is a split
    table["missing"] = missing or getattr(arguments, "impute", None) is not None
    many = holds_rows(arguments.data) and not is_data_set(arguments.data)
    if classes is not None and (path.is_file() or many) and layout in (None, "arrays"):
        return load_arrays(arguments.data, random_state=arguments.seed, **table, **given), True
    if path.is_dir() and (layout == "arrays" or (layout is None and is_folder_of_arrays(path))):
        return load_dataset(arguments.data, "arrays", random_state=arguments.seed, **table, **given), True
    if given:
        refuse_pictures(path)
        hint = "" if classes is not None else ": give the class vectors with --classes FILE"
        raise ValueError(
            f"--labels, --classes, --split and --unseen are for own data, where DATA has the features alone{hint}"
        )
    if many or (path.is_file() and path.suffix in (".npy", ".csv", ".tsv", ".txt", ".parquet")):
        raise ValueError(
            f"{arguments.data} holds features alone: give the class vectors with --classes FILE (see --help)"
        )
    named = [name for name, value in table.items() if name != "missing" and value not in ("auto", None, [], False)]
    if named:
        listed = ", ".join(f"--{name.removesuffix('_column').replace('_', '-')}" for name in named)
        raise ValueError(f"{listed}: these are for CSV and parquet files of own data, which {path} has none of")
    options: dict[str, Any] = {} if arguments.attributes is None else {"attributes": arguments.attributes}
    if getattr(arguments, "verify", False):
        options["verify"] = True
    try:
        return load_dataset(arguments.data, layout, **options), False
    except TypeError as error:
        if "attributes" in str(error):
            raise ValueError(f"--attributes is for the xlsa17 layout, which {path} does not have") from None
        raise


def _with_held_out_classes(dataset: Dataset, arguments: argparse.Namespace) -> Dataset:
    """Return own data, of which nobody has said what is to be tested with, with a split that is drawn and told of."""
    from dataclasses import replace

    from jcmspl.datasets import make_split

    parts = make_split(dataset.y, unseen=_SHARE, test_seen=0.0, val=0.0, random_state=arguments.seed)
    say(
        arguments,
        f"note: nothing says what to test with, so {_SHARE:.0%} of the classes are held out (--unseen, --split)",
    )
    return replace(dataset, parts=parts)


def samples_used(dataset: Dataset, part: str = "trainval") -> dict[str, int]:
    """Return how many samples a command trains on, holds out, or does not use, for JSON."""
    counts = {"all": dataset.n_samples, "trained_on": len(dataset.rows(part))}
    parts = ("test_seen", "test_unseen") if part == "trainval" else ("val", "test_seen", "test_unseen")
    counts |= {name: len(dataset.rows(name)) for name in parts}
    return {**counts, "unused": 2 * dataset.n_samples - sum(counts.values())}


def say_what_is_used(arguments: argparse.Namespace, dataset: Dataset, part: str = "trainval") -> None:
    """Tell which samples are trained on and which are held out, and what takes the place of missing values."""
    used = samples_used(dataset, part)
    if used["trained_on"] == used["all"]:
        text = "all of them to train on, none held out to test with (--unseen, --hold-out, --split)"
    else:
        told = {
            "trained_on": "to train on",
            "val": "for validation",
            "test_seen": "held out of the same classes (test_seen)",
            "test_unseen": f"of {len(dataset.unseen)} unseen classes (test_unseen)",
            "unused": "not used",
        }
        text = ", ".join(f"{used[name]:,} {what}" for name, what in told.items() if used.get(name))
    say(arguments, f"{shown(dataset.name)}: {dataset.n_samples:,} samples: {text}")
    if dataset.imputation is not None and dataset.imputation.how != "given":
        say(arguments, f"{shown(dataset.name)}: {dataset.imputation}")


def say_what_is_replaced(arguments: argparse.Namespace, X: Any) -> None:
    """Tell how many missing values of samples that were read were replaced by those of the model."""
    if getattr(X, "n_imputed", 0):
        say(arguments, f"{X.n_imputed:,} missing values were replaced by those that the model was trained with")


def add_output(
    parser: argparse.ArgumentParser, help_text: str | None = None, *, metavar: str = "FILE", required: bool = False
) -> None:
    """Add the output file, if there is one, and in which form results and how many messages are printed."""
    if help_text is not None:
        parser.add_argument("-o", "--output", metavar=metavar, required=required, help=help_text)
        parser.add_argument("--force", action="store_true", help="write over what is there")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress and no messages")


def add_calibrate_rejection(parser: argparse.ArgumentParser) -> None:
    """Add the choice of thresholds for samples that are of no candidate."""
    parser.add_argument(
        "--calibrate-rejection",
        metavar="LOST",
        nargs="?",
        type=float,
        const=0.05,
        help="choose, likewise, when `predict --reject auto` names nothing: so that no more than this share of samples "
        "of candidates is lost (0.05 if none is given)",
    )


def say(arguments: argparse.Namespace, text: str) -> None:
    """Print a message for the user to stderr, unless told not to."""
    if not arguments.quiet:
        print(text, file=sys.stderr)


def show(arguments: argparse.Namespace, data: dict[str, Any], text: str) -> None:
    """Print a result: for machines or for people."""
    from jcmspl.io.json_text import dumps

    print(dumps(data) if arguments.json else text)


def refuse_existing(path: str | None, force: bool) -> None:
    """Refuse an output that exists before any work is done."""
    if path is None:
        return
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file")
    if Path(path).exists() and not Path(path).is_file():
        raise OSError(f"{path} is a device or a pipe, which a file cannot replace: choose another name")
    if Path(path).exists() and not force:
        raise FileExistsError(f"{path} exists already: choose another name, or add --force to write over it")
    if not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {Path(path).parent} does not exist")
    require_writable(Path(path).resolve().parent, path)


def require_writable(folder: Path, path: str) -> None:
    """Refuse a folder that takes no files before any work is done."""
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(f"{path} cannot be written: no permission to write into the folder {folder}")


def refuse_model(path: str | None, force: bool) -> None:
    """Refuse a file for a model that exists, or that is named like another kind, before any work is done."""
    from jcmspl.model.persistence import require_name_of_model

    refuse_existing(path, force)
    if path is not None:
        require_name_of_model(path)


def refuse_full(folder: Path, force: bool) -> None:
    """Refuse a folder for output that has something in it, or that cannot be written."""
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise FileExistsError(f"{folder} is not empty: choose another name, or add --force to write into it")
    there = folder.resolve() if folder.is_dir() else folder.resolve().parent
    if there.is_dir():
        require_writable(there, str(folder))


def refuse_report(path: str | None, force: bool) -> None:
    """Refuse a report that exists, or that cannot be written in this form, before any work is done."""
    from jcmspl.evaluation.zero_shot_report import Report

    refuse_existing(path, force)
    if path is not None:
        Report.check_name(path)
