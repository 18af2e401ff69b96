"""Tables as people have them: what is between cells, columns that are no features, missing values, hostile files."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from jcmspl.datasets import DatasetError, csv_table, load_arrays, load_features
from jcmspl.datasets.class_files import load_classes

VECTORS = {"zebra": [1.0, 0.0], "horse": [0.0, 1.0]}


def written(folder, text, name="x.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


class TestDelimiters:
    @pytest.mark.parametrize("sign", [",", ";", "\t", "|", " ", "   ", " \t "])
    @pytest.mark.parametrize("header", [True, False])
    def test_found_out(self, tmp_path, sign, header):
        rows = [["length", "height"]] * header + [["1.5", "2"], ["-3", "4e-1"]]
        path = written(tmp_path, "".join(sign.join(row) + "\r\n" for row in rows))
        assert_array_equal(load_features(path).X, [[1.5, 2], [-3, 0.4]])
        assert_array_equal(
            load_classes(written(tmp_path, f"a{sign}1{sign}2\nb{sign}3{sign}4\n")).vectors, [[1, 2], [3, 4]]
        )

    def test_a_byte_order_mark_and_ends_of_windows(self, tmp_path):
        path = written(tmp_path, b"\xef\xbb\xbfpath;a\r\nx.jpg;1,5\r\n\r\ny.jpg;2,5\r\n")
        found = load_features(path)
        assert (found.ids, found.id_name, found.X.tolist()) == (["x.jpg", "y.jpg"], "path", [[1.5], [2.5]])

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("1,5;2,5\n3,5;4,5\n", [[1.5, 2.5], [3.5, 4.5]]),
            ("1,5\t2\n-3,5e2\t,5\n", [[1.5, 2], [-350, 0.5]]),
            ("0,125;1\n0,250;2\n", [[0.125, 1], [0.25, 2]]),
            ("1,500;2\n0,5;2\n", [[1.5, 2], [0.5, 2]]),  # the second line says what the first means
        ],
    )
    def test_decimal_commas(self, tmp_path, text, expected):
        assert_array_equal(load_features(written(tmp_path, text)).X, expected)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("1,500;2,250\n3,125;4,000\n", "'1,500', where the comma may separate thousands"),
            ("1,5;2.5\n3,5;4\n", "with a comma, such as '1,5', and with a point, such as '2.5'"),
            ("1.000,5;2\n3;4\n", r"line 1 holds '1.000,5' in the column number 1 where a plain number"),
        ],
    )
    def test_commas_that_are_not_clear(self, tmp_path, text, message):
        with pytest.raises(DatasetError, match=message):
            load_features(written(tmp_path, text))

    def test_one_that_is_given(self, tmp_path):
        path = written(tmp_path, "1:2\n3:4\n")
        assert_array_equal(load_features(path, delimiter=":").X, [[1, 2], [3, 4]])
        assert_array_equal(load_features(written(tmp_path, "1\t2\n3\t4\n"), delimiter="tab").X, [[1, 2], [3, 4]])
        for bad in ("", "::", "a", "semi", "."):
            with pytest.raises(ValueError, match="delimiter must be one sign, or one of comma, semicolon, tab"):
                load_features(path, delimiter=bad)

    def test_texts_with_other_signs_in_them(self, tmp_path):
        path = written(tmp_path, 'path;caption;a\nx;"red; big, round";1\ny;small, blue;2\n')
        assert_array_equal(load_features(path, ignore=["caption"]).X, [[1], [2]])

    def test_a_split_with_semicolons(self, tmp_path):
        path = written(tmp_path, "row;part\n0;train\n1;train\n")
        data = load_arrays(np.eye(3), ["zebra", "horse", "horse"], class_vectors=VECTORS, split=path)
        assert data.rows("train").tolist() == [0, 1]


# What may stand in a column of texts.
TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\x85\u2028\u2029"), max_size=12)
# Numbers that are no whole thousands, so that a comma in them is clear.
NUMBERS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: value + 0.0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(TEXTS, NUMBERS, st.none() | NUMBERS), min_size=2, max_size=6),
    sign=st.sampled_from(",;\t|"),
    missing=st.sampled_from(["", "NA", "NaN", "null", "?", " n/a "]),
    comma=st.booleans(),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_a_table_comes_back_as_it_was_written(tmp_path, rows, sign, missing, comma, ends):
    """Whatever the ids are, whatever is between cells and wherever values are missing."""

    def cell(value):
        if value is None:
            return missing
        return format(value, ".7f").replace(".", ",") if comma and sign != "," else repr(value)

    text = io.StringIO()
    writer = csv.writer(text, delimiter=sign, lineterminator=ends)
    writer.writerows([["id", "a", "b"], *([name, cell(a), cell(b)] for name, a, b in rows)])
    path = written(tmp_path, text.getvalue())
    exact = not (comma and sign != ",")
    expected = [[a, np.inf if b is None else b] for _, a, b in rows]
    found = load_features(path, imputed_values=[0.0, np.inf], delimiter=sign)
    assert found.ids == [name.strip() for name, _, _ in rows]
    np.testing.assert_allclose(found.X[:], expected, rtol=0 if exact else 1e-12, atol=0 if exact else 1e-7)
    # and the sign is found out, unless the texts tell otherwise
    if all(name.isalnum() and name.isascii() and not name.isdecimal() for name, _, _ in rows):
        again = load_features(path, imputed_values=[0.0, np.inf])
        assert_array_equal(again.X[:], found.X[:])
        assert again.ids == found.ids


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text(alphabet='01,;\t|" \n\r.-eNA?ä\0', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused_in_a_sentence(tmp_path, content):
    path = written(tmp_path, content)
    told = ""
    try:
        found = load_features(path)
    except DatasetError as error:
        told = str(error)
    if told:
        assert "x.csv" in told
        assert "\n" not in told
    else:
        assert np.isfinite(found.X).all()
        assert found.X.size


class TestColumns:
    TABLE = "label,path,caption,a,b\nzebra,1.jpg,red,1,2\nhorse,2.jpg,blue,3,4\nzebra,3.jpg,red,5,6\n"

    @pytest.fixture(params=["csv", "parquet"])
    def path(self, request, tmp_path):
        if request.param == "csv":
            return written(tmp_path, self.TABLE)
        pd.read_csv(io.StringIO(self.TABLE)).to_parquet(tmp_path / "x.parquet")
        return tmp_path / "x.parquet"

    def test_texts_are_named_and_left_out_on_request(self, path):
        told = r"the column 'caption' does not hold numbers: .*id_column \(--id\).*--ignore caption\).*--ignore-text"
        with pytest.raises(DatasetError, match=told):
            load_features(path)
        for options in ({"ignore": ["caption"]}, {"ignore": [3]}, {"ignore": ["3"]}, {"ignore_text": True}):
            data = load_arrays(path, class_vectors=VECTORS, **options)
            assert_array_equal(data.X, [[1, 2], [3, 4], [5, 6]])
            assert data.y.tolist() == ["zebra", "horse", "zebra"]
            assert (data.ids, data.id_name) == (["1.jpg", "2.jpg", "3.jpg"], "path")

    @pytest.mark.parametrize("column", ["caption", "3", 3])
    def test_ids_by_name_or_number(self, path, column):
        found = load_features(path, id_column=column)
        assert (found.ids, found.id_name) == (["red", "blue", "red"], "caption")
        assert_array_equal(found.X, [[1, 2], [3, 4], [5, 6]])  # a column named "path" is never a feature
        assert load_features(path, id_column="a", ignore_text=True).X.shape == (3, 1)

    def test_labels_by_number(self, path):
        with pytest.warns(UserWarning, match="'label'"):
            data = load_arrays(path, "3", class_vectors={"red": [1.0], "blue": [2.0]})
        assert data.y.tolist() == ["red", "blue", "red"]

    def test_columns_that_are_not_there(self, path):
        for options in ({"id_column": "x"}, {"ignore": ["x"]}):
            with pytest.raises(DatasetError, match="has no column named 'x': its 5 columns are 'label', 'path'"):
                load_features(path, **options)
        with pytest.raises(DatasetError, match="has 5 columns, so there is no column 6: they count from 1"):
            load_features(path, ignore=[6])
        with pytest.raises(DatasetError, match="of which none is left for features"):
            load_features(path, ignore=["a", "b"], ignore_text=True)
        with pytest.raises(TypeError, match="ignore must be a list of columns"):
            load_features(path, ignore="caption")

    def test_labels_that_are_elsewhere(self, path):
        with pytest.warns(UserWarning, match="named like labels or ids, which are not used as features: 'label'"):
            data = load_arrays(path, ["horse"] * 3, class_vectors=VECTORS, ignore_text=True)
        assert data.X.shape == (3, 2)
        assert data.y.tolist() == ["horse"] * 3

    def test_without_a_header(self, tmp_path):
        path = written(tmp_path, "1.jpg,1,2\n2.jpg,3,4\n")
        with pytest.raises(DatasetError, match=r"the column number 1 does not hold numbers.*--ignore 1\)"):
            load_features(path)
        found = load_features(path, id_column=1)
        assert (found.ids, found.id_name, found.X.tolist()) == (["1.jpg", "2.jpg"], "id", [[1, 2], [3, 4]])
        with pytest.raises(DatasetError, match="has no header line, so it has no column named 'path': give its number"):
            load_features(path, id_column="path")

    def test_the_index_of_pandas_is_no_feature(self, tmp_path):
        pd.DataFrame({"a": [1.5, 2.5], "b": [3, 4]}).to_csv(tmp_path / "x.csv")
        found = load_features(tmp_path / "x.csv")
        assert (found.ids, found.id_name, found.X.tolist()) == (["0", "1"], "id", [[1.5, 3], [2.5, 4]])

    def test_two_columns_of_one_name(self, tmp_path):
        path = written(tmp_path, "who,who,a\nx,y,1\n")
        with pytest.raises(DatasetError, match="several columns named 'who': give the number of one"):
            load_features(path, id_column="who")
        assert load_features(path, id_column=2, ignore=[1]).ids == ["y"]

    def test_files_that_are_no_tables(self, tmp_path):
        np.save(tmp_path / "x.npy", np.eye(2))
        for options in ({"ignore": [1]}, {"id_column": "path"}):
            with pytest.raises(DatasetError, match=r"x.npy is not a table"):
                load_features(tmp_path / "x.npy", **options)

    def test_arrays_of_ids_in_npz(self, tmp_path):
        """The output of `jcmspl embed`."""
        path = tmp_path / "x.npz"
        np.savez(path, features=np.eye(2), labels=["zebra", "horse"], paths=["a/1.jpg", "b/2.jpg"], more=["u", "v"])
        data = load_arrays(path, class_vectors=VECTORS)
        assert (list(data.ids), data.id_name) == (["a/1.jpg", "b/2.jpg"], "path")
        assert list(load_features(path, id_column="more").ids) == ["u", "v"]
        with pytest.raises(DatasetError, match="has no array 'less': it holds features"):
            load_features(path, id_column="less")
        np.savez(path, features=np.eye(2), paths=["a/1.jpg"])
        assert load_features(path).ids is None
        with pytest.raises(DatasetError, match=r"paths has the shape \(1,\), but there are 2 samples"):
            load_features(path, id_column="paths")


class TestMissing:
    @pytest.mark.parametrize("sign", ["", "NA", "NaN", "nan", "null", "NULL", "?", " "])
    def test_refused_by_line_and_column(self, tmp_path, sign):
        path = written(tmp_path, f"a,b\n1,2\n3,{sign}\n")
        told = r"x.csv: line 3 has no value in the column 'b'.*: fill it in, or train a model with impute='mean'"
        with pytest.raises(DatasetError, match=told):
            load_features(path)
        assert_array_equal(load_features(path, imputed_values=[8, 9]).X[:], [[1, 2], [3, 9]])

    def test_a_row_without_any_value_is_a_row(self, tmp_path):
        path = written(tmp_path, "a,b\n,\n1,2\n")
        with pytest.raises(DatasetError, match="line 2 has no value in the column 'a'"):
            load_features(path)
        assert load_features(path, imputed_values=[8, 9]).X[:].tolist() == [[8, 9], [1, 2]]

    def test_infinity_is_no_value_that_is_missing(self, tmp_path):
        with pytest.raises(DatasetError, match=r"line 2 holds 'inf' .*, which is not a finite number"):
            load_features(written(tmp_path, "1,2\ninf,4\n"))

    def test_nulls_of_parquet(self, tmp_path):
        path = tmp_path / "x.parquet"
        pd.DataFrame({"a": [1.0, None], "b": pd.array([1, None], "Int64"), "c": [True, None]}).to_parquet(path)
        with pytest.raises(DatasetError, match=r"x.parquet: row 1 has no value in the column 'a': fill it in"):
            load_features(path)
        assert load_features(path, imputed_values=[7, 8, 9]).X[:].tolist() == [[1, 1, 1], [7, 8, 9]]

    def test_a_model_of_other_features(self, tmp_path):
        with pytest.raises(DatasetError, match="there are 3 values to impute, but 2 features"):
            load_features(written(tmp_path, "1,2\n3,4\n"), imputed_values=[1, 2, 3])


class TestHostile:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("a,b\n1,2\n3\n", "line 3 has 1 cells, but line 1 has 2"),
            ("1;2\n3;4;5\n", "line 2 has 3 cells, but line 1 has 2"),
            (b"a,b\n1,\x002\n", "line 2 holds a NUL character: is this a text file in UTF-8"),
            (
                "path,a\n\u00e9.jpg,1\n".encode("latin-1"),
                r"line 2 is not in UTF-8 \(it has the byte 0xe9\), perhaps in Lat",
            ),
            ("a,b\n1,2\n".encode("utf-16"), r"is written in UTF-16: save it as UTF-8"),
            ("a,b\n1,2\n".encode("utf-16-le"), "line 1 holds a NUL character"),
            ('a,b\n1,"2\n' + "3,4\n" * 40_000, "cannot be read .*: is there a quotation mark without its end"),
            ("a,b\n1,2\n" + "3," * 200 + "4\n", "line 3 has 201 cells"),
            ("\n\n\n", "x.csv is empty"),
        ],
    )
    def test_a_sentence_for_each(self, tmp_path, content, message):
        path = written(tmp_path, content)
        with pytest.raises(DatasetError, match=message) as caught:
            load_features(path)
        assert str(path) in str(caught.value)
        assert len(str(caught.value)) < 500

    def test_lines_without_end(self, tmp_path, monkeypatch):
        monkeypatch.setattr(csv_table, "_LONGEST_LINE", 1000)
        with pytest.raises(
            DatasetError, match="line 2 has more than 1,000 characters: a table has a line for each row"
        ):
            load_features(written(tmp_path, "a,b\n" + "1" * 2000))

    def test_new_lines_within_quotes(self, tmp_path):
        path = written(tmp_path, 'path,a\n"one\ntwo",1\n"three, ""four""",2\n')
        assert load_features(path).ids == ["one\ntwo", 'three, "four"']
        with pytest.raises(DatasetError, match="line 4 holds 'x'"):
            load_features(written(tmp_path, 'path,a\n"one\ntwo",1\nthree,x\n'))

    def test_labels_in_latin_1(self, tmp_path):
        path = written(tmp_path, "zebra\nh\u00f6rse\n".encode("latin-1"), "labels.txt")
        with pytest.raises(DatasetError, match=r"labels.txt: line 2 is not in UTF-8"):
            load_arrays(np.eye(2), path, class_vectors=VECTORS)
