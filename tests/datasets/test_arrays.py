"""Own data: every kind of file, columns of labels, class tables, split files."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from numpy.testing import assert_array_equal

from jcmspl import ClassTable
from jcmspl.datasets import Dataset, DatasetError, csv_table, load_arrays, load_dataset
from jcmspl.datasets.arrays import load_features
from jcmspl.datasets.class_files import load_classes

NAMES = ["zebra", "horse", "otter", "tiger"]
X = np.arange(60.0).reshape(20, 3) / 4
Y = NAMES * 5
VECTORS = ClassTable(NAMES, [[1, 0.5], [0, 0.5], [0, 0], [1, 0]], ["stripes", "hooves"])
SPLIT = {"train": [0, 1, 4, 5], "val": [2, 6], "test_seen": [8, 9], "test_unseen": [3, 7]}


def write_classes(path):
    frame = pd.DataFrame(VECTORS.vectors, index=NAMES, columns=VECTORS.attributes)
    frame.to_csv(path, index_label="class")
    return path


def frame_of_samples(names=("a", "b", "c")):
    frame = pd.DataFrame(X, columns=list(names))
    frame.insert(1, "label", Y)
    return frame


def write_features(folder, kind):
    """Write samples and labels; return the arguments that name them."""
    path = folder / f"samples{kind}"
    if kind == ".npy":
        np.save(path, X)
        np.save(folder / "labels.npy", np.array(Y))
        return path, folder / "labels.npy"
    if kind == ".npz":
        np.savez(path, features=X, labels=np.array(Y))
    elif kind == ".csv":
        frame_of_samples().to_csv(path, index=False)
    else:
        frame_of_samples().to_parquet(path)
    return path, None


@pytest.mark.parametrize("kind", [".npy", ".npz", ".csv", ".parquet"])
def test_all_kinds_of_files_give_the_same(tmp_path, kind):
    features, labels = write_features(tmp_path, kind)
    data = load_arrays(features, labels, class_vectors=write_classes(tmp_path / "c.csv"), split=SPLIT)
    assert_array_equal(data.X, X)
    assert data.y.tolist() == Y
    assert data.classes == VECTORS
    assert_array_equal(data.rows("test_seen"), [8, 9])
    assert (data.name, data.source) == ("samples", str(features))
    assert data.unseen == ["tiger"]


def test_arrays_in_memory():
    data = load_arrays(X.tolist(), Y, class_vectors=VECTORS, unseen=["otter"], val=0, name="mine")
    assert (data.name, data.unseen) == ("mine", ["otter"])
    assert load_arrays(X, Y, class_vectors=VECTORS, split=SPLIT).X is X
    assert_array_equal(load_arrays(pd.DataFrame(X), pd.Series(Y), class_vectors=VECTORS).X, X)
    with pytest.raises(DatasetError, match="labels must come with features in memory"):
        load_arrays(X, class_vectors=VECTORS)


def test_a_split_is_made_by_shares(tmp_path):
    features, labels = write_features(tmp_path, ".npy")
    data = load_arrays(features, labels, class_vectors=VECTORS, unseen=0.25, test_seen=0.4, val=0, random_state=3)
    assert len(data.unseen) == 1
    assert len(data.rows("test_seen")) == 3 * 2
    assert len(data.rows("val")) == 0


def test_a_large_file_is_not_read(tmp_path):
    n, m = 200_000, 20_000  # 16 GB, of which the disk holds nothing
    path = tmp_path / "big.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (n, m)})
        file.truncate(file.tell() + 4 * n * m)
    labels = np.repeat(NAMES, n // 4)
    before = resident_memory()
    data = load_arrays(path, labels, class_vectors=VECTORS, unseen=["tiger"])
    assert isinstance(data.X, np.memmap)
    assert data.X.shape == (n, m)
    chunk, y = next(data.chunks("test_unseen", 16))
    assert chunk.shape == (16, m)
    assert not chunk.any()
    assert set(y) == {"tiger"}
    assert resident_memory() - before < 2**30


def resident_memory():
    status = Path("/proc/self/status")
    return 1024 * int(re.search(r"VmRSS:\s+(\d+) kB", status.read_text()).group(1)) if status.exists() else 0


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".npz"])
def test_labels_in_a_named_column(tmp_path, kind):
    path = tmp_path / f"s{kind}"
    if kind == ".npz":
        np.savez(path, X=X, animal=np.array(Y))
    else:
        frame = frame_of_samples().rename(columns={"label": "animal"})
        frame.to_csv(path, index=False) if kind == ".csv" else frame.to_parquet(path)
    data = load_arrays(path, "animal", class_vectors=VECTORS, split=SPLIT)
    assert data.y.tolist() == Y
    assert_array_equal(data.X, X)
    with pytest.raises(DatasetError, match=r"has no (column named|array) 'beast'"):
        load_arrays(path, "beast", class_vectors=VECTORS)
    with pytest.raises(DatasetError, match=r"has no (column named 'label' or 'labels'|array 'labels')"):
        load_arrays(path, class_vectors=VECTORS)


@pytest.mark.parametrize("kind", [".txt", ".csv", ".npy"])
@pytest.mark.parametrize("header", [False, True])
def test_files_of_labels(tmp_path, kind, header):
    path = tmp_path / f"labels{kind}"
    if kind == ".npy":
        np.save(path, np.array(Y))
    else:
        path.write_text("\n".join(["label"] * header + Y) + "\n\n")
    for features in (X, *(write_features(tmp_path, kind)[0] for kind in (".npy", ".npz"))):
        assert load_arrays(features, path, class_vectors=VECTORS).y.tolist() == Y
        assert load_arrays(features, str(path), class_vectors=VECTORS).y.tolist() == Y
    np.savetxt(tmp_path / "plain.csv", X, delimiter=",")
    assert_array_equal(load_arrays(tmp_path / "plain.csv", path, class_vectors=VECTORS).X, X)


def test_numbers_and_text_stand_for_the_same_class(tmp_path):
    (tmp_path / "c.csv").write_text("class,p,q\n3,1,0\n1,0,1\n12,1,1\n")
    labels = [3, 1, 12, 3, 1, 12]
    data = load_arrays(X[:6], labels, class_vectors=tmp_path / "c.csv")
    assert data.y.tolist() == ["3", "1", "12"] * 2
    np.save(tmp_path / "c.npy", np.eye(3))
    (tmp_path / "labels.txt").write_text("0\n2\n1\n0\n2\n1\n")
    data = load_arrays(X[:6], tmp_path / "labels.txt", class_vectors=tmp_path / "c.npy")
    assert data.y.tolist() == [0, 2, 1] * 2
    with pytest.raises(ValueError, match="no class vectors for 1 of the 3 classes in y: 3"):  # counted from 1
        load_arrays(X[:6], [1, 2, 3] * 2, class_vectors=tmp_path / "c.npy")


def test_class_vectors_in_npz(tmp_path):
    np.savez(tmp_path / "c.npz", class_names=NAMES, class_vectors=VECTORS.vectors, attribute_names=VECTORS.attributes)
    assert load_arrays(X, Y, class_vectors=tmp_path / "c.npz").classes == VECTORS
    np.savez(tmp_path / "d.npz", class_names=NAMES, vectors=VECTORS.vectors)
    assert load_arrays(X, Y, class_vectors=tmp_path / "d.npz").classes == ClassTable(NAMES, VECTORS.vectors)
    np.savez(tmp_path / "e.npz", names=NAMES[1:], vectors=VECTORS.vectors)
    with pytest.raises(
        DatasetError, match=r"e.npz holds names .*, vectors .*, but class vectors are an array of names"
    ):
        load_arrays(X, Y, class_vectors=tmp_path / "e.npz")


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("class,stripes,hooves\nzebra,1,0.5\nhorse,0,0.5\notter,0,0\ntiger,1,0\n", ("stripes", "hooves")),
        (
            "\ufeffclass, stripes ,hooves\r\n zebra,1, 0.5\r\nhorse,0,.5\r\n\r\notter,0,0\r\ntiger,1,0",
            ("stripes", "hooves"),
        ),
        ("zebra,1,0.5\nhorse,0,5e-1\notter,0,0\ntiger,1,0\n", None),
        (
            '"class","stripes, black","hooves"\nzebra,1,0.5\nhorse,0,0.5\notter,0,0\ntiger,1,0',
            ("stripes, black", "hooves"),
        ),
    ],
)
def test_ways_to_write_a_class_table(tmp_path, text, attributes):
    (tmp_path / "c.csv").write_text(text, encoding="utf-8")
    assert load_arrays(X, Y, class_vectors=tmp_path / "c.csv").classes == ClassTable(NAMES, VECTORS.vectors, attributes)


@pytest.mark.parametrize("names", [("a", "b", "c"), (0, 1, 2)])
def test_headers_that_count_the_columns(tmp_path, names):
    frame_of_samples(names).to_csv(tmp_path / "x.csv", index=False)
    assert_array_equal(load_arrays(tmp_path / "x.csv", class_vectors=VECTORS).X, X)
    wide = pd.DataFrame(np.tile(X, 2))
    wide.to_csv(tmp_path / "y.csv", index=False)  # 0,1,2,3,4,5
    assert_array_equal(load_arrays(tmp_path / "y.csv", Y, class_vectors=VECTORS, header="yes").X, wide)


@pytest.mark.parametrize("width", [2, 3, 6])
def test_a_first_line_that_counts_is_not_guessed(tmp_path, width):
    """It is the first sample, or the header that pandas writes: only the user knows."""
    numbers = np.vstack([np.arange(width), np.ones((19, width))])
    path = tmp_path / "x.csv"
    np.savetxt(path, numbers, fmt="%g", delimiter=",")
    with pytest.raises(DatasetError, match=r"x.csv starts with the line 0,1.*header='no' or 'yes' \(--header\)"):
        load_arrays(path, Y, class_vectors=VECTORS)
    assert_array_equal(load_arrays(path, Y, class_vectors=VECTORS, header="no").X, numbers)
    assert_array_equal(load_arrays(path, Y[1:], class_vectors=VECTORS, header="yes").X, numbers[1:])
    with pytest.raises(ValueError, match="header must be one of 'auto', 'yes', 'no', but is 'maybe'"):
        load_arrays(path, Y, class_vectors=VECTORS, header="maybe")


@pytest.mark.parametrize(("first", "has_header"), [("zebra", None), ("class", True), ("", True)])
def test_class_vectors_whose_first_line_counts(tmp_path, first, has_header):
    path = tmp_path / "c.csv"
    path.write_text(f"{first},0,1,2\nhorse,3,4,5\n")
    if has_header is None:
        with pytest.raises(DatasetError, match=r"c.csv starts with the line zebra,0,1,2.*--classes-header"):
            load_classes(path)
    else:
        assert list(load_classes(path)) == ["horse"]
    assert list(load_classes(path, "no")) == [first, "horse"]
    assert list(load_classes(path, "yes")) == ["horse"]


@pytest.mark.parametrize("number", ["1_000", "\uff11\uff12", "\u0663", "0x10", "1,5", "--1", "1 000", "1\u00a0000"])
def test_numbers_that_are_not_plain(tmp_path, number):
    path = tmp_path / "x.csv"
    path.write_text(f'1,2\n3,"{number}"\n', encoding="utf-8")
    with pytest.raises(
        DatasetError, match=r"line 2 holds '.*' in the column number 2 where a plain number is expected$"
    ):
        load_arrays(path, ["zebra", "horse"], class_vectors=VECTORS)
    path.write_text(f'"{number}",2\n3,4\n', encoding="utf-8")
    with pytest.raises(
        DatasetError, match=r"line 1 holds '.*' in the column number 1 where a plain number is expected \(if it"
    ):
        load_arrays(path, ["zebra", "horse"], class_vectors=VECTORS)


def test_numbers_that_are_plain(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1,-2.5,+.5,1e-3\n 7 ,1.,1E+2,0005\n")
    expected = [[1, -2.5, 0.5, 1e-3], [7, 1, 100, 5]]
    assert_array_equal(load_features(path).X, expected)


def test_class_names_without_vectors(tmp_path):
    (tmp_path / "c.csv").write_text("zebra\nhorse\n")
    with pytest.raises(DatasetError, match=r"c.csv has a single column, but the vector of a class"):
        load_classes(tmp_path / "c.csv")


def test_csv_is_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_table, "_BLOCK", 3)
    frame_of_samples().to_csv(tmp_path / "x.csv", index=False)
    data = load_arrays(tmp_path / "x.csv", class_vectors=VECTORS)
    assert_array_equal(data.X, X)
    assert data.y.tolist() == Y


def test_parquet_keeps_single_precision(tmp_path):
    frame_of_samples().astype(dict.fromkeys("abc", "float32")).to_parquet(tmp_path / "x.parquet", row_group_size=6)
    data = load_arrays(tmp_path / "x.parquet", class_vectors=VECTORS)
    assert data.X.dtype == np.float32
    assert_array_equal(data.X, X)


def test_parquet_of_pandas_with_an_index_and_categories(tmp_path):
    frame = frame_of_samples().astype({"label": "category"}).sample(frac=1, random_state=0)
    frame.to_parquet(tmp_path / "x.parquet")
    data = load_arrays(tmp_path / "x.parquet", class_vectors=VECTORS)
    assert_array_equal(data.X, frame[["a", "b", "c"]])
    assert data.y.tolist() == frame["label"].tolist()
    with pytest.warns(UserWarning, match="columns named like labels or ids, which are not used as features: 'label'"):
        assert load_arrays(tmp_path / "x.parquet", Y, class_vectors=VECTORS).y.tolist() == Y


@pytest.mark.parametrize(("group", "claims"), [(20, (10, 40)), (10, (9, 11))])
def test_parquet_that_claims_more_or_fewer_rows(tmp_path, group, claims):
    """Each number of rows in the footer in turn: what is loaded has the very rows that were written."""
    path = tmp_path / "x.parquet"
    frame_of_samples().to_parquet(path, compression=None, index=False, row_group_size=group)
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    refused = 0
    for claim in claims:
        for place in range(footer, len(data) - 8):
            if data[place] == 2 * group:  # as the format writes the number
                changed = bytearray(data)
                changed[place] = 2 * claim
                path.write_bytes(changed)
                try:
                    assert_array_equal(load_arrays(path, class_vectors=VECTORS).X, X)
                except DatasetError as error:
                    refused += "rows" in str(error)
    # in each column of each group of rows, in the group, and, where there is but one, in all
    assert refused >= 2 * (20 // group * (4 + 1) + (group == 20))


def test_parquet_that_lacks_rows(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    frame_of_samples().to_parquet(path, index=False)
    batches = pyarrow.parquet.ParquetFile.iter_batches
    monkeypatch.setattr(
        pyarrow.parquet.ParquetFile, "iter_batches", lambda file, **options: (b[:-1] for b in batches(file, **options))
    )
    with pytest.raises(DatasetError, match=r"x.parquet is damaged: it claims 20 rows, but 19 are there"):
        load_arrays(path, class_vectors=VECTORS)


def test_parquet_checksums(tmp_path):
    path = tmp_path / "x.parquet"
    frame_of_samples().to_parquet(path, index=False, compression=None, use_dictionary=False, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[data.index(np.float64(0.75).tobytes())] ^= 1
    path.write_bytes(data)
    with pytest.raises(DatasetError, match=r"x.parquet is not a parquet file, or it is damaged .*CRC"):
        load_arrays(path, class_vectors=VECTORS)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path, _ = write_features(tmp_path, ".parquet")
    with monkeypatch.context() as context:
        context.setattr(pyarrow, "__version__", "16.1.0")
        with pytest.raises(ImportError, match=r"needs pyarrow 17 or newer, but there is 16.1.0"):
            load_arrays(path, class_vectors=VECTORS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow: pip install 'jcmspl\[data\]'"):
        load_arrays(path, class_vectors=VECTORS)


@pytest.mark.parametrize("form", ["column", "column with header", "rows"])
def test_split_files(tmp_path, form):
    part_of = {row: part for part, rows in SPLIT.items() for row in rows}
    path = tmp_path / "split.csv"
    if form == "rows":
        path.write_text("row,part\n" + "".join(f"{row},{part}\n" for row, part in reversed(part_of.items())))
    else:
        lines = [part_of.get(row, "unused") for row in range(20)]
        path.write_text("part\n" * (form != "column") + "\n".join(lines) + "\n")
    data = load_arrays(X, Y, class_vectors=VECTORS, split=path)
    assert {part: rows.tolist() for part, rows in data.parts.items()} == SPLIT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train\n" * 19, "names the parts of 19 samples, but there are 20"),
        ("train\n" * 10 + "\n" + "train\n" * 9, "holds '' for row '10'"),
        ("train\n" * 19 + "test\n", "holds 'test' for row '19', but .* train, val, test_seen, test_unseen or unused"),
        ("row,part\n-1,train\n", "holds 'train' for row '-1', but a row is a number from 0"),
        ("row,part\n20,train\n", "part 'train' holds the row 20, but rows are 0 to 19"),
        ("row,part\n1\n", "lines without 2 cells"),
        ("a,b\n1,train\n", "one column, or the columns 'row' and 'part'"),
        ("\n", "is empty"),
    ],
)
def test_bad_split_files(tmp_path, text, message):
    (tmp_path / "split.csv").write_text(text)
    with pytest.raises(DatasetError, match=message):
        load_arrays(X, Y, class_vectors=VECTORS, split=tmp_path / "split.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.csv is empty"),
        ("a,b\n", "holds no samples"),
        ("1,2\n3\n", "line 2 has 1 cells, but line 1 has 2"),
        ("a,b\n1,2\n3,four\n", "line 3 holds 'four' in the column 'b' where a plain number is expected"),
        ("a,b\n1,2\n3,\n", "line 3 has no value in the column 'b': fill it in, or train a model with impute"),
        ("zebra,1\nhorse,2\n", "the column number 1 does not hold numbers: .*--ignore 1"),
        ("1,2\n3,4\n", "there are 2 samples but 20 labels"),
        (b"\xff\xfe1\x00", "is written in UTF-16: save it as UTF-8"),
    ],
)
def test_bad_csv_files(tmp_path, text, message):
    (tmp_path / "x.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DatasetError, match=message) as caught:
        load_arrays(tmp_path / "x.csv", Y, class_vectors=VECTORS)
    assert str(tmp_path / "x.csv") in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class,p\nzebra,1\nzebra,2\n", "two vectors for the class 'zebra'"),
        ("class,p\nzebra,1\nhorse,nan\notter,inf\n", "in the vectors of 2 classes: 'horse', 'otter'"),
        ("class,p\nzebra,1\nhorse,x\n", "line 3 holds 'x'"),
        ("class,p\nzebra,1\nhorse,2\n", "no class vectors for 2 of the 4 classes in y: 'otter', 'tiger'"),
        ("class\nzebra\n", "has a single column"),
    ],
)
def test_bad_class_tables(tmp_path, text, message):
    (tmp_path / "c.csv").write_text(text)
    with pytest.raises(DatasetError, match=message):
        load_arrays(X, Y, class_vectors=tmp_path / "c.csv")


def test_bad_files_of_other_kinds(tmp_path):
    for name in ("x.npy", "x.npz", "x.parquet"):
        (tmp_path / name).write_bytes(b"no such thing" * 20)
        with pytest.raises(DatasetError, match=rf"{name} is not a .* file, or it is damaged"):
            load_arrays(tmp_path / name, Y, class_vectors=VECTORS)
    (tmp_path / "x.xls").write_text("")
    with pytest.raises(
        DatasetError, match=r"unknown kind: features are read from .npy, .npz, .csv, .tsv, .txt, .parquet, .arrow"
    ):
        load_arrays(tmp_path / "x.xls", Y, class_vectors=VECTORS)
    with pytest.raises(
        DatasetError, match=r"unknown kind: class vectors are read from .csv, .tsv, .txt, .npy, .npz, .parquet"
    ):
        load_arrays(X, Y, class_vectors=tmp_path / "x.xls")
    with pytest.raises(FileNotFoundError, match=r"y.npy does not exist"):
        load_arrays(tmp_path / "y.npy", Y, class_vectors=VECTORS)
    with pytest.raises(FileNotFoundError, match=r"labels.txt does not exist"):
        load_arrays(X, "labels.txt", class_vectors=VECTORS)
    np.save(tmp_path / "o.npy", np.array([1, "a"], dtype=object))
    with pytest.raises(DatasetError, match=r"o.npy: the array holds Python objects"):
        load_arrays(tmp_path / "o.npy", Y, class_vectors=VECTORS)
    np.save(tmp_path / "cut.npy", X)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "cut.npy").read_bytes()[:-1])
    with pytest.raises(DatasetError, match="cut short"):
        load_arrays(tmp_path / "cut.npy", Y, class_vectors=VECTORS)
    pd.DataFrame({"a": ["x"] * 20, "b": 1.0}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DatasetError, match="the column 'a' does not hold numbers"):
        load_arrays(tmp_path / "t.parquet", Y, class_vectors=VECTORS)


def test_a_folder(tmp_path):
    folder = tmp_path / "animals"
    folder.mkdir()
    np.save(folder / "features.npy", X.astype(np.float32))
    (folder / "labels.txt").write_text("\n".join(Y))
    write_classes(folder / "classes.csv")
    data = load_dataset(folder, unseen=["otter"])
    assert isinstance(data, Dataset)
    assert (data.name, data.unseen, data.X.dtype) == ("animals", ["otter"], np.float32)
    (folder / "split.csv").write_text("row,part\n0,train\n1,train\n3,test_unseen\n")
    assert load_dataset(folder).unseen == ["tiger"]
    (folder / "classes.npy").touch()
    with pytest.raises(DatasetError, match=r"has both classes.csv and classes.npy"):
        load_dataset(folder)
    (folder / "classes.npy").unlink()
    (folder / "classes.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no file classes \(.csv, .tsv, .txt, .npy, .npz, .parquet"):
        load_dataset(folder, layout="arrays")


def test_labels_of_numbers_that_are_no_characters(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.full(len(X), 0x110000, dtype=np.uint32).view("<U1"))
    with pytest.raises(DatasetError, match=r"y\.npy is not a NumPy \.npy file of labels, or it is damaged"):
        load_arrays(tmp_path / "x.npy", tmp_path / "y.npy", class_vectors=VECTORS)


@pytest.mark.parametrize("label", ["snow leopard, asian", '"snow leopard, asian"', 'the "great" one, grey'])
def test_labels_with_commas(tmp_path, label):
    """A line of a text file is one label; in a CSV file commas stand in quotes."""
    name = label.strip('"')
    vectors = {name: [1.0, 2.0], "horse": [2.0, 1.0]}
    (tmp_path / "labels.txt").write_text(f"{label}\n horse \n" * 10)
    data = load_arrays(X, tmp_path / "labels.txt", class_vectors=vectors, unseen=["horse"], val=0)
    assert data.y.tolist() == [name, "horse"] * 10
    (tmp_path / "labels.csv").write_text("snow leopard, asian\nhorse\n" * 10)
    with pytest.raises(DatasetError, match=r"entry 1 has 2 cells.*a label with commas in quotes"):
        load_arrays(X, tmp_path / "labels.csv", class_vectors=vectors)


@pytest.mark.parametrize("kind", [".csv", ".npy"])
def test_swapped_labels_and_classes(tmp_path, kind):
    labels, classes = tmp_path / f"labels{kind}", tmp_path / f"classes{kind}"
    if kind == ".npy":
        np.save(labels, np.arange(20) % 4)
        np.save(classes, VECTORS.vectors)
    else:
        labels.write_text("\n".join(Y))
        write_classes(classes)
    with pytest.raises(DatasetError, match=r"classes.*one label.*is this the file of class vectors.*--classes\)\?$"):
        load_arrays(X, classes, class_vectors=labels)
    if kind == ".csv":
        with pytest.raises(DatasetError, match=r"labels.csv has a single column.*is this the file of labels"):
            load_arrays(X, Y, class_vectors=labels)


def test_a_share_that_is_none_does_not_blame_a_file(tmp_path):
    (tmp_path / "labels.txt").write_text("\n".join(Y))
    with pytest.raises(DatasetError, match=r"^the share of unseen classes must be .*a quarter is 0.25.* is 25$"):
        load_arrays(X, tmp_path / "labels.txt", class_vectors=VECTORS, unseen=25)


class TestTablesOfVectors:
    """Options of a file with a vector in each row name what there is, or are refused."""

    @pytest.fixture(params=[".parquet", ".jsonl", ".feather"])
    def file(self, request, tmp_path):
        frame = pd.DataFrame({"path": [f"{i}.jpg" for i in range(20)], "label": Y, "embedding": X.tolist()})
        path = tmp_path / f"samples{request.param}"
        if request.param == ".jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            frame.to_parquet(path) if request.param == ".parquet" else frame.to_feather(path)
        return path

    def test_it_is_a_whole_data_set(self, file):
        data = load_dataset(file, class_vectors=VECTORS)
        assert_array_equal(data.X[:], X)
        assert (list(data.y), list(data.ids)[:2], data.id_name) == (Y, ["0.jpg", "1.jpg"], "path")

    @pytest.mark.parametrize(
        "options", [{"id_column": "pth"}, {"ignore": ["pth"]}, {"vector": "pth"}], ids=["id", "ignore", "vector"]
    )
    def test_unknown_columns_are_refused(self, file, options):
        with pytest.raises(DatasetError, match=r"no column .*'pth'"):
            load_arrays(file, class_vectors=VECTORS, **options)

    def test_without_rows(self, tmp_path):
        frame = pd.DataFrame({"label": Y, "embedding": X.tolist()})[:0]
        frame.to_parquet(tmp_path / "none.parquet")
        with pytest.raises(DatasetError, match="holds no samples"):
            load_arrays(tmp_path / "none.parquet", class_vectors=VECTORS)

    def test_similar_names_are_suggested(self, file):
        with pytest.raises(DatasetError, match="did you mean embedding"):
            load_arrays(file, class_vectors=VECTORS, vector="embeding")

    def test_arrays_have_no_columns(self, tmp_path):
        np.savez(tmp_path / "s.npz", X=X, label=np.array(Y))
        with pytest.raises(DatasetError, match=r"is not a table.* \(--array\)"):
            load_arrays(tmp_path / "s.npz", class_vectors=VECTORS, vector="X")
        with pytest.raises(DatasetError, match="did you mean X"):
            load_arrays(tmp_path / "s.npz", class_vectors=VECTORS, array="XX")
