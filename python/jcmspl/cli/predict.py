"""Name the class of each sample, a chunk at a time, and write labels as CSV, JSON lines, npz or parquet.

Scores and probabilities, too, if you like; samples that are of none of the candidates can be left without a name.
Samples in many files are named file by file, into a folder; a second run names what is missing.
"""

from __future__ import annotations

import argparse
import csv
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
)
from jcmspl.cli._parser import suggestion
from jcmspl.cli._prediction_files import ROWS_PER_FILE, STANDARD, PredictionFiles, is_folder
from jcmspl.cli._prediction_writers import FORMATS, Form, Predictions, StandardOutput, Writer, writer_of
from jcmspl.cli._samples import (
    CHUNK,
    Chunk,
    Samples,
    chunks_of,
    is_stream,
    refuse_with_stream,
    samples_of,
    streamed_chunks,
    unlabelled_chunks,
)
from jcmspl.support.names import GROUPS, PARTS
from jcmspl.support.progress import Progress
from jcmspl.support.shown import quoted
from jcmspl.support.tables import without_formula

EXAMPLES = """\
  jcmspl predict model.safetensors features.npy                         the best class of each row, as CSV
  jcmspl predict model.safetensors features.npy --top 5 --scores -o named.csv
  jcmspl predict model.safetensors features.npy --classes new.csv       among classes the model has never heard of
  jcmspl predict model.safetensors features.npy --set space=visual      compared in another space
  jcmspl predict model.safetensors features.npy --candidates unseen --adapt -o named.csv
                                                                        adapted to these samples first
  jcmspl predict model.safetensors features.npy --top 3 --proba --reject auto
                                                                        with probabilities; no name where none fits
  embed photographs/ | jcmspl predict model.safetensors - -o - --format jsonl
                                                                        from standard input to standard output
  jcmspl predict model.safetensors cub/ --part test_unseen --candidates unseen -o named.npz
  jcmspl predict model.safetensors 'features-*.npy' -o predictions/ --format parquet
                                                                        a file for each, and the rest if run again
"""
LOADS = ("jcmspl.datasets", "jcmspl.model.persistence")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_fitted(parser)
    parser.add_argument(
        "samples",
        metavar="SAMPLES",
        help="features (.npy, .npz, .csv, .parquet, .zarr; a folder or 'pattern-*' of them; .jsonl), a data set, or - "
        "for standard input (CSV, the bytes of a .npy file, or JSON lines)",
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
        help="adapt the model to SAMPLES first: for when most candidates occur among them (needs the visual space)",
    )
    parser.add_argument("--top", metavar="K", type=int, default=1, help="how many labels for each sample (default: 1)")
    parser.add_argument("--scores", action="store_true", help="write the scores as well")
    parser.add_argument(
        "--proba",
        action="store_true",
        help="write the probabilities of these labels among all candidates as well: the softmax of the scores at the "
        "model's temperature",
    )
    parser.add_argument(
        "--reject",
        metavar="THRESHOLD",
        type=_threshold,
        help="give no label to samples whose best score is below this number, or below the one that was chosen by "
        "`jcmspl fit --calibrate-rejection` (auto)",
    )
    parser.add_argument(
        "--exact-labels",
        action="store_true",
        help="CSV: write labels that start like a formula (= + - @) as they are; otherwise they get a ' in front, so "
        "that no spreadsheet runs them",
    )
    parser.add_argument(
        "--seen-penalty",
        "--seen-bias",
        metavar="X",
        type=float,
        action=Shortcut,
        help="taken off the scores of training classes",
    )
    add_dask(parser)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="FILE is a folder or standard output: what is written there (default: csv)",
    )
    parser.add_argument(
        "--rows-per-file",
        metavar="N",
        type=int,
        help="FILE is a folder: rows in each of its files (default: as SAMPLES has them, or "
        f"{ROWS_PER_FILE:,} if that is one file)",
    )
    kinds = ", ".join(f".{kind}" for kind in FORMATS)
    add_output(parser, f"{kinds}, or a folder/ to go on with if interrupted; default, or -: standard output")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.data.class_table import ClassTable
    from jcmspl.datasets.arrays import load_classes

    suffix = _suffix(arguments)
    streamed = is_stream(arguments.samples)
    if streamed:
        refuse_with_stream(arguments)
    model = loaded(arguments)
    samples = None if streamed else samples_of(arguments, model)
    files = None
    if samples is not None and is_folder(arguments):
        files = PredictionFiles(arguments, samples)
        if not arguments.force:
            files.refuse_others()
    by_text = {str(label): label for label in model.class_table_}
    given = None
    if arguments.classes is not None:  # in a file labels are text: those that the model has are its own
        table = load_classes(arguments.classes, arguments.classes_header, arguments.classes_delimiter)
        labels = [by_text.get(str(label), label) for label in table]
        given = ClassTable(labels, table.vectors, table.attributes)
        by_text |= {str(label): label for label in labels}
    is_named = any(name == "seen_penalty" for name, _ in arguments.settings)
    options = {
        "class_vectors": given,
        "candidates": _candidates(arguments.candidates, by_text),
        "seen_penalty": model.seen_penalty if is_named else None,
    }
    with workers_of(arguments) as n_workers:
        if n_workers and samples is not None:
            from jcmspl.datasets.on_dask import rows_on_dask

            samples = samples._replace(X=rows_on_dask(samples.X, n_workers))
        if arguments.adapt and samples is not None:
            _adapt(model, samples, arguments, options)
        namer = _namer(model, options, arguments, suffix)
        if files is not None and samples is not None:
            files.begin(arguments.force)
            _write_folder(files, namer, samples, arguments, suffix)
        else:
            _write(namer, samples, arguments, suffix, model)
    if samples is not None:
        say_what_is_replaced(arguments, samples.X)


def _namer(model: Any, options: dict[str, Any], arguments: argparse.Namespace, suffix: str) -> Any:
    """Return what names samples, after a look at what was asked of it."""
    from jcmspl.data.labels import some

    namer = model._namer(arguments.top, proba=arguments.proba, reject=arguments.reject, **options)
    labels = namer.recogniser.labels
    if not 1 <= arguments.top <= len(labels):
        raise ValueError(f"--top must be from 1 to the number of candidates, {len(labels)}")
    if suffix == ".csv" and not arguments.exact_labels:
        changed = [label for label in labels.tolist() if without_formula(label) != label]
        if changed:
            say(
                arguments,
                f"note: labels that start like a formula get a ' in front, unless --exact-labels: {some(changed)}",
            )
    return namer


def _write(namer: Any, samples: Samples | None, arguments: argparse.Namespace, suffix: str, model: Any) -> None:
    """Name samples, or without any those of the stream, and write what they are taken for into one file."""
    form, output = _form(arguments, samples), arguments.output
    with _naming(None if samples is None else len(samples.rows), arguments) as progress:
        chunks = streamed_chunks(arguments, model) if samples is None else chunks_of(samples, samples.rows, arguments)
        named = _named(namer, chunks, arguments, progress)
        if output in (None, STANDARD):
            with StandardOutput(suffix, form, _nothing(namer)) as writer:
                _written(named, writer)
            return
        count = _write_file(Path(output), named, namer, form, suffix, overwrite=arguments.force)
    if arguments.json:
        show(arguments, {"output": output, "samples": count}, "")
    else:
        say(arguments, f"wrote {output}")


def _suffix(arguments: argparse.Namespace) -> str:
    """Return the form in which predictions are written, as the ending of a file, after seeing that it can be."""
    output, form = arguments.output, arguments.format
    if is_folder(arguments):
        suffix = f".{form or FORMATS[0]}"
    elif arguments.rows_per_file is not None:
        raise ValueError("--rows-per-file is for a folder of predictions: -o FOLDER/")
    elif output in (None, STANDARD):
        suffix = f".{form or ('jsonl' if arguments.json else FORMATS[0])}"
    else:
        if form is not None:
            raise ValueError("--format is for a folder of predictions, -o FOLDER/, or for standard output, -o -")
        refuse_existing(output, arguments.force)
        suffix = Path(output).suffix.lower()
        if suffix.removeprefix(".") not in FORMATS:
            kinds = ", ".join(f".{kind}" for kind in FORMATS)
            raise ValueError(f"predictions are written as {kinds}, but the output is {output}: for a folder add a /")
    if suffix == ".parquet":
        from jcmspl.datasets._tables import import_parquet

        import_parquet(Path(output or STANDARD))
    return suffix


def _write_folder(
    files: PredictionFiles, namer: Any, samples: Samples, arguments: argparse.Namespace, suffix: str
) -> None:
    """Write the files that are missing, each whole or not at all."""
    rows, form = samples.rows, _form(arguments, samples)
    missing = list(files.missing())
    written, done = 0, len(rows) - sum(file.last - file.first for file in missing)
    n_files = len(files.every)
    try:
        with _naming(len(rows), arguments) as progress:
            for file in missing:
                own = rows[file.first : file.last]
                named = _named(namer, chunks_of(samples, own, arguments), arguments, progress, done)
                _write_file(file.path, named, namer, form, suffix, overwrite=False)
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


def _threshold(text: str) -> float | str:
    """Return what --reject takes."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"it takes auto or a number, but is {text!r}") from None


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


def _adapt(model: Any, samples: Samples, arguments: argparse.Namespace, options: dict[str, Any]) -> None:
    """Adapt the model to the samples that are to be named, and tell what has moved."""
    import warnings

    if not hasattr(model, "adapt"):
        raise ValueError(f"a {type(model).__name__} cannot be adapted to samples: leave --adapt out")
    model.progress = not arguments.quiet
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the notes below are the same
        model.adapt(unlabelled_chunks(samples, arguments), **options)
    say(arguments, str(model.adapted_))


def _naming(n_rows: int | None, arguments: argparse.Namespace) -> Progress:
    return Progress("naming", n_rows, "samples", enabled=not arguments.quiet)


def _named(
    namer: Any, chunks: Iterator[Chunk], arguments: argparse.Namespace, progress: Progress, done: int = 0
) -> Iterator[Predictions]:
    """Give the predictions for samples, a chunk at a time."""
    from jcmspl.data.parts import row_blocks

    for rows, X, ids in chunks:
        try:
            found = namer.best(X, progress=not arguments.quiet)
        except ValueError as error:
            where = f", rows {rows[0]} to {rows[-1]}" if len(rows) else ""
            raise ValueError(f"{arguments.samples}{where}: {error}") from None
        for block in row_blocks(len(rows), CHUNK):
            indices, scores, shares, rejected = (None if part is None else part[block] for part in found)
            own = None if ids is None else ids[block]
            yield Predictions(rows[block], own, namer.recogniser.labels[indices], scores, shares, rejected)
        done += len(rows)
        progress.update(done)


def _nothing(namer: Any) -> Predictions:
    """Return what is told of no samples at all, with the types that it would have."""
    import numpy as np

    none = np.empty((0, namer.k))
    labels = none.astype(namer.recogniser.labels.dtype)
    return Predictions(np.empty(0, dtype=np.int64), None, labels, none, none, np.empty(0, dtype=bool))


def _form(arguments: argparse.Namespace, samples: Samples | None) -> Form:
    options = arguments.top, arguments.scores, arguments.proba, arguments.reject is not None, arguments.exact_labels
    return Form(*options) if samples is None else Form(*options, samples.id_name)


def _write_file(
    path: Path, named: Iterator[Predictions], namer: Any, form: Form, suffix: str, *, overwrite: bool
) -> int:
    """Write a file, whole or not at all, and return the number of samples in it."""
    from jcmspl.io.atomic import open_atomically

    with open_atomically(path, overwrite=overwrite) as file, writer_of(suffix, file, form, _nothing(namer)) as writer:
        return _written(named, writer)


def _written(named: Iterator[Predictions], writer: Writer) -> int:
    count = 0
    for chunk in named:
        writer.write(chunk)
        count += len(chunk.rows)
    return count
