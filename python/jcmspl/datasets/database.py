"""Tables of databases: a SQLite or DuckDB file, opened for reading only, and one of its tables or a query."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from jcmspl.datasets.columns import Column, Table, TableForm, joined
from jcmspl.datasets.errors import DatasetError, decoding
from jcmspl.datasets.json_lines import record_blocks
from jcmspl.datasets.parquet import import_parquet, table_of_batches
from jcmspl.io.files import require_file
from jcmspl.support.lazy import needed
from jcmspl.support.shown import listed, quoted, shown, suggestion

#: Suffixes of databases.
DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb")
_SEPARATOR = "::"
_PLACE = re.compile(f"(.*?(?:{'|'.join(map(re.escape, DATABASES))}))(?:{_SEPARATOR}(.*))?", re.IGNORECASE | re.DOTALL)
_ROWS = 4096  # of a batch
_STEPS = 1_000_000  # of SQLite between two looks at signals
_SAFE = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


def is_database(path: str | Path) -> bool:
    """Whether a path stands for a table of a database, ``file.db::table``, or for a database."""
    return _PLACE.fullmatch(str(path)) is not None


def read_database(path: str | Path, form: TableForm, labels: Column | Sequence[str] | None = None) -> Table:
    """Read samples from a table, or from the result of ``form.query``; other arguments as for :func:`roles_of`."""
    place = _PLACE.fullmatch(str(path))
    name, table = place.groups("") if place else (str(path), "")
    query = form.query
    if table and query is not None:
        raise DatasetError(f"{path} names a table, and there is a query as well: give one of them")
    file = Path(name)
    require_file(file)
    with file.open("rb") as opened:
        is_duck = opened.read(12)[8:] == b"DUCK"
    return (_read_duckdb if is_duck else _read_sqlite)(file, table, query, form, labels)


@contextmanager
def _running(path: Path, kind: str, query: str | None) -> Iterator[None]:
    """Turn the errors of a database into sentences: those of a query are not the file's."""
    with decoding(path, kind):
        try:
            yield
        except DatasetError:
            raise
        except Exception as error:
            if "interrupted" in str(error).lower():  # Ctrl-C during a query
                raise KeyboardInterrupt from None
            if "is locked" in str(error) or "set lock on file" in str(error):
                raise DatasetError(f"{path} is locked by another program: try again when it has finished") from None
            if query is None:
                raise
            raise DatasetError(f"{path}: the query fails: {shown(str(error).splitlines()[0], 200)}") from error


def _read_sqlite(path: Path, table: str, query: str | None, form: TableForm, labels: Any) -> Table:
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    kind = "a SQLite or DuckDB database"
    with _running(path, kind, query), closing(sqlite3.connect(address, uri=True)) as database:
        database.execute("PRAGMA trusted_schema=OFF")  # views must not call functions with side effects
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        names = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        sql = query or _select(path, table, [str(name) for (name,) in database.execute(names)])
        database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _SAFE else sqlite3.SQLITE_DENY)
        database.set_progress_handler(lambda: 0, _STEPS)  # lets Ctrl-C end a long query
        return joined(path, record_blocks(_records(path, database.execute(sql)), path, form, labels))


def _records(path: Path, cursor: sqlite3.Cursor) -> Iterator[tuple[str, Any]]:
    """Yield rows as objects; a vector is a blob of float32, as of sqlite-vec, or a JSON list."""
    names = [column[0] for column in cursor.description or ()]
    if len(set(names)) < len(names):
        raise DatasetError(f"{path}: the query gives two columns of one name: {listed(names)}; rename one with AS")
    for number, row in enumerate(cursor):
        where = f"{path}: row {number}"
        yield where, {name: _value(where, value) for name, value in zip(names, row, strict=True)}


def _value(where: str, value: Any) -> Any:
    if isinstance(value, bytes):
        if len(value) % 4:
            raise DatasetError(f"{where} has a blob of {len(value)} bytes, which is not a vector of float32")
        return np.frombuffer(value, "<f4").tolist()
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _read_duckdb(path: Path, table: str, query: str | None, form: TableForm, labels: Any) -> Table:
    duckdb = needed("duckdb", f"{path} is a DuckDB database, which needs duckdb", "duckdb")
    import_parquet(path, "a DuckDB database")
    # without external access a view or query cannot read or write other files
    safely = {"enable_external_access": "false", "lock_configuration": "true"}

    def read(database: Any) -> Table:
        names = "SELECT table_name FROM information_schema.tables"
        sql = query or _select(path, table, [str(name) for (name,) in database.execute(names).fetchall()])
        relation = database.sql(sql)
        if relation is None:
            raise DatasetError(f"{path}: the query gives no rows: it must be a SELECT")
        rows = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # before version 1.4
        reader = rows(_ROWS)
        return table_of_batches(path, reader.schema, iter(reader), form, labels)

    with (
        _running(path, "a DuckDB database", query),
        closing(duckdb.connect(str(path), True, safely)) as database,
        ThreadPoolExecutor(1) as worker,
    ):
        reading = worker.submit(read, database)
        try:
            return reading.result()
        except BaseException:  # a query looks at no signals, so Ctrl-C must end it from another thread
            database.interrupt()
            raise


def _select(path: Path, table: str, there: Sequence[str]) -> str:
    """Return the query for a table, by default the only one."""
    if not table and len(there) == 1:
        table = there[0]
    if not there:
        raise DatasetError(f"{path} has no tables: is it the right file?")
    if table not in there:
        asked = f"no table {quoted(table)}" if table else f"{len(there)} tables"
        raise DatasetError(
            f"{path} has {asked}: name one of {listed(there)}, as {path}{_SEPARATOR}TABLE, or give a query (--query)"
            f"{suggestion(table, there)}"
        )
    name = table.replace('"', '""')
    return f'SELECT * FROM "{name}"'
