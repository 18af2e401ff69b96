"""Samples for `jcmspl predict`: from a file, a data set or a stream, read in chunks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jcmspl.cli._options import columns_of, compare_columns, table_options
from jcmspl.cli._prediction_files import STANDARD, is_folder

CHUNK = 8192


class Samples(NamedTuple):
    """Samples to predict: the given rows of X, with the ids of all rows of X, if there are any."""

    X: Any
    rows: Any
    ids: Any = None
    id_name: str = "id"


class Chunk(NamedTuple):
    """A chunk of samples, with row numbers and ids, if there are any."""

    rows: Any
    X: Any
    ids: Any


def is_stream(samples: str) -> bool:
    """Whether samples come from standard input or JSON lines, which are read once."""
    return samples == STANDARD or Path(samples).suffix.lower() in (".jsonl", ".ndjson")


def refuse_with_stream(arguments: argparse.Namespace) -> None:
    """Refuse options that need several passes over the samples, or their number."""
    wanted = {
        "--adapt": arguments.adapt,
        "--part": arguments.part is not None,
        "--dask": arguments.dask is not None,
        "a folder of predictions": is_folder(arguments),
        "--id": arguments.id_column is not None,
        "--delimiter": arguments.delimiter is not None,
        "--array": arguments.array is not None,
        "--query": arguments.query is not None,
        "--ignore": bool(arguments.ignore or arguments.ignore_text),
    }
    for what, is_wanted in wanted.items():
        if is_wanted:
            raise ValueError(
                f"{what} is not available for standard input and JSON lines, which are read once: write the samples to "
                "a .npy or .csv file first"
            )


def streamed_chunks(arguments: argparse.Namespace, model: Any) -> Iterator[Chunk]:
    """Iterate over the samples of a stream in chunks."""
    import contextlib

    from jcmspl.datasets.columns import TableForm
    from jcmspl.datasets.row_source import filled
    from jcmspl.datasets.sample_stream import read_stream

    is_standard = arguments.samples == STANDARD
    name = Path("standard input" if is_standard else arguments.samples)
    opened: Any = contextlib.nullcontext(sys.stdin.buffer) if is_standard else name.open("rb")
    values = getattr(model, "imputed_values_", None)
    form = TableForm(header=arguments.header, missing=values is not None, vector=arguments.vector)
    with opened as file:
        stream = read_stream(file, name, model.n_features_in_, size=CHUNK, form=form, columns=columns_of(model))
        for rows, X, ids in stream:
            if values is not None:
                X = filled(X, values)
            yield Chunk(rows, _finite(X, rows, str(name)), ids)


def samples_of(arguments: argparse.Namespace, model: Any) -> Samples:
    """Read the samples that the options name."""
    import numpy as np

    from jcmspl.datasets import load_dataset, load_features
    from jcmspl.datasets.loading import is_data_set

    values = getattr(model, "imputed_values_", None)
    if arguments.part is not None:
        dataset = load_dataset(arguments.samples)
        if values is not None:
            dataset = dataset.imputed(values)
        samples = Samples(dataset.X, dataset.rows(arguments.part), dataset.ids, dataset.id_name)
        columns = dataset.columns
    elif is_data_set(arguments.samples):
        raise ValueError(
            f"{arguments.samples} is a data set and not a file of features: choose one of its parts, for example with "
            "--part test_unseen"
        )
    else:
        found = load_features(arguments.samples, imputed_values=values, **table_options(arguments))
        samples = Samples(found.X, np.arange(len(found.X)), found.ids, found.id_name)
        columns = found.columns
    shape, n_features = samples.X.shape, model.n_features_in_
    if len(shape) != 2 or shape[1] != n_features:
        raise ValueError(f"{arguments.samples} has the shape {shape}, but the model expects {n_features} features")
    compare_columns(model, arguments.samples, columns)
    return samples


def chunks_of(samples: Samples, rows: Any, arguments: argparse.Namespace) -> Iterator[Chunk]:
    """Iterate over the given rows of the samples in chunks; a dask array is one chunk."""
    from jcmspl.data.reading import in_chunks

    for chunk, X in in_chunks(samples.X, rows, CHUNK, _reader(arguments)):
        yield Chunk(chunk, X, None if samples.ids is None else [samples.ids[row] for row in chunk])


def unlabelled_chunks(samples: Samples, arguments: argparse.Namespace) -> Any:
    """Return the samples in the form that `adapt` takes."""
    from jcmspl.data.reading import unlabelled_rows

    return unlabelled_rows(samples.X, [samples.rows], CHUNK, _reader(arguments))


def _reader(arguments: argparse.Namespace) -> Callable[[Any, Any], Any]:
    """Return a function that reads rows and refuses NaN."""
    import numpy as np

    return lambda X, rows: _finite(np.asarray(X[rows]), rows, arguments.samples)


def _finite(X: Any, rows: Any, name: str) -> Any:
    """Return the samples, or refuse them if one holds NaN or infinity."""
    import numpy as np

    bad = rows[~np.isfinite(X).all(axis=1)]
    if len(bad):
        raise ValueError(f"{name}: row {bad[0]} holds NaN or infinity: remove or replace such values")
    return X
