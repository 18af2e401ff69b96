"""``jcmspl predict``: name samples."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jcmspl.cli._models import AFTER_A_FIT, add_method, add_set, loaded
from jcmspl.cli._options import add_messages, add_output, refuse_existing, say
from jcmspl.io.json_text import dumps
from jcmspl.support.names import GROUPS, PARTS
from jcmspl.support.progress import Progress

if TYPE_CHECKING:
    from jcmspl.data.class_table import ClassTable

_CHUNK = 8192
DESCRIPTION = "Name the class of each sample, a chunk at a time, and write labels (and scores) as CSV or npz."
EXAMPLES = """\
  jcmspl predict model.safetensors features.npy                         the best class of each row, as CSV
  jcmspl predict model.safetensors features.npy --top 5 --scores -o named.csv
  jcmspl predict model.safetensors features.npy --classes new.csv       among classes the model has never heard of
  jcmspl predict model.safetensors features.npy --set space=visual      compared in another space
  jcmspl predict model.safetensors cub/ --part test_unseen --candidates unseen -o named.npz
"""
LOADS = ("jcmspl.datasets", "jcmspl.models.persistence")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="a file written by `jcmspl fit`")
    parser.add_argument("samples", metavar="SAMPLES", help="features (.npy, .npz, .csv, .parquet), or a data set")
    parser.add_argument("--part", choices=(*PARTS, "trainval"), help="SAMPLES is a data set: the part to name")
    parser.add_argument("--classes", metavar="FILE", help="class vectors to choose from, a CSV with names first")
    parser.add_argument(
        "--candidates",
        metavar="WHICH",
        help=f"{', '.join(GROUPS)}, or labels with commas between (default: all known ones, or those of --classes)",
    )
    parser.add_argument("--top", metavar="K", type=int, default=1, help="how many labels for each sample (default: 1)")
    parser.add_argument("--scores", action="store_true", help="write the scores as well")
    parser.add_argument("--seen-bias", metavar="X", type=float, help="taken off the scores of training classes")
    group = add_method(parser, "refuse MODEL if it holds another method than this")
    add_set(group, f"change a parameter of the model: {', '.join(AFTER_A_FIT)} (may be repeated)")
    add_output(parser, ".csv or .npz; default: CSV to standard output")
    add_messages(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.datasets.arrays import load_classes

    refuse_existing(arguments.output, arguments.force)
    suffix = Path(arguments.output).suffix.lower() if arguments.output else ".csv"
    if suffix not in (".csv", ".npz"):
        raise ValueError(f"predictions are written as .csv or .npz, but the output is {arguments.output}")
    model = loaded(arguments)
    given = None if arguments.classes is None else _with_labels_of(model.class_table_, load_classes(arguments.classes))
    recogniser = model.recogniser(
        class_vectors=given,
        candidates=_candidates(arguments.candidates, [*model.class_table_, *(given or ())]),
    )
    if not 1 <= arguments.top <= len(recogniser.labels):
        raise ValueError(f"--top must be from 1 to the number of candidates, {len(recogniser.labels)}")
    total, chunks = _samples(arguments, model.n_features_in_)
    named = _named(recogniser, chunks, total, arguments)
    if suffix == ".npz":
        _write_npz(named, arguments)
    else:
        with _text_output(arguments) as file:
            (_write_json if arguments.json and not arguments.output else _write_csv)(named, file, arguments)
    if arguments.output and arguments.json:
        print(dumps({"output": str(arguments.output), "samples": total}))
    elif arguments.output:
        say(arguments, f"wrote {arguments.output}")


def _candidates(text: str | None, known: Iterable[Any]) -> Any:
    if text is None or text in GROUPS:
        return text
    by_text = {str(label): label for label in known}
    # a name with commas stands in quotes, or alone
    parts = [text] if text in by_text else next(csv.reader([text], skipinitialspace=True))
    return [by_text.get(part.strip(), part.strip()) for part in parts]


def _samples(arguments: argparse.Namespace, n_features: int) -> tuple[int, Iterator[tuple[Any, Any]]]:
    """Return how many samples there are, and chunks of (row numbers, samples)."""
    import numpy as np

    from jcmspl.datasets import load_dataset
    from jcmspl.datasets.arrays import load_features

    if arguments.part is not None:
        dataset = load_dataset(arguments.samples)
        X, rows = dataset.X, dataset.rows(arguments.part)
    else:
        if Path(arguments.samples).is_dir() or arguments.samples == "digits":
            raise ValueError(f"{arguments.samples} is not a file of features: of a data set, name the part with --part")
        X = load_features(arguments.samples)
        rows = np.arange(len(X))
    if len(X.shape) != 2 or X.shape[1] != n_features:
        raise ValueError(f"{arguments.samples} has the shape {X.shape}, but the model expects {n_features} features")
    blocks = (rows[first : first + _CHUNK] for first in range(0, len(rows), _CHUNK))
    return len(rows), ((block, X[block]) for block in blocks)


def _named(
    recogniser: Any, chunks: Iterator[tuple[Any, Any]], total: int, arguments: argparse.Namespace
) -> Iterator[tuple[Any, Any, Any]]:
    """Give row numbers, labels and scores of each chunk."""
    done = 0
    with Progress("naming", total, "samples", enabled=not arguments.quiet) as progress:
        for rows, X in chunks:
            indices, scores = recogniser.top_k(X, arguments.top)
            yield rows, recogniser.labels[indices], scores
            done += len(rows)
            progress.update(done)


@contextlib.contextmanager
def _text_output(arguments: argparse.Namespace) -> Iterator[Any]:
    if arguments.output is None:
        yield sys.stdout
        return
    from jcmspl.io.atomic import open_atomically

    with open_atomically(Path(arguments.output), overwrite=arguments.force) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()


def _write_csv(named: Iterator[tuple[Any, Any, Any]], file: Any, arguments: argparse.Namespace) -> None:
    ranks = range(1, arguments.top + 1)
    names = ["label"] if arguments.top == 1 else [f"label_{rank}" for rank in ranks]
    values = ["score"] if arguments.top == 1 else [f"score_{rank}" for rank in ranks]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["row", *names, *(values if arguments.scores else [])])
    for rows, labels, scores in named:
        for row, label, score in zip(rows.tolist(), labels.tolist(), scores.tolist(), strict=True):
            writer.writerow([row, *label, *((f"{value:.9g}" for value in score) if arguments.scores else ())])


def _write_json(named: Iterator[tuple[Any, Any, Any]], file: Any, arguments: argparse.Namespace) -> None:
    """Write an object on each line."""
    for rows, labels, scores in named:
        for row, label, score in zip(rows.tolist(), labels.tolist(), scores.tolist(), strict=True):
            print(dumps({"row": row, "labels": label, **({"scores": score} if arguments.scores else {})}), file=file)


def _with_labels_of(known: ClassTable, given: ClassTable) -> ClassTable:
    """Return class vectors from a file, where labels are text, under the labels that the model has for them."""
    from jcmspl.data.class_table import ClassTable

    by_text = {str(label): label for label in known}
    return ClassTable([by_text.get(str(label), label) for label in given], given.vectors, given.attributes)


def _write_npz(named: Iterator[tuple[Any, Any, Any]], arguments: argparse.Namespace) -> None:
    import numpy as np

    from jcmspl.io.atomic import open_atomically

    parts = list(named)
    if not parts:
        parts = [(np.empty(0, dtype=np.int64), np.empty((0, arguments.top), dtype=str), np.empty((0, arguments.top)))]
    rows, labels, scores = (np.concatenate([part[i] for part in parts]) for i in range(3))
    if labels.dtype == object:
        labels = labels.astype(str)  # an array of objects would be a pickle
    arrays = {"row": rows, "labels": labels, **({"scores": scores} if arguments.scores else {})}
    with open_atomically(Path(arguments.output), overwrite=arguments.force) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
