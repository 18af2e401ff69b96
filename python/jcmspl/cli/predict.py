"""Name the class of each sample, a chunk at a time, and write labels (and scores) as CSV, npz or parquet.

Samples in many files are named file by file, into a folder; a second run names what is missing.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jcmspl.cli._dask import add_dask, workers_of
from jcmspl.cli._models import Shortcut, add_fitted, loaded
from jcmspl.cli._options import (
    add_headers,
    add_output,
    refuse_existing,
    say,
    say_what_is_replaced,
    show,
    table_options,
)
from jcmspl.cli._parser import suggestion
from jcmspl.cli._prediction_files import FORMATS, ROWS_PER_FILE, PredictionFiles, is_folder
from jcmspl.report.text import without_formula
from jcmspl.support.names import GROUPS, PARTS
from jcmspl.support.progress import Progress
from jcmspl.support.shown import printable, quoted

_CHUNK = 8192
EXAMPLES = """\
  jcmspl predict model.safetensors features.npy                         the best class of each row, as CSV
  jcmspl predict model.safetensors features.npy --top 5 --scores -o named.csv
  jcmspl predict model.safetensors features.npy --classes new.csv       among classes the model has never heard of
  jcmspl predict model.safetensors features.npy --set space=visual      compared in another space
  jcmspl predict model.safetensors features.npy --candidates unseen --adapt -o named.csv
                                                                        adapted to these samples first
  jcmspl predict model.safetensors cub/ --part test_unseen --candidates unseen -o named.npz
  jcmspl predict model.safetensors 'features-*.npy' -o predictions/ --format parquet
                                                                        a file for each, and the rest if run again
"""
LOADS = ("jcmspl.datasets", "jcmspl.models.persistence")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_fitted(parser)
    parser.add_argument(
        "samples",
        metavar="SAMPLES",
        help="features (.npy, .npz, .csv, .parquet, .zarr; a folder or 'pattern-*' of them), or a data set",
    )
    parser.add_argument("--part", choices=(*PARTS, "trainval"), help="SAMPLES is a data set: the part to name")
    parser.add_argument("--classes", metavar="FILE", help="class vectors to choose from, a CSV with names first")
    add_headers(parser)
    parser.add_argument(
        "--candidates",
        metavar="WHICH",
        help=f"{', '.join(GROUPS)}, or labels with commas between (default: all known ones, or those of --classes)",
    )
    parser.add_argument(
        "--adapt",
        action="store_true",
        help="adapt the model to SAMPLES first: for when all candidates occur among them (needs the visual space)",
    )
    parser.add_argument("--top", metavar="K", type=int, default=1, help="how many labels for each sample (default: 1)")
    parser.add_argument("--scores", action="store_true", help="write the scores as well")
    parser.add_argument(
        "--exact-labels",
        action="store_true",
        help="CSV: write labels that start like a formula (= + - @) as they are; otherwise they get a ' in front, so "
        "that no spreadsheet runs them",
    )
    parser.add_argument(
        "--seen-bias", metavar="X", type=float, action=Shortcut, help="taken off the scores of training classes"
    )
    add_dask(parser)
    parser.add_argument("--format", choices=FORMATS, help="FILE is a folder: the kind of its files (default: csv)")
    parser.add_argument(
        "--rows-per-file",
        metavar="N",
        type=int,
        help="FILE is a folder: rows in each of its files (default: as SAMPLES has them, or "
        f"{ROWS_PER_FILE:,} if that is one file)",
    )
    add_output(parser, ".csv, .npz, .parquet, or a folder/ to go on with if interrupted; default: CSV to stdout")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.data.class_table import ClassTable
    from jcmspl.datasets.arrays import load_classes

    force = arguments.force
    suffix = _suffix(arguments)
    model = loaded(arguments)
    samples, rows = _samples(arguments, model)
    X = samples.X
    files = PredictionFiles(arguments, X, len(rows)) if is_folder(arguments) else None
    if files is not None and not force:
        files.refuse_others()
    by_text = {str(label): label for label in model.class_table_}
    given = None
    if arguments.classes is not None:  # in a file labels are text: those that the model has are its own
        table = load_classes(arguments.classes, arguments.classes_header, arguments.classes_delimiter)
        labels = [by_text.get(str(label), label) for label in table]
        given = ClassTable(labels, table.vectors, table.attributes)
        by_text |= {str(label): label for label in labels}
    is_named = any(name == "seen_bias" for name, _ in arguments.settings)
    options = {
        "class_vectors": given,
        "candidates": _candidates(arguments.candidates, by_text),
        "seen_bias": model.seen_bias if is_named else None,
    }
    with workers_of(arguments) as n_workers:
        if n_workers:
            from jcmspl.datasets.on_dask import rows_on_dask

            X = rows_on_dask(X, n_workers)
        _write(arguments, model, options, X, rows, files, suffix)
    say_what_is_replaced(arguments, samples.X)


def _write(
    arguments: argparse.Namespace,
    model: Any,
    options: dict[str, Any],
    X: Any,
    rows: Any,
    files: PredictionFiles | None,
    suffix: str,
) -> None:
    """Name samples and write what they are taken for."""
    from jcmspl.data.labels import some

    output, force = arguments.output, arguments.force
    if arguments.adapt:
        _adapt(model, X, rows, arguments, options)
    recogniser = model.recogniser(**options)
    if not 1 <= arguments.top <= len(recogniser.labels):
        raise ValueError(f"--top must be from 1 to the number of candidates, {len(recogniser.labels)}")
    if suffix == ".csv" and not (arguments.exact_labels or (output is None and arguments.json)):
        changed = [label for label in recogniser.labels.tolist() if without_formula(label) != label]
        if changed:
            say(
                arguments,
                f"note: labels that start like a formula get a ' in front, unless --exact-labels: {some(changed)}",
            )
    if files is not None:
        files.begin(force)
        _write_folder(files, recogniser, X, rows, arguments)
        return
    with _naming(len(rows), arguments) as progress:
        named = _named(recogniser, X, rows, arguments, progress)
        if output is None:
            (_write_json if arguments.json else _write_csv)(named, sys.stdout, arguments)
            return
        _write_file(Path(output), named, recogniser, arguments, overwrite=force)
    if arguments.json:
        show(arguments, {"output": output, "samples": len(rows)}, "")
    else:
        say(arguments, f"wrote {output}")


def _suffix(arguments: argparse.Namespace) -> str:
    """Return the kind of file that is written, after seeing that it can be."""
    output = arguments.output
    if is_folder(arguments):
        suffix = f".{arguments.format or FORMATS[0]}"
    else:
        if arguments.format is not None or arguments.rows_per_file is not None:
            raise ValueError("--format and --rows-per-file are for a folder of predictions: -o FOLDER/")
        refuse_existing(output, arguments.force)
        suffix = Path(output).suffix.lower() if output else ".csv"
        if suffix.removeprefix(".") not in FORMATS:
            raise ValueError(
                f"predictions are written as .csv, .npz or .parquet, but the output is {output}: for a folder add a /"
            )
    if suffix == ".parquet":
        from jcmspl.datasets._tables import import_parquet

        import_parquet(Path(output))
    return suffix


def _write_folder(files: PredictionFiles, recogniser: Any, X: Any, rows: Any, arguments: argparse.Namespace) -> None:
    """Write the files that are missing, each whole or not at all."""
    missing = list(files.missing())
    written, done = 0, len(rows) - sum(file.last - file.first for file in missing)
    n_files = len(files.every)
    try:
        with _naming(len(rows), arguments) as progress:
            for file in missing:
                own = rows[file.first : file.last]
                named = _named(recogniser, X, own, arguments, progress, done)
                _write_file(file.path, named, recogniser, arguments, overwrite=False)
                written, done = written + 1, done + len(own)
    except KeyboardInterrupt:
        ready = n_files - len(missing) + written
        raise KeyboardInterrupt(
            f"{ready} of {n_files} files are in {files.folder}, and the same command goes on from there"
        ) from None
    if arguments.json:
        data = {"output": arguments.output, "samples": len(rows), "files": n_files, "written": written}
        show(arguments, data, "")
    else:
        before = f" ({n_files - written} were there)" if written < n_files else ""
        say(arguments, f"wrote {written} of {n_files} files in {files.folder}{before}")


def _candidates(text: str | None, by_text: dict[str, Any]) -> Any:
    if text is None or text in GROUPS:
        return text
    # a name with commas stands in quotes, or alone
    parts = [text] if text in by_text else next(csv.reader([text], skipinitialspace=True))
    names = [part.strip() for part in parts]
    unknown = next((name for name in names if name not in by_text), None)
    if unknown is not None:
        raise ValueError(
            f"--candidates takes {', '.join(GROUPS)}, or names of classes, but there is no class {quoted(unknown)}"
            + suggestion(unknown, [*GROUPS, *by_text])
        )
    return [by_text[name] for name in names]


def _samples(arguments: argparse.Namespace, model: Any) -> tuple[Any, Any]:
    """Return samples, with their ids if they have any, and the numbers of the rows that are to be named."""
    import numpy as np

    from jcmspl.datasets import Features, load_dataset, load_features
    from jcmspl.datasets.loading import is_data_set

    values = getattr(model, "imputed_values_", None)
    if arguments.part is not None:
        dataset = load_dataset(arguments.samples)
        rows = dataset.rows(arguments.part)
        if values is not None:
            dataset = dataset.imputed(values)
        found = Features(dataset.X, dataset.ids, dataset.id_name)
    elif is_data_set(arguments.samples):
        raise ValueError(
            f"{arguments.samples} is a data set and not a file of features: name the part of it that is meant, for "
            "example --part test_unseen"
        )
    else:
        found = load_features(arguments.samples, imputed_values=values, **table_options(arguments))
        rows = np.arange(len(found.X))
    n_features = model.n_features_in_
    if len(found.X.shape) != 2 or found.X.shape[1] != n_features:
        raise ValueError(
            f"{arguments.samples} has the shape {found.X.shape}, but the model expects {n_features} features"
        )
    return found, rows


def _adapt(model: Any, X: Any, rows: Any, arguments: argparse.Namespace, options: dict[str, Any]) -> None:
    """Adapt the model to the samples that are to be named, and tell what has moved."""
    import warnings

    from jcmspl.data.on_dask import is_dask

    if not hasattr(model, "adapt"):
        raise ValueError(f"a {type(model).__name__} cannot be adapted to samples: leave --adapt out")
    model.progress = not arguments.quiet
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the notes below are the same
        samples = X[rows] if is_dask(X) else (samples for _, samples in _chunks(X, rows, arguments))
        model.adapt(samples, **options)
    say(arguments, str(model.adapted_))


def _chunks(X: Any, rows: Any, arguments: argparse.Namespace) -> Iterator[tuple[Any, Any]]:
    """Give row numbers and their samples, a chunk at a time."""
    import numpy as np

    for first in range(0, len(rows), _CHUNK):
        chunk = rows[first : first + _CHUNK]
        samples = np.asarray(X[chunk])
        bad = chunk[~np.isfinite(samples).all(axis=1)]
        if len(bad):
            raise ValueError(f"{arguments.samples}: row {bad[0]} holds NaN or infinity: remove or replace such values")
        yield chunk, samples


def _naming(n_rows: int, arguments: argparse.Namespace) -> Progress:
    return Progress("naming", n_rows, "samples", enabled=not arguments.quiet)


def _named(
    recogniser: Any, X: Any, rows: Any, arguments: argparse.Namespace, progress: Any, done: int = 0
) -> Iterator[tuple[Any, Any, Any]]:
    """Give row numbers, labels and scores, a chunk at a time."""
    from jcmspl.data.on_dask import is_dask

    if is_dask(X):
        try:
            indices, scores = recogniser.best(X[rows], arguments.top, progress=not arguments.quiet)
        except ValueError as error:
            where = f", rows {rows[0]} to {rows[-1]}" if len(rows) else ""
            raise ValueError(f"{arguments.samples}{where}: {error}") from None
        for first in range(0, len(rows), _CHUNK):
            chunk = slice(first, first + _CHUNK)
            yield rows[chunk], recogniser.labels[indices[chunk]], scores[chunk]
        return
    for chunk, samples in _chunks(X, rows, arguments):
        indices, scores = recogniser.top_k(samples, arguments.top)
        yield chunk, recogniser.labels[indices], scores
        done += len(chunk)
        progress.update(done)


def _each(named: Iterator[tuple[Any, Any, Any]]) -> Iterator[tuple[int, list[Any], list[float]]]:
    """Give the row number, the labels and the scores of each sample."""
    for chunk in named:
        yield from zip(*(part.tolist() for part in chunk), strict=True)


def _columns(arguments: argparse.Namespace) -> list[str]:
    ranks = [""] if arguments.top == 1 else [f"_{rank}" for rank in range(1, arguments.top + 1)]
    return ["row", *(name + rank for name in ("label", "score")[: 1 + arguments.scores] for rank in ranks)]


def _write_csv(named: Iterator[tuple[Any, Any, Any]], file: Any, arguments: argparse.Namespace) -> None:
    is_terminal = file.isatty()
    plain = csv.writer(file, lineterminator="\n")
    in_quotes = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow(_columns(arguments))
    for row, labels, scores in _each(named):
        cells = [_cell(label, is_terminal, arguments) for label in labels]
        # a \r ends a line for those who read it, though not for the module csv where lines end with \n
        writer = in_quotes if any("\r" in str(cell) for cell in cells) else plain
        writer.writerow([row, *cells, *(f"{score:.9g}" for score in scores if arguments.scores)])


def _cell(label: Any, is_terminal: bool, arguments: argparse.Namespace) -> Any:
    cell = label if arguments.exact_labels else without_formula(label)
    return printable(cell) if is_terminal and isinstance(cell, str) else cell


def _write_json(named: Iterator[tuple[Any, Any, Any]], file: Any, arguments: argparse.Namespace) -> None:
    """Write an object on each line."""
    from jcmspl.io.json_text import dumps

    for row, labels, scores in _each(named):
        print(dumps({"row": row, "labels": labels, **({"scores": scores} if arguments.scores else {})}), file=file)


def _write_file(
    path: Path,
    named: Iterator[tuple[Any, Any, Any]],
    recogniser: Any,
    arguments: argparse.Namespace,
    *,
    overwrite: bool,
) -> None:
    """Write a file of the kind that its name says, whole or not at all."""
    from jcmspl.io.atomic import open_atomically

    with open_atomically(path, overwrite=overwrite) as file:
        if path.suffix.lower() == ".csv":
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            _write_csv(named, text, arguments)
            text.detach()  # which flushes it
        else:
            write = _write_npz if path.suffix.lower() == ".npz" else _write_parquet
            write(_joined(named, recogniser.labels, arguments.top), file, arguments)


def _joined(named: Iterator[tuple[Any, Any, Any]], labels: Any, top: int) -> tuple[Any, Any, Any]:
    """Return row numbers, labels and scores of all samples; labels of several types as texts."""
    import numpy as np

    nothing = np.empty((0, top))
    parts = list(named) or [(np.empty(0, dtype=np.int64), nothing.astype(labels.dtype), nothing)]
    rows, found, scores = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return rows, found.astype(str) if found.dtype == object else found, scores


def _write_npz(named: tuple[Any, Any, Any], file: Any, arguments: argparse.Namespace) -> None:
    import numpy as np

    rows, labels, scores = named
    arrays = {"row": rows, "labels": labels, **({"scores": scores} if arguments.scores else {})}
    np.savez_compressed(file, **arrays)


def _write_parquet(named: tuple[Any, Any, Any], file: Any, arguments: argparse.Namespace) -> None:
    import pyarrow
    from pyarrow import parquet

    rows, *found = named
    columns = [rows, *(column for part in found[: 1 + arguments.scores] for column in part.T)]
    parquet.write_table(pyarrow.table(dict(zip(_columns(arguments), columns, strict=True))), file)
