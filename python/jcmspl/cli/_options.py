"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jcmspl.support.names import DELIMITERS, HEADERS, IMPUTATIONS, LAYOUTS
from jcmspl.support.shown import shown

if TYPE_CHECKING:
    from jcmspl.datasets import Dataset

_TEST_SHARE = 0.2  # default share of classes, and of samples of seen classes, to hold out for a test


def add_data(parser: argparse.ArgumentParser, *, impute: bool = True) -> None:
    """Add DATA and the options for reading it; no ``--impute`` where a stored model determines the replacements."""
    parser.add_argument("data", metavar="DATA", help="file or folder in a known layout, or `digits`")
    group = parser.add_argument_group("data")
    group.add_argument("--layout", choices=LAYOUTS, help="layout of DATA (default: detected)")
    group.add_argument(
        "--attributes",
        choices=("att", "original_att"),
        default=None,
        help="the class vectors of an xlsa17 folder to use",
    )
    group.add_argument(
        "--labels",
        metavar="FILE",
        help="own data: labels of the samples, one per line (DATA has the features); or a column of DATA or of its "
        "metadata, by name or number from 1",
    )
    group.add_argument(
        "--classes",
        metavar="FILE",
        help="own data: class names, each with its vector (.csv, .parquet, .jsonl, .json, .npz, .safetensors, .yaml)",
    )
    group.add_argument(
        "--label-names",
        metavar="FILE",
        help="own data: names of labels that are numbers, one per line from 0 on, or JSON (default: those in DATA)",
    )
    group.add_argument("--split", metavar="FILE", help="own data: part of each sample (train, val, test_seen, ...)")
    add_headers(group)
    group.add_argument(
        "--unseen",
        metavar="SHARE",
        type=float,
        help="own data without a split: share of the classes to hold out (default: none)",
    )
    group.add_argument(
        "--hold-out",
        metavar="SHARE",
        type=float,
        help="share of the samples of seen classes to hold out for testing (default: none)",
    )
    if impute:
        group.add_argument(
            "--impute",
            choices=IMPUTATIONS,
            help="replace missing values (empty, NA, NaN, null, ?) by the mean of the training samples or by zero, and "
            "store the replacements in the model (default: refuse them)",
        )
    group.add_argument("--seed", type=int, default=0, help="seed of all random draws (default: 0)")


def add_headers(parser: Any) -> None:
    """Add options for the format of CSV files, and for columns that are not features."""
    for prefix, what in (("--", "features"), ("--classes-", "class vectors")):
        text = f"whether the CSV of {what} has a header (default: auto, detected)"
        parser.add_argument(f"{prefix}header", choices=HEADERS, default="auto", help=text)
        text = f"delimiter of the CSV of {what}: a character, or {', '.join(DELIMITERS)} (default: detected)"
        parser.add_argument(f"{prefix}delimiter", metavar="CHAR", help=text)
    parser.add_argument(
        "--id",
        metavar="COLUMN",
        dest="id_column",
        help="column that identifies samples, by name or number from 1; copied to predictions (default: a column named "
        "id, path, file, url or similar)",
    )
    parser.add_argument(
        "--ignore", metavar="COLUMN", action="append", default=[], help="leave out this column (may be repeated)"
    )
    parser.add_argument(
        "--vector",
        metavar="COLUMN",
        help="column of a table, or key of JSON lines, that holds a vector in each row (default: the only one)",
    )
    parser.add_argument(
        "--array", metavar="NAME", help="array of features in an .npz or .safetensors file (default: the only matrix)"
    )
    parser.add_argument("--query", metavar="SQL", help="query of a database, in place of FILE.db::TABLE")
    parser.add_argument("--ignore-text", action="store_true", help="leave out all columns without numbers")


def table_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options for reading a table of features."""
    return {
        name: getattr(arguments, name)
        for name in ("header", "delimiter", "id_column", "ignore", "ignore_text", "vector", "array", "query")
    }


def dataset_of(
    arguments: argparse.Namespace,
    imputed_values: Any = None,
    *,
    tested: bool = False,
    class_vectors: Any = None,
    supervised: bool = False,
) -> Dataset:
    """Read the data set that the options name.

    ``imputed_values`` of a model take precedence over ``--impute``. If a model is to be ``tested`` on the data, classes
    are held out at random from own data without any split, and samples of seen classes if no option holds some out. Own
    data without ``--classes`` gets ``class_vectors`` or, if these are None and ``supervised`` is set, one-hot vectors.
    """
    dataset, is_own = _read_dataset(arguments, imputed_values is not None, class_vectors, supervised)
    has_no_split = arguments.unseen is None and len(dataset.rows("train")) == dataset.n_samples
    if tested and is_own and has_no_split:
        dataset = _with_held_out_classes(dataset, arguments)
    if arguments.hold_out is not None:
        dataset = dataset.held_out(arguments.hold_out, arguments.seed)
    elif tested and not len(dataset.rows("test_seen")):
        dataset = dataset.held_out(_TEST_SHARE, arguments.seed)
        say(arguments, f"note: {_TEST_SHARE:.0%} of the samples of seen classes are held out to test with (--hold-out)")
    if imputed_values is not None:
        return dataset.imputed(imputed_values)
    how = getattr(arguments, "impute", None)
    return dataset if how is None else dataset.imputed(how, getattr(arguments, "part", None) or "trainval")


def dataset_for(arguments: argparse.Namespace, model: Any) -> Dataset:
    """Read the data set that the options name, with the model's replacements of missing values and its columns.

    Own data without class vectors gets those of the model; for a plain classifier, which has none, labels are enough.
    """
    is_plain = model.state.given_table is None
    options: dict[str, Any] = {"supervised": True} if is_plain else {"class_vectors": model.class_table_}
    dataset = dataset_of(arguments, getattr(model, "imputed_values_", None), **options)
    compare_columns(model, arguments.data, dataset.columns)
    return dataset


def compare_columns(model: Any, source: str, columns: Sequence[str] | None) -> None:
    """Refuse features whose names are those of the model's training data in another order."""
    from jcmspl.datasets.columns import require_same_columns
    from jcmspl.io.files import place_of

    trained = columns_of(model)
    if columns is not None and trained is not None and len(columns) == len(trained):  # another check compares lengths
        require_same_columns(place_of(source), columns, trained)


def columns_of(model: Any) -> list[str] | None:
    """Return the names of the features that a model was trained on, or None."""
    names = getattr(model, "column_names_", getattr(model, "feature_names_in_", None))
    return None if names is None else [str(name) for name in names]


def remember_data(arguments: argparse.Namespace, model: Any, dataset: Dataset) -> None:
    """Store in the model how its table was read, and which samples were held out, so that `evaluate` can use them."""
    import numpy as np

    from jcmspl.datasets.splits import HeldOut

    if dataset.imputation is not None:
        model.describe_table(imputed_values=dataset.imputation.values)
    if dataset.columns is not None:
        model.describe_table(column_names=dataset.columns)
    if arguments.hold_out is not None:
        rows = np.union1d(dataset.rows("trainval"), dataset.rows("test_seen"))
        model.describe_table(held_out=HeldOut.of(rows, dataset.y[rows], arguments.hold_out, arguments.seed))


def _read_dataset(
    arguments: argparse.Namespace, missing: bool, class_vectors: Any, supervised: bool
) -> tuple[Dataset, bool]:
    """Return the data set, and whether it consists of the user's own files."""
    from jcmspl.datasets import load_arrays, load_dataset
    from jcmspl.datasets.errors import refuse_pictures
    from jcmspl.datasets.loading import is_folder_of_arrays, is_without_classes
    from jcmspl.io.files import missing as missing_file

    path, layout = Path(arguments.data), arguments.layout
    is_single = layout in (None, "arrays") and is_without_classes(arguments.data)
    classes = class_vectors if arguments.classes is None and is_single else arguments.classes
    names = ("labels", "split", "unseen", "label_names")
    own = {"class_vectors": classes, **{name: getattr(arguments, name) for name in names}}
    given = {name: value for name, value in own.items() if value is not None}
    table = table_options(arguments)
    table |= {name: getattr(arguments, name) for name in ("classes_header", "classes_delimiter")}
    # the replacements are computed later, from the training part
    table["missing"] = missing or getattr(arguments, "impute", None) is not None
    if (classes is not None and path.is_file() and layout in (None, "arrays")) or (
        is_single and (supervised or classes is not None)
    ):
        given.setdefault("class_vectors", None)
        return load_arrays(arguments.data, random_state=arguments.seed, **table, **given), True
    if path.is_dir() and (layout == "arrays" or (layout is None and is_folder_of_arrays(path))):
        return load_dataset(arguments.data, "arrays", random_state=arguments.seed, **table, **given), True
    if given:
        if not path.exists() and arguments.data != "digits":
            raise missing_file(path, "digits")
        refuse_pictures(path)
        hint = "" if classes is not None else ": give the class vectors with --classes FILE"
        raise ValueError(
            "--labels, --label-names, --classes, --split and --unseen are for own data, where DATA holds features "
            f"only{hint}"
        )
    if is_single:
        raise ValueError(
            f"{arguments.data} holds features only: give the class vectors with --classes FILE (see --help)"
        )
    named = [name for name, value in table.items() if name != "missing" and value not in ("auto", None, [], False)]
    if named:
        listed = ", ".join(f"--{name.removesuffix('_column').replace('_', '-')}" for name in named)
        raise ValueError(f"{listed}: only for your own files, but {path} is a data set of another layout")
    options: dict[str, Any] = {} if arguments.attributes is None else {"attributes": arguments.attributes}
    if getattr(arguments, "verify", False):
        options["verify"] = True
    try:
        return load_dataset(arguments.data, layout, **options), False
    except TypeError as error:
        if "attributes" in str(error):
            raise ValueError(f"--attributes is for the xlsa17 layout only, and {path} has another layout") from None
        raise


def _with_held_out_classes(dataset: Dataset, arguments: argparse.Namespace) -> Dataset:
    """Return own data without a split, with classes held out at random, and tell the user."""
    from dataclasses import replace

    from jcmspl.datasets import make_split

    parts = make_split(dataset.y, unseen=_TEST_SHARE, test_seen=0.0, val=0.0, random_state=arguments.seed)
    say(
        arguments,
        f"note: there is no split, so {_TEST_SHARE:.0%} of the classes are held out to test with (--unseen, --split)",
    )
    return replace(dataset, parts=parts)


def samples_used(dataset: Dataset, part: str = "trainval") -> dict[str, int]:
    """Return the numbers of samples that a command trains on, holds out, and does not use."""
    counts = {"all": dataset.n_samples, "trained_on": len(dataset.rows(part))}
    parts = ("test_seen", "test_unseen") if part == "trainval" else ("val", "test_seen", "test_unseen")
    counts |= {name: len(dataset.rows(name)) for name in parts}
    return {**counts, "unused": 2 * dataset.n_samples - sum(counts.values())}


def say_what_is_used(arguments: argparse.Namespace, dataset: Dataset, part: str = "trainval") -> None:
    """Tell the user which samples are trained on and which are held out, and how missing values are replaced."""
    used = samples_used(dataset, part)
    if used["trained_on"] == used["all"]:
        text = "all to train on, none held out to test with (--unseen, --hold-out, --split)"
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
    """Tell the user how many missing values were replaced by the model's values."""
    if getattr(X, "n_imputed", 0):
        say(arguments, f"{X.n_imputed:,} missing values were replaced by the values stored in the model")


def add_output(
    parser: argparse.ArgumentParser, help_text: str | None = None, *, metavar: str = "FILE", required: bool = False
) -> None:
    """Add the output file, if the command has one, ``--json`` and ``--quiet``."""
    if help_text is not None:
        parser.add_argument("-o", "--output", metavar=metavar, required=required, help=help_text)
        parser.add_argument("--force", action="store_true", help="overwrite existing output")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    result = "" if help_text is None else f", and no result that {metavar} holds"
    parser.add_argument("--quiet", action="store_true", help=f"show no progress and no messages{result}")


def add_calibration(parser: argparse.ArgumentParser) -> None:
    """Add the options that calibrate penalty and probabilities, thresholds for unknown classes, and prediction sets."""
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="choose the penalty on seen classes and the temperature of probabilities by cross-validation over classes",
    )
    parser.add_argument(
        "--calibrate-rejection",
        metavar="SHARE",
        nargs="?",
        type=float,
        const=0.05,
        help="choose the threshold of `predict --reject auto`, by cross-validation over classes, such that at most "
        "this share of the samples of known classes is rejected (0.05 if SHARE is left out)",
    )
    parser.add_argument(
        "--calibrate-sets",
        action="store_true",
        help="calibrate the sets of `predict --set`, by cross-validation over classes",
    )


def calibrate(arguments: argparse.Namespace, model: Any, X: Any, y: Any) -> None:
    """Calibrate a fitted model, or a fitted search, as the options of :func:`add_calibration` say."""
    if arguments.calibrate:
        model.calibrate(X, y, random_state=arguments.seed)
    if arguments.calibrate_rejection is not None:
        model.calibrate_rejection(X, y, max_false_rejection=arguments.calibrate_rejection, random_state=arguments.seed)
    if arguments.calibrate_sets:
        model.calibrate_sets(X, y, random_state=arguments.seed)
        say(arguments, f"sets of unseen classes: {model.set_calibration_['unseen']}")


def save(arguments: argparse.Namespace, result: Any) -> None:
    """Save a result to the file of ``-o``, if there is one."""
    if arguments.output is not None:
        result.save(arguments.output, overwrite=arguments.force)
        say(arguments, f"wrote {arguments.output}")


def say(arguments: argparse.Namespace, text: str) -> None:
    """Print a message to stderr, unless ``--quiet``."""
    if not arguments.quiet:
        print(text, file=sys.stderr)


def is_shown(arguments: argparse.Namespace) -> bool:
    """Whether a result is printed: always with ``--json``; with ``--quiet`` only if no output file holds it."""
    return arguments.json or not (arguments.quiet and getattr(arguments, "output", None) is not None)


def show(arguments: argparse.Namespace, data: dict[str, Any], text: str) -> None:
    """Print a result as JSON or as text."""
    from jcmspl.io.json_text import dumps

    if is_shown(arguments):
        print(dumps(data) if arguments.json else text)


def refuse_existing(path: str | None, force: bool, check_name: Callable[[str], object] | None = None) -> None:
    """Refuse an output file that exists, cannot be written or has a wrong suffix, before any work is done."""
    from jcmspl.io.files import require_free

    if path is None:
        return
    require_free(Path(path), overwrite=force)
    require_writable(Path(path).resolve().parent, path)
    if check_name is not None:
        check_name(path)


def require_writable(folder: Path, path: str) -> None:
    """Refuse a folder without write permission."""
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(f"{path} cannot be written: no permission to write into the folder {folder}")


def refuse_filled(folder: Path, force: bool) -> None:
    """Refuse an output folder that is not empty or cannot be written, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file, but the output is a folder: choose another name")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise FileExistsError(f"{folder} is not empty: choose another name, or add --force to write into it")
    there = folder.resolve() if folder.is_dir() else folder.resolve().parent
    if there.is_dir():
        require_writable(there, str(folder))
