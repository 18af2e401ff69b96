"""Options that several commands share."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jcmspl.support.names import HEADERS, LAYOUTS

if TYPE_CHECKING:
    from jcmspl.datasets import Dataset


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the data set and how to read it."""
    parser.add_argument("data", metavar="DATA", help="a file or folder in a known layout, or `digits`")
    group = parser.add_argument_group("data")
    group.add_argument("--layout", choices=LAYOUTS, help="the layout of DATA, if it is not to be found out")
    group.add_argument(
        "--attributes", choices=("att", "original_att"), default=None, help="which class vectors of an xlsa17 folder"
    )
    group.add_argument(
        "--labels",
        metavar="FILE",
        help="own data: the label of each sample (DATA has the features); or a column of DATA or of its metadata",
    )
    group.add_argument("--classes", metavar="FILE", help="own data: a CSV of class vectors, names first")
    group.add_argument("--split", metavar="FILE", help="own data: the part of each sample (train, val, test_seen, ...)")
    add_headers(group)
    group.add_argument("--unseen", metavar="SHARE", type=float, help="own data without a split: share of classes")
    group.add_argument(
        "--hold-out", metavar="SHARE", type=float, help="keep this share of the samples of seen classes for testing"
    )
    group.add_argument("--seed", type=int, default=0, help="seed of whatever is drawn (default: 0)")


def add_headers(parser: Any) -> None:
    """Add whether CSV files of features and of class vectors have a header."""
    for option, what in (("--header", "features"), ("--classes-header", "class vectors")):
        text = f"whether a CSV of {what} has a header (default: auto, it is found out)"
        parser.add_argument(option, choices=HEADERS, default="auto", help=text)


def dataset_of(arguments: argparse.Namespace) -> Dataset:
    """Read the data set that the options name."""
    from jcmspl.datasets import load_arrays, load_dataset
    from jcmspl.datasets.loading import is_data_set
    from jcmspl.datasets.rows import holds_rows

    path, layout, classes = Path(arguments.data), arguments.layout, arguments.classes
    own = {"labels": arguments.labels, "class_vectors": classes, "split": arguments.split, "unseen": arguments.unseen}
    given = {name: value for name, value in own.items() if value is not None}
    headers = {"header": arguments.header, "classes_header": arguments.classes_header}
    many = holds_rows(arguments.data) and not is_data_set(arguments.data)
    if classes is not None and (path.is_file() or many) and layout in (None, "arrays"):
        dataset = load_arrays(arguments.data, random_state=arguments.seed, **headers, **given)
    elif given and not (path.is_dir() and layout == "arrays"):
        hint = "" if classes is not None else ": give the class vectors with --classes FILE"
        raise ValueError(
            f"--labels, --classes, --split and --unseen are for own data, where DATA has the features alone{hint}"
        )
    elif many or (path.is_file() and path.suffix in (".npy", ".csv", ".parquet")):
        raise ValueError(
            f"{arguments.data} holds features alone: give the class vectors with --classes FILE (see --help)"
        )
    else:
        if arguments.attributes is not None:
            given["attributes"] = arguments.attributes
        given |= {name: value for name, value in headers.items() if value != "auto"}
        if getattr(arguments, "verify", False):
            given["verify"] = True
        try:
            dataset = load_dataset(arguments.data, layout, **given)
        except TypeError as error:
            if "attributes" in str(error):
                raise ValueError(f"--attributes is for the xlsa17 layout, which {path} does not have") from None
            if "header" in str(error):
                raise ValueError(f"--header and --classes-header are for CSV files, which {path} has none of") from None
            raise
    return dataset if arguments.hold_out is None else dataset.held_out(arguments.hold_out, arguments.seed)


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


def refuse_model(path: str | None, force: bool) -> None:
    """Refuse a file for a model that exists, or that is named like another kind, before any work is done."""
    from jcmspl.models.persistence import require_name_of_model

    refuse_existing(path, force)
    if path is not None:
        require_name_of_model(path)


def refuse_full(folder: Path, force: bool) -> None:
    """Refuse a folder for output that has something in it."""
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise FileExistsError(f"{folder} is not empty: choose another name, or add --force to write into it")


def refuse_report(path: str | None, force: bool) -> None:
    """Refuse a report that exists, or that cannot be written in this form, before any work is done."""
    from jcmspl.evaluation.report import Report

    refuse_existing(path, force)
    if path is not None:
        Report.check_name(path)
