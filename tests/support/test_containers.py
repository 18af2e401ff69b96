"""Samples of pandas, polars, pyarrow, DuckDB, Hugging Face datasets and torch, some as small stand-ins."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from jcmspl import ClassTable
from jcmspl.datasets import load_arrays
from jcmspl.methods import ESZSL
from jcmspl.support.containers import columns_of_table, unwrapped

X = np.random.default_rng(0).normal(size=(12, 5))
NAMES = ["zebra", "horse", "otter"]
Y = NAMES * 4
VECTORS = {"zebra": [1.0, 1.0], "horse": [0.0, 1.0], "otter": [0.5, 0.0]}


def objects(rows):
    array = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


class Tensor:
    """A stand-in for a tensor of torch: NumPy gets it once it is detached and of a type that NumPy has."""

    def __init__(self, values, dtype="float32", requires_grad=True):
        self.values, self.dtype, self.requires_grad = np.asarray(values, np.float32), dtype, requires_grad
        self.shape, self.ndim = self.values.shape, self.values.ndim

    def detach(self):
        return Tensor(self.values, self.dtype, requires_grad=False)

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.values, "float32", self.requires_grad)

    def numpy(self):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad")
        if self.dtype == "bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def __len__(self):
        return len(self.values)

    def __getitem__(self, key):
        return Tensor(self.values[key], self.dtype, self.requires_grad)


class HuggingFace:
    """A stand-in for a data set of Hugging Face; its labels are numbers of a label table."""

    column_names = ("image_path", "label", "embedding")

    class Label:
        names = NAMES

    def __init__(self):
        self.features = {"image_path": object(), "label": self.Label(), "embedding": object()}

    def __len__(self):
        return len(X)

    def __getitem__(self, name):
        columns = {"image_path": [f"{i}.jpg" for i in range(len(X))], "label": [0, 1, 2] * 4, "embedding": X.tolist()}
        return columns[name]


class DuckResult:
    """A stand-in for a result of DuckDB."""

    def fetchnumpy(self):
        return {"label": objects(Y), "embedding": objects(list(X))}


class LazyFrame:
    """A stand-in for a lazy frame of polars."""

    def collect_schema(self):
        raise AssertionError

    def collect(self):
        return pd.DataFrame({"label": Y, "embedding": X.tolist()})


def forms():
    column, arrow = pd.Series(X.tolist()), pa.array(X.tolist())
    wide = {f"f{i}": X[:, i] for i in range(5)}
    yield "lists in pandas", column
    yield "arrays in pandas", pd.Series(list(X))
    yield "a frame of one column", pd.DataFrame({"embedding": column})
    yield "a frame with labels", pd.DataFrame({"embedding": list(X), "label": Y})
    yield "arrow types in pandas", column.astype(pd.ArrowDtype(pa.list_(pa.float64())))
    yield "objects", objects(list(X))
    yield "lists as objects", objects(X.tolist())
    yield "a list of arrays", list(X)
    yield "arrow lists", arrow
    yield "a list of arrow lists", list(arrow)
    yield "arrow chunks", pa.chunked_array([arrow[:5], arrow[5:]])
    yield "arrow lists of a fixed size", pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 5)
    yield "an arrow table", pa.table({"embedding": arrow, "label": Y})
    yield "an arrow table of numbers", pa.table(wide)
    yield "a record batch", pa.table(wide).to_batches()[0]
    yield "DuckDB", DuckResult()
    yield "a dict of columns", wide
    yield "Hugging Face", HuggingFace()
    yield "polars, lazy", LazyFrame()
    yield "a tensor", Tensor(X)
    yield "a tensor of bfloat16", Tensor(X, "bfloat16")
    yield "a list of tensors", [Tensor(row) for row in X]
    yield "objects that are tensors", objects([Tensor(row) for row in X])


FORMS = dict(forms())


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_samples(form):
    plain = ESZSL().fit(X, Y, class_vectors=VECTORS)
    model = ESZSL().fit(FORMS[form], Y, class_vectors=VECTORS)
    np.testing.assert_allclose(model.decision_function(FORMS[form]), plain.decision_function(X), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(load_arrays(FORMS[form], Y, class_vectors=VECTORS).X, X, rtol=1e-6)


def test_with_the_real_packages():
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    frame = polars.DataFrame({"label": Y, "embedding": X.tolist()})
    fixed = frame.with_columns(polars.col("embedding").cast(polars.Array(polars.Float64, 5)))
    table = frame.to_arrow()
    connection = duckdb.connect()
    connection.register("animals", table)
    result = connection.execute("SELECT embedding FROM animals")
    for found in (frame, frame["embedding"], fixed["embedding"], fixed, frame.lazy(), result):
        np.testing.assert_array_equal(unwrapped(found), X)
    np.testing.assert_array_equal(unwrapped(connection.sql("SELECT * FROM animals")), X)
    read = load_arrays(connection.sql("SELECT * FROM animals"), class_vectors=VECTORS)
    assert read.y.tolist() == Y
    classes = polars.DataFrame({"class": NAMES, "vector": list(VECTORS.values())})
    assert ClassTable.of(classes) == ClassTable.of(VECTORS)


@pytest.mark.parametrize(
    "spoilt", [pd.Series, pa.array, list, objects, lambda rows: pa.table({"x": rows}), lambda rows: {"x": rows}]
)
def test_the_first_row_of_another_length_is_named(spoilt):
    rows = X.tolist()
    rows[7], rows[9] = [1.0, 2.0], [1.0]
    with pytest.raises(ValueError, match="row 7 has 2 numbers, but the first row has 5"):
        ESZSL().fit(spoilt(rows), Y, class_vectors=VECTORS)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (None, "row 3 holds None where a vector of numbers is expected"),
        ("[1, 2]", r"row 3 holds '\[1, 2\]' .* json.loads"),
        ([1.0, None, 3.0, 4.0, 5.0], "row 3 holds None at position 1 where a number is expected"),
        ([1.0, 2.0, 3.0, "x", 5.0], "row 3 holds 'x' at position 3 where a number is expected"),
        ([[1.0]] * 5, "row 3 holds"),
    ],
)
def test_rows_that_are_not_vectors(row, told):
    rows = X.tolist()
    rows[3] = row
    for form in (objects(rows), rows):
        with pytest.raises(TypeError, match=told):
            ESZSL().fit(form, Y, class_vectors=VECTORS)


def test_the_name_of_a_file_is_not_a_sample():
    with pytest.raises(TypeError, match=r"X is 'photos\.npy': read the file first"):
        ESZSL().fit("photos.npy", Y, class_vectors=VECTORS)


@pytest.mark.parametrize("form", [list, pd.Series, pa.array, objects, lambda rows: pa.table({"x": rows})])
@pytest.mark.parametrize("number", [0, 5])
def test_a_row_without_a_vector_is_named(form, number):
    rows = X.tolist()
    rows[number] = None
    with pytest.raises(TypeError, match=f"row {number} holds None where a vector of numbers is expected"):
        ESZSL().fit(form(rows), Y, class_vectors=VECTORS)


def test_nulls_of_duckdb_are_missing_values():
    """DuckDB masks nulls, and the numbers behind a mask are arbitrary."""
    duckdb = pytest.importorskip("duckdb")
    rows = "(SELECT i AS a, nullif(i, 1) AS b, nullif(i % 2, 0) AS label FROM range(4) t(i))"
    found = unwrapped(duckdb.sql(f"SELECT a, b FROM {rows}"))
    np.testing.assert_array_equal(found, [[0, 0], [1, np.nan], [2, 2], [3, 3]])
    found = unwrapped(duckdb.sql(f"SELECT [a, b] AS x FROM {rows}"))
    np.testing.assert_array_equal(found, [[0, 0], [1, np.nan], [2, 2], [3, 3]])
    with pytest.raises(ValueError, match="missing label at position 0"):
        load_arrays(duckdb.sql(f"SELECT a, label FROM {rows}"), class_vectors={0: [1.0, 0.0], 1: [0.0, 1.0]})
    result = duckdb.connect().execute("SELECT 1.0 AS a")
    unwrapped(result)
    with pytest.raises(ValueError, match="was read before: run the query again"):
        unwrapped(result)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_columns_of_texts_are_no_vectors(package):
    frame = pytest.importorskip(package).DataFrame
    for tags in ([["a", "b"], ["c"]], [np.array(["a", "b"]), np.array(["c"])]):
        found = unwrapped(frame({"tags": tags, "embedding": [np.array([1.0, 2]), np.array([3.0, 4])]}))
        np.testing.assert_array_equal(found, [[1, 2], [3, 4]])


def test_a_missing_vector_of_pandas_is_named():
    pd = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="row 0 holds <NA>"):
        unwrapped(pd.DataFrame({"embedding": [pd.NA, [1.0, 2]]}))


def test_tables_that_are_not_clear():
    with pytest.raises(ValueError, match="several columns of vectors, 'image', 'text': pass one of them"):
        unwrapped(pa.table({"image": X.tolist(), "text": X.tolist()}))
    with pytest.raises(TypeError, match="no column of vectors, and no numbers in 'label'"):
        unwrapped({"label": Y})
    assert columns_of_table(X) is None
    with pytest.raises(ValueError, match="features holds no samples"):
        load_arrays(pa.table({"image": X.tolist(), "label": Y}).slice(0, 0), class_vectors=VECTORS)


def test_what_needs_no_conversion_stays():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = ESZSL().fit(frame, Y, class_vectors=VECTORS)
    assert list(model.feature_names_in_) == list("abcde")
    for value in (X, X.astype(np.float16), frame, [(X, Y)], 3, "text", None):
        assert unwrapped(value) is value


def test_tables_in_memory_are_data_sets():
    read = load_arrays(HuggingFace(), class_vectors=VECTORS)
    assert read.y.tolist() == Y  # by the label table
    assert list(read.ids) == [f"{i}.jpg" for i in range(12)]
    frame = pd.DataFrame(X, columns=list("abcde")).assign(animal=Y, path=[f"{i}.jpg" for i in range(12)])
    read = load_arrays(frame, "animal", class_vectors=VECTORS)
    assert read.y.tolist() == Y
    assert read.columns == tuple("abcde")
    assert (read.id_name, read.ids[3]) == ("path", "3.jpg")
    pair = pd.DataFrame({"image": X.tolist(), "text": X[:, :2].tolist(), "label": Y})
    assert load_arrays(pair, class_vectors=VECTORS, vector="text").n_features == 2
    with pytest.raises(ValueError, match="'image', 'text' all hold vectors: name one"):
        load_arrays(pair, class_vectors=VECTORS)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"class": NAMES, "vector": list(VECTORS.values())}),
        pd.DataFrame({"animal": NAMES, "stripes": [1.0, 0.0, 0.5], "hooves": [1.0, 1.0, 0.0]}),
        pa.table({"name": NAMES, "vector": list(VECTORS.values())}),
        pd.Series(VECTORS),
        pd.DataFrame({"vector": list(VECTORS.values())}, index=NAMES),
        {name: Tensor(vector) for name, vector in VECTORS.items()},
        pd.DataFrame(VECTORS).T,
    ],
)
def test_class_vectors_of_tables(table):
    found = ClassTable.of(table)
    assert list(found) == NAMES
    np.testing.assert_array_equal(found.vectors, list(VECTORS.values()))


def test_numbers_for_classes_with_names():
    with pytest.raises(ValueError, match=r"the labels are numbers, but the classes have names.*--label-names"):
        ESZSL().fit(X, [0, 1, 2] * 4, class_vectors=VECTORS)
