"""Tables and queries of SQLite and DuckDB."""

import json
import signal
import sqlite3
from contextlib import closing
from functools import partial

import numpy as np
import pytest

from jcmspl.datasets import DatasetError, load_dataset, load_features
from jcmspl.datasets.database import is_database

X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
VECTORS = {"zebra": [1.0, 0.0], "horse": [0.0, 1.0]}
Y = ["zebra", "horse"] * 3


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "animals.db"
    rows = [(f"{i}.jpg", x, y) for i, (x, y) in enumerate(zip(X, Y, strict=True))]
    with closing(sqlite3.connect(path)) as opened, opened:
        opened.execute("CREATE TABLE blobs (path TEXT, embedding BLOB, label TEXT)")
        opened.executemany("INSERT INTO blobs VALUES (?, ?, ?)", [(p, x.tobytes(), y) for p, x, y in rows])
        opened.execute("CREATE TABLE texts (path TEXT, embedding TEXT, label TEXT)")
        lists = [(p, json.dumps(x.tolist()), y) for p, x, y in rows]
        opened.executemany("INSERT INTO texts VALUES (?, ?, ?)", lists)
        opened.execute('CREATE TABLE "odd "" name" (a REAL, b REAL, c REAL, label TEXT)')
        wide = [(*map(float, x), y) for _, x, y in rows]
        opened.executemany('INSERT INTO "odd "" name" VALUES (?, ?, ?, ?)', wide)
    return path


@pytest.mark.parametrize("table", ["blobs", "texts", 'odd " name'])
def test_tables(database, table):
    data = load_dataset(f"{database}::{table}", class_vectors=VECTORS)
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == Y
    assert table.startswith("odd") or list(data.ids)[:2] == ["0.jpg", "1.jpg"]


def test_queries(database):
    query = "SELECT b.label, t.embedding FROM blobs b JOIN texts t USING (path) ORDER BY path DESC LIMIT 4"
    data = load_dataset(database, class_vectors=VECTORS, query=query)
    np.testing.assert_array_equal(data.X, X[:1:-1])


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT", "the query fails: incomplete input"),
        ("SELECT * FROM nowhere", "no such table"),
        ("DROP TABLE blobs", "not authorized"),
        ("ATTACH 'other.db' AS other", "not authorized"),
        ("SELECT a, a FROM (SELECT 1 AS a)", "two columns of one name: a, a"),
        ("SELECT 1 AS x, 'zebra' AS label WHERE 0", "holds no samples"),
        ("SELECT x'010203' AS v, 'zebra' AS label", "row 0 has a blob of 3 bytes"),
        ("SELECT embedding, NULL AS label FROM blobs", "row 0 has no value for 'label'"),
        (
            "SELECT CASE path WHEN '1.jpg' THEN x'0000803f' ELSE embedding END AS v, label FROM blobs",
            "row 1 holds 1 values",
        ),
    ],
)
def test_bad_queries(database, query, told, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match=told):
        load_dataset(database, class_vectors=VECTORS, query=query)
    assert not (tmp_path / "other.db").exists()


@pytest.mark.parametrize("query", [None, "SELECT * FROM blobs"])
def test_a_locked_database(database, query, monkeypatch):
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(DatasetError, match="is locked by another program: try again"):
            load_features(database, query=query)


def test_an_endless_result_is_refused_before_memory_is_full(database, monkeypatch):
    monkeypatch.setattr("jcmspl.datasets.errors.memory_at_hand", lambda: 2**21)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT i, i AS j FROM n"
    with pytest.raises(DatasetError, match=r"takes .* of memory, but only"):
        load_features(database, query=endless)


def test_a_file_name_with_colons(database):
    renamed = database.rename(database.with_name("ani::mals.db"))
    assert len(load_features(f"{renamed}::blobs").X) == len(X)
    with pytest.raises(DatasetError, match="has 3 tables"):
        load_features(renamed)


def test_mistakes(database, tmp_path):
    with pytest.raises(DatasetError, match="has 3 tables: name one of blobs, texts"):
        load_features(database)
    with pytest.raises(DatasetError, match="has no table 'blob': name one of"):
        load_features(f"{database}::blob")
    with pytest.raises(DatasetError, match="there is a query as well"):
        load_features(f"{database}::blobs", query="SELECT 1")
    with pytest.raises(FileNotFoundError, match=r"did you mean animals.db\?"):
        load_features(tmp_path / "animal.db")
    (tmp_path / "text.db").write_text("no database" * 1000)
    with pytest.raises(DatasetError, match="not a SQLite or DuckDB database"):
        load_features(f"{tmp_path / 'text.db'}::blobs")
    (tmp_path / "empty.db").touch()
    with pytest.raises(DatasetError, match=r"empty\.db has no tables"):
        load_features(tmp_path / "empty.db")
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(DatasetError, match=r"is not a database .* leave query \(--query\) out"):
        load_features(tmp_path / "x.npy", query="SELECT 1")
    assert not is_database("digits")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts")
@pytest.mark.parametrize("kind", ["SQLite", "DuckDB"])
def test_an_interrupt_ends_a_long_query(database, kind, tmp_path):
    """A view that never ends stops at Ctrl-C."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS v FROM n"
    if kind == "DuckDB":
        database, endless = (
            tmp_path / "some.duckdb",
            "SELECT count(*) AS v FROM range(10000000000000) a, range(1000000) b",
        )
        pytest.importorskip("duckdb").connect(str(database)).close()

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        with pytest.raises(KeyboardInterrupt):
            load_features(database, query=endless)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_duckdb(tmp_path):
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    frame = polars.DataFrame({"id": [f"{i}" for i in range(6)], "embedding": X.tolist(), "label": Y})
    path = tmp_path / "animals.duckdb"
    with duckdb.connect(str(path)) as opened:
        opened.register("given", frame.to_arrow())
        opened.execute("CREATE TABLE animals AS SELECT * FROM given")
    for source in (path, f"{path}::animals"):
        data = load_dataset(source, class_vectors=VECTORS)
        np.testing.assert_allclose(data.X, X, rtol=1e-6)
        assert data.y.tolist() == Y
    assert len(load_features(path, query="SELECT * FROM animals LIMIT 2").X) == 2
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for query in (f"SELECT * FROM '{tmp_path / 'secret.csv'}'", "DROP TABLE animals", "SELECT * FROM nowhere"):
        with pytest.raises(DatasetError, match="the query fails"):
            load_features(path, query=query)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DatasetError, match="not a DuckDB database"):
        load_features(path)
