"""Writes an array the way that large collections have it: in many files of every kind."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr

KINDS = ("npy", "fortran", "parquet", "zarr2", "zarr3")


def write_shards(folder, X, lengths, kind="npy", name="features-{}", labels=None, **options):
    """Write the rows of X in files of these lengths; return their paths."""
    folder.mkdir(exist_ok=True, parents=True)
    edges = np.cumsum([0, *lengths])
    assert edges[-1] == len(X)
    paths = []
    for number, (first, last) in enumerate(itertools.pairwise(edges)):
        path = folder / f"{name.format(number)}.{'npy' if kind == 'fortran' else kind.rstrip('23')}"
        of_rows = None if labels is None else labels[first:last]
        write_shard(path, X[first:last], kind, labels=of_rows, **options)
        paths.append(path)
    return paths


def write_shard(path, rows, kind, labels=None, **options):
    if kind == "parquet":
        columns = {f"f{i}": column for i, column in enumerate(rows.T)}
        table = pa.table(columns if labels is None else {**columns, "label": labels})
        pq.write_table(table, path, **{"row_group_size": 4, **options})
    elif kind.startswith("zarr"):
        write_zarr(path, rows, int(kind[-1]), **options)
    else:
        np.save(path, np.asfortranarray(rows) if kind == "fortran" else rows)


def write_zarr(path, rows, version=2, chunks=(4, 2)):
    """Write a zarr array, with any version of the package."""
    options = {"shape": rows.shape, "chunks": chunks, "dtype": rows.dtype}
    if zarr.__version__.startswith("2."):
        array = zarr.open_array(str(path), mode="w", **options)
    else:
        config = {"write_empty_chunks": True}
        array = zarr.create_array(str(path), zarr_format=version, config=config, **options)
    array[:] = rows


def write_metadata(folder, columns, lengths):
    """Write tables as img2dataset does, a column by name for all rows."""
    folder.mkdir(exist_ok=True)
    edges = np.cumsum([0, *lengths])
    for number, (first, last) in enumerate(itertools.pairwise(edges)):
        table = pa.table({name: values[first:last] for name, values in columns.items()})
        pq.write_table(table, folder / f"metadata_{number}.parquet")
