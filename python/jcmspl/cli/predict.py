"""Predict the class of each sample and write the labels as CSV, JSON lines, npz or parquet.

Scores and probabilities are optional. Samples of unknown classes can be rejected. Predictions of many files go to a
folder, one file each; after an interruption the same command writes the missing files.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from jcmspl.cli._dask import add_dask, workers_of
from jcmspl.cli._models import COVERAGE, Shortcut, add_fitted, classes_for, loaded
from jcmspl.cli._options import add_headers, add_output, refuse_existing, say, say_what_is_replaced, show
from jcmspl.cli._prediction_files import ROWS_PER_FILE, STANDARD, PredictionFiles, is_folder
from jcmspl.cli._prediction_writers import FORMATS, Form, Predictions, print_predictions, write_predictions
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
from jcmspl.support.shown import quoted, suggestion, without_formula

EXAMPLES = """\
  # the best class of each row, as CSV on standard output
  jcmspl predict model.safetensors features.npy

  jcmspl predict model.safetensors features.npy --top 5 --scores -o named.csv
  jcmspl predict model.safetensors features.npy --set space=visual

  # classes that are not in the model
  jcmspl predict model.safetensors features.npy --classes new.csv

  # adapted to these samples first
  jcmspl predict model.safetensors features.npy --candidates unseen --adapt \\
      -o named.csv

  # with probabilities; no label where no candidate fits
  jcmspl predict model.safetensors features.npy --top 3 --proba --reject auto

  # from standard input to standard output
  my-encoder photos/ | jcmspl predict model.safetensors - --format jsonl

  # the classes that a sample may be of, with a promised coverage
  jcmspl predict model.safetensors features.npy --set 0.9 --format jsonl

  # a part of a data set
  jcmspl predict model.safetensors cub/ --part test_unseen -o named.npz

  # one file of predictions per file of samples; run again to complete them
  jcmspl predict model.safetensors 'features-*.npy' -o predictions/ --format parquet
"""
LOADS = ("jcmspl.datasets", "jcmspl.model.persistence")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_fitted(parser, sets=True)
    parser.add_argument(
        "samples",
        metavar="SAMPLES",
        help="features (.npy, .npz, .csv, .parquet, .zarr, .jsonl; a folder or 'pattern-*' of them), a data set, or - "
        "for standard input (CSV, the bytes of a .npy file, or JSON lines)",
    )
    parser.add_argument("--part", choices=(*PARTS, "trainval"), help="part to predict if SAMPLES is a data set")
    parser.add_argument(
        "--classes", metavar="FILE", help="candidate classes: names, each with its vector (.csv, .json, .parquet, ...)"
    )
    add_headers(parser)
    parser.add_argument(
        "--candidates",
        metavar="WHICH",
        help=f"candidates: {', '.join(GROUPS)}, or labels separated by commas (default: all, or those of --classes)",
    )
    parser.add_argument(
        "--adapt",
        action="store_true",
        help="adapt the model to SAMPLES first; most candidates should occur in them (visual space only)",
    )
    parser.add_argument("--top", metavar="K", type=int, default=1, help="labels per sample, best first (default: 1)")
    parser.add_argument("--scores", action="store_true", help="also write the scores")
    parser.add_argument(
        "--proba",
        action="store_true",
        help="also write probabilities among all candidates: the softmax of the scores at the model's temperature",
    )
    parser.add_argument(
        "--reject",
        metavar="THRESHOLD",
        type=_threshold,
        help="give no label to samples whose best score is below this number; auto: the threshold chosen by `jcmspl "
        "fit --calibrate-rejection`",
    )
    parser.add_argument(
        "--exact-labels",
        action="store_true",
        help="CSV: write labels that start like a formula (= + - @) unchanged; by default they get a ' in front, so "
        "that spreadsheets do not run them",
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
    parser.add_argument("--format", choices=FORMATS, help="format of a folder or of standard output (default: csv)")
    parser.add_argument(
        "--rows-per-file",
        metavar="N",
        type=int,
        help=f"rows per file of a folder (default: as in SAMPLES, or {ROWS_PER_FILE:,} for a single file)",
    )
    kinds = ", ".join(f".{kind}" for kind in FORMATS)
    add_output(parser, f"{kinds}, or a folder/ that a second run completes (default, or -: standard output)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    suffix = _suffix(arguments)
    arguments.coverage = _coverage(arguments)
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
    given = None if arguments.classes is None else classes_for(model, arguments.classes, arguments)
    if given is not None:
        by_text |= {str(label): label for label in given}
    is_named = any(name == "seen_penalty" for name, _ in arguments.settings)
    options = {
        "class_vectors": given,
        "candidates": _candidates(arguments.candidates, by_text),
        "seen_penalty": model.seen_penalty if is_named else None,
    }
    with workers_of(arguments) as n_workers:
        if n_workers and samples is not None:
            from jcmspl.datasets.row_source import rows_on_dask

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
    """Return the model's predictor for the options, after checking them."""
    from jcmspl.data.labels import some
    from jcmspl.model.known_classes import Call
    from jcmspl.model.prediction import namer_for
    from jcmspl.model.prediction_sets import limit_for

    namer = namer_for(model, arguments.top, proba=arguments.proba, reject=arguments.reject, **options)
    if arguments.coverage is not None:
        limit = limit_for(model, arguments.coverage, Call(**options))
        namer = replace(namer, limit=limit)
    labels = namer.recogniser.labels
    if not 1 <= arguments.top <= len(labels):
        raise ValueError(f"--top must be from 1 to the number of candidates, {len(labels)}, but is {arguments.top}")
    if suffix == ".csv" and not arguments.exact_labels:
        changed = [label for label in labels.tolist() if without_formula(label) != label]
        if changed:
            say(
                arguments,
                f"note: labels that start like a formula get a ' in front (see --exact-labels): {some(changed)}",
            )
    return namer


def _write(namer: Any, samples: Samples | None, arguments: argparse.Namespace, suffix: str, model: Any) -> None:
    """Predict the samples, or those of the stream, and write one file or standard output."""
    output = arguments.output
    with _naming(None if samples is None else len(samples.rows), arguments) as progress:
        chunks = streamed_chunks(arguments, model) if samples is None else chunks_of(samples, samples.rows, arguments)
        named, form = _named(namer, chunks, arguments, progress), _form(arguments, samples)
        if output in (None, STANDARD):
            print_predictions(suffix, form, named, _nothing(namer))
            return
        count = _write_file(Path(output), named, namer, form, suffix, overwrite=arguments.force)
    if arguments.json:
        show(arguments, {"output": output, "samples": count}, "")
    else:
        say(arguments, f"wrote {output}")


def _suffix(arguments: argparse.Namespace) -> str:
    """Return the format of the predictions as the suffix of a file, after checking the output."""
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
        from jcmspl.datasets.parquet import import_parquet

        import_parquet(Path(output or STANDARD))
    return suffix


def _write_folder(
    files: PredictionFiles, namer: Any, samples: Samples, arguments: argparse.Namespace, suffix: str
) -> None:
    """Write the missing files, each completely or not at all."""
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
            f"{ready} of {n_files} files are in {files.folder}; the same command writes the others"
        ) from None
    if arguments.json:
        data = {"output": arguments.output, "samples": len(rows), "files": n_files, "written": written}
        show(arguments, data, "")
    else:
        before = f" ({n_files - written} existed already)" if written < n_files else ""
        say(arguments, f"wrote {written} of {n_files} files in {files.folder}{before}")


def _threshold(text: str) -> float | str:
    """Return the value of --reject."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected auto or a number, but got {text!r}") from None


def _coverage(arguments: argparse.Namespace) -> float | None:
    """Take the coverage of prediction sets out of the settings, and return it."""
    given = [values[0] for name, values in arguments.settings if name == COVERAGE]
    arguments.settings = [setting for setting in arguments.settings if setting[0] != COVERAGE]
    if len(given) > 1:
        raise ValueError(f"--set has {len(given)} coverages, but sets have one")
    return given[0] if given else None


def _candidates(text: str | None, by_text: dict[str, Any]) -> Any:
    if text is None or text in GROUPS:
        return text
    # quotes protect the commas of a name
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
    """Adapt the model to the samples and report the changes."""
    import warnings

    if not hasattr(model, "adapt"):
        raise ValueError(f"a {type(model).__name__} cannot be adapted to samples: leave out --adapt")
    model.progress = not arguments.quiet
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the message below says the same
        model.adapt(unlabelled_chunks(samples, arguments), **options)
    say(arguments, str(model.adapted_))


def _naming(n_rows: int | None, arguments: argparse.Namespace) -> Progress:
    return Progress("naming", n_rows, "samples", enabled=not arguments.quiet)


def _named(
    namer: Any, chunks: Iterator[Chunk], arguments: argparse.Namespace, progress: Progress, done: int = 0
) -> Iterator[Predictions]:
    """Predict samples in chunks."""
    from jcmspl.support.arguments import row_blocks

    for rows, X, ids in chunks:
        try:
            found = namer.best(X, progress=not arguments.quiet)
        except ValueError as error:
            where = f", rows {rows[0]} to {rows[-1]}" if len(rows) else ""
            raise ValueError(f"{arguments.samples}{where}: {error}") from None
        for block in row_blocks(len(rows), CHUNK):
            indices, scores, shares, rejected, inside = (None if part is None else part[block] for part in found)
            own, labels = None if ids is None else ids[block], namer.recogniser.labels
            sets = None if inside is None else [labels[one].tolist() for one in inside]
            yield Predictions(rows[block], own, labels[indices], scores, shares, rejected, sets)
        done += len(rows)
        progress.update(done)


def _nothing(namer: Any) -> Predictions:
    """Return predictions of no samples, with the types of the columns."""
    import numpy as np

    none = np.empty((0, namer.k))
    labels = none.astype(namer.recogniser.labels.dtype)
    return Predictions(np.empty(0, dtype=np.int64), None, labels, none, none, np.empty(0, dtype=bool), [])


def _form(arguments: argparse.Namespace, samples: Samples | None) -> Form:
    form = Form(
        arguments.top,
        arguments.scores,
        arguments.proba,
        arguments.reject is not None,
        arguments.exact_labels,
        sets=arguments.coverage is not None,
    )
    return form if samples is None else form._replace(id_name=samples.id_name)


def _write_file(
    path: Path, named: Iterator[Predictions], namer: Any, form: Form, suffix: str, *, overwrite: bool
) -> int:
    """Write a file, completely or not at all, and return its number of samples."""
    from jcmspl.io.files import open_atomically

    count = 0

    def counted() -> Iterator[Predictions]:
        nonlocal count
        for found in named:
            count += len(found.rows)
            yield found

    with open_atomically(path, overwrite=overwrite) as file:
        write_predictions(suffix, file, form, counted(), _nothing(namer))
    return count
