"""Rows of a parquet file: each row group and column has as many as the file claims, or the file is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jcmspl.datasets.errors import DatasetError
from jcmspl.io.paths import Place
from jcmspl.support.shown import shown

_BATCH = 4096  # about as many rows are decoded at a time


def group_sizes(path: Place, metadata: Any) -> list[int]:
    """Return the number of rows of each row group, which add up to those of the file."""
    sizes = [int(metadata.row_group(i).num_rows) for i in range(metadata.num_row_groups)]
    if min(sizes, default=0) < 0 or sum(sizes) != metadata.num_rows:
        raise DatasetError(f"{_claim(path, metadata)}, but its row groups have {sum(sizes):,}")
    return sizes


def batches_of(path: Place, file: Any, columns: Sequence[str], first_group: int = 0) -> Iterator[Any]:
    """Give the rows of columns in batches, from the start of a row group on.

    The file must be open with ``pre_buffer``: pyarrow then looks at the descriptions of all columns before it reads the
    first batch, and raises an error if one is damaged. Asking for a damaged description before that ends the process.
    """
    from pyarrow import ArrowInvalid

    sizes, wanted = group_sizes(path, file.metadata), set(columns)
    schema = file.metadata.schema
    # columns of one value a row: lists have several, and are counted when they are read
    leaves = [(i, schema.column(i)) for i in range(len(schema))]
    plain = [i for i, leaf in leaves if leaf.path in wanted and not leaf.max_repetition_level]
    before = sum(sizes[:first_group])
    for groups in _groups_read_together(sizes, first_group):
        size = sum(sizes[group] for group in groups)
        even = -(-size // max(1, round(size / _BATCH)))  # no short batch at the end of a group
        batches = file.iter_batches(batch_size=max(1, even), row_groups=groups, columns=list(columns))
        done = 0
        try:
            batch = next(batches, None)  # must come before column(i)
            described = [(file.metadata.row_group(group), sizes[group]) for group in groups]
            if any(group.column(i).num_values != rows for group, rows in described for i in plain):
                raise DatasetError(f"{_claim(path, file.metadata)}, but its columns have other lengths")
            while batch is not None:
                done += batch.num_rows
                yield batch
                batch = next(batches, None)
        except ArrowInvalid as error:  # columns of different lengths
            detail = shown(str(error), 200)
            raise DatasetError(f"{_claim(path, file.metadata)}, which are not there ({detail})") from error
        before += done
        if done != size:
            raise DatasetError(f"{_claim(path, file.metadata)}, but {before:,} are there")


def _groups_read_together(sizes: Sequence[int], first: int) -> Iterator[list[int]]:
    """Give runs of row groups: one alone, which may be large, or as many as fit in a batch."""
    run: list[int] = []
    rows = 0
    for group in range(first, len(sizes)):
        if run and rows + sizes[group] > _BATCH:
            yield run
            run, rows = [], 0
        run.append(group)
        rows += sizes[group]
    if run:
        yield run


def _claim(path: Place, metadata: Any) -> str:
    return f"{path} is damaged: it claims {metadata.num_rows:,} rows"
