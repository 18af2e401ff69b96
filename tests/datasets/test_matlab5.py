"""The reader of MATLAB files of the versions 5 to 7: SciPy's, where that survives, is the oracle."""

import struct
import zlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.io import loadmat, savemat

from jcmspl.datasets import DatasetError
from jcmspl.datasets.matlab import integers, open_mat

NUMERIC = [f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)] + ["f4", "f8"]
TEXTS = ["zebra", "märz", "", "Ω", "snow leopard", "𝄞 clef", "x" * 5]


def cells(values):
    array = np.empty((len(values), 1), dtype=object)
    array[:, 0] = values
    return array


@pytest.fixture(params=[False, True], ids=["plain", "compressed"])
def write(request, tmp_path):
    def write(**content):
        savemat(tmp_path / "a.mat", content, do_compression=request.param)
        return open_mat(tmp_path / "a.mat")

    return write


class TestWhatSciPyWrites:
    @pytest.mark.parametrize("shape", [(1, 1), (3, 4), (5, 1), (1, 7), (0, 3), (0, 0), (2, 3, 4)])
    @pytest.mark.parametrize("dtype", NUMERIC)
    def test_numbers(self, write, dtype, shape):
        numbers = (np.arange(np.prod(shape)).reshape(shape) % 120).astype(dtype)
        file = write(before=np.ones(3), numbers=numbers, after="text")
        assert file.names() == ["before", "numbers", "after"]
        assert file.shape("numbers") == shape
        found = file.array("numbers")
        assert_array_equal(found, loadmat(file.path)["numbers"])
        assert found.dtype == numbers.dtype
        assert found.flags.writeable

    def test_integers(self, write):
        file = write(v=np.array([[3.0, 1, 2]]), w=np.ones((2, 2)), x=np.array([0.5]))
        assert integers(file, "v").tolist() == [3, 1, 2]
        for name, message in (("w", "w must be a vector"), ("x", "x must hold whole numbers")):
            with pytest.raises(DatasetError, match=rf"a.mat: {message}"):
                integers(file, name)
        with pytest.raises(DatasetError, match=r"v has 3 entries, but there are only 2 samples"):
            integers(file, "v", most=2)

    def test_texts_in_cells(self, write):
        file = write(names=cells(TEXTS))
        assert file.shape("names") == (len(TEXTS), 1)
        assert file.texts("names") == TEXTS

    def test_texts_in_cells_in_cells(self, write):
        wrapped = np.empty((1, 2), dtype=object)
        wrapped[0, 0], wrapped[0, 1] = cells([cells(["deep"])]), "shallow"
        assert write(names=wrapped).texts("names") == ["deep", "shallow"]

    def test_a_character_array(self, write):
        file = write(names=np.array(["ox", "märz", "snow leopard"]))
        assert file.texts("names") == ["ox", "märz", "snow leopard"]
        assert write(names="märz").texts("names") == ["märz"]

    def test_structures(self, write):
        content = {"a": np.arange(6.0).reshape(2, 3), "names": cells(["x", "yy"]), "inner": {"z": 1}, "b": np.ones(4)}
        file = write(before=1, param=content, after=np.eye(2))
        assert file.names() == ["before", "param", "after", "param.a", "param.names", "param.inner", "param.b"]
        assert file.shape("param.a") == (2, 3)
        assert_array_equal(file.array("param.a"), content["a"])
        assert file.texts("param.names") == ["x", "yy"]
        assert_array_equal(file.array("param.b"), np.ones((1, 4)))
        assert_array_equal(file.array("after"), np.eye(2))

    def test_arrays_of_structures(self, write):
        array = np.array([[(1.0, "a"), (2.0, "b")]], dtype=[("number", object), ("text", object)])
        file = write(param=array, none=array[:, :0])
        assert file.names() == ["param", "none", "param.number", "param.text"]
        assert file.array("param.number") == 1  # those of the first
        assert file.texts("param.text") == ["a"]

    @pytest.mark.parametrize("shape", [(4, 3), (1, 1), (3, 5)])
    def test_sparse_matrices(self, write, shape):
        dense = np.arange(np.prod(shape)).reshape(shape) % 3 * 1.5
        file = write(s=sparse.csc_matrix(dense))
        assert file.shape("s") == shape
        assert_array_equal(file.array("s"), dense)

    def test_what_is_not_real_numbers_or_texts(self, write):
        file = write(z=np.array([1j]), t="text", c=cells(["x"]), s={"a": 1}, n=np.ones(2), mixed=cells([1.0, "x"]))
        for name, kind in {"z": "complex numbers", "t": "text", "c": "cells", "s": "a structure"}.items():
            with pytest.raises(DatasetError, match=rf"a.mat: {name} must hold real numbers, but holds {kind}"):
                file.array(name)
        for name in ("n", "s", "mixed"):
            with pytest.raises(DatasetError, match=rf"a.mat: {name} must hold texts, but .*(numbers|a structure)"):
                file.texts(name)
        with pytest.raises(DatasetError, match="one text in each cell, but a cell has the shape"):
            write(c=cells([np.array(["two", "ows"])])).texts("c")


def element(kind, content, order="<", small=False):
    if small:
        return struct.pack(f"{order}I", len(content) << 16 | kind) + content.ljust(4, b"\0")
    return struct.pack(f"{order}II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def matrix(kind, shape, name, *parts, order="<", flags=0):
    head = [
        element(6, struct.pack(f"{order}II", flags << 8 | kind, 0), order),
        element(5, struct.pack(f"{order}{len(shape)}i", *shape), order),
        element(1, name, order, small=0 < len(name) <= 4),
    ]
    return element(14, b"".join([*head, *parts]), order)


def deflated(content, end=None, more=b"", order="<"):
    packed = zlib.compress(content)[:end] + more
    return struct.pack(f"{order}II", 15, len(packed)) + packed


def file_of(path, *variables, order="<", compressed=False):
    if compressed:
        variables = [deflated(variable, order=order) for variable in variables]
    end = b"\x00\x01IM" if order == "<" else b"\x01\x00MI"
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + end + b"".join(variables))
    return open_mat(path)


class TestWhatMatlabWrites:
    """Made by hand: numbers in the smallest type that holds them, small elements, either order of bytes."""

    @pytest.mark.parametrize("order", ["<", ">"])
    @pytest.mark.parametrize("compressed", [False, True])
    def test_either_order_of_bytes(self, tmp_path, order, compressed):
        numbers = np.array([1.5, -2, 3e100, 4, 5, 6]).astype(f"{order}f8")
        shorts = np.array([1, 300, 2], f"{order}u2")
        text = element(4, "Zäh".encode("utf-16-le" if order == "<" else "utf-16-be"), order)
        nothing = struct.pack(f"{order}II", 14, 0)
        five = matrix(6, (1, 1), b"", element(2, b"\x05", order), order=order)
        fields = element(5, struct.pack(f"{order}i", 4), order, small=True) + element(1, b"a\0\0\0bcd\0", order)
        file = file_of(
            tmp_path / "a.mat",
            matrix(6, (2, 3), b"x", element(9, numbers.tobytes(), order), order=order),
            matrix(6, (3, 1), b"labels", element(4, shorts.tobytes(), order), order=order),
            matrix(9, (1, 2), b"tiny", element(2, b"\x07\x09", order, small=True), order=order, flags=2),
            matrix(1, (2, 1), b"c", matrix(4, (1, 3), b"", text, order=order), nothing, order=order),
            matrix(2, (1, 1), b"s", fields, nothing, five, order=order),
            order=order,
            compressed=compressed,
        )
        oracle = loadmat(file.path)
        assert_array_equal(file.array("x"), oracle["x"])
        assert file.array("x").dtype.isnative
        assert integers(file, "labels").tolist() == [1, 300, 2]
        assert_array_equal(file.array("tiny"), oracle["tiny"])
        assert file.texts("c") == ["Zäh", ""]
        assert file.array("s.a").size == oracle["s"]["a"][0, 0].size == 0
        assert file.array("s.bcd") == oracle["s"]["bcd"][0, 0] == 5

    def test_what_it_keeps_for_itself_is_passed_over(self, tmp_path):
        opaque = element(
            14,
            element(6, struct.pack("<II", 17, 0)) + element(1, b"table") + element(1, b"MCOS") + element(1, b"string"),
        )
        own = matrix(9, (1, 8), b"", element(2, bytes(8)))
        file = file_of(tmp_path / "a.mat", opaque, matrix(6, (1, 1), b"x", element(2, b"\1", small=True)), own)
        assert file.names() == ["table", "x"]
        assert file.array("x") == 1
        with pytest.raises(DatasetError, match="table must hold real numbers, but holds something else"):
            file.array("table")


BYTE = element(2, b"\1", small=True)
ONE = matrix(6, (1, 1), b"x", BYTE)


class TestDamage:
    @pytest.mark.parametrize(
        ("variable", "message"),
        [
            (matrix(6, (1, 2), b"x", BYTE), r"x has 1 values, but its shape is \(1, 2\)"),
            (matrix(6, (-1, 2), b"x", BYTE), r"shape \(-1, 2\)"),
            (matrix(6, (1,), b"x", BYTE), "no shape"),
            (matrix(6, (1,) * 33, b"x", BYTE), "132 bytes stand where at most 128 are expected"),
            (matrix(6, (1, 1), b"x", element(9, b"1234")), "4 bytes of type 9 stand where numbers are"),
            (matrix(6, (1, 1), b"x", element(77, b"1234")), "type 77"),
            (matrix(6, (1, 1), b"x", struct.pack("<II", 9, 2**31)), "ends within a variable"),
            (matrix(6, (1, 1), b"x", struct.pack("<I", 5 << 16 | 2) + bytes(4)), "small element has 5 bytes"),
            (matrix(6, (1, 1), b"x"), "x has 0 values"),
            (element(14, BYTE), "no flags"),
            (element(9, bytes(8)), "type 9, where a matrix is expected"),
            (element(15, b"no deflate"), "damaged"),
            (deflated(element(14, bytes(24))), "no flags"),
            (deflated(ONE, -6), "damaged"),
            (deflated(ONE + b"more"), "a compressed variable has more content"),
            (deflated(ONE, -4, b"oops"), "damaged .*incorrect data check"),
            (matrix(5, (2, 2), b"x", element(5, bytes(8)), element(5, bytes(4)), BYTE), "values outside its shape"),
            (
                matrix(5, (2, 1), b"x", element(5, b"\7\0\0\0"), element(5, b"\0\0\0\0\1\0\0\0"), BYTE),
                "values outside its shape",
            ),
            (
                matrix(5, (2**30, 2**30), b"x", element(5, bytes(4)), element(5, b"\0\0\0\0\1\0\0\0"), BYTE),
                "values outside its shape",
            ),
        ],
    )
    def test_numbers(self, tmp_path, variable, message):
        with pytest.raises(DatasetError, match=rf"a.mat.*{message}"):
            file_of(tmp_path / "a.mat", variable).array("x")

    @pytest.mark.parametrize(
        ("variable", "message"),
        [
            (matrix(1, (2**30, 1), b"x", matrix(4, (1, 1), b"", BYTE)), "of memory|ends within"),
            (matrix(1, (1, 1), b"x", element(9, bytes(8))), "type 9, where a matrix is expected"),
            (matrix(4, (1, 2), b"x", BYTE), "1 characters stand where the shape is"),
            (matrix(4, (1, 1), b"x", element(16, b"\xff")), "codec can't decode"),
            (matrix(4, (2**30, 2**30), b"x", element(16, b"")), "characters stand where the shape is"),
            (matrix(4, (2**30, 0), b"x", element(16, b"")), "characters stand where the shape is"),
        ],
    )
    def test_texts(self, tmp_path, variable, message):
        with pytest.raises(DatasetError, match=rf"a.mat.*({message})"):
            file_of(tmp_path / "a.mat", variable).texts("x")

    def test_cells_without_end(self, tmp_path):
        cell = matrix(4, (1, 1), b"", BYTE)
        for _ in range(500):
            cell = matrix(1, (1, 1), b"", cell)
        with pytest.raises(DatasetError, match="x must hold texts, but a cell holds cells"):
            file_of(tmp_path / "a.mat", matrix(1, (1, 1), b"x", cell)).texts("x")

    def test_older_files(self, tmp_path):
        savemat(tmp_path / "a.mat", {"x": 1}, format="4")
        with pytest.raises(DatasetError, match=r"a.mat is not a MATLAB file.*version 5 to 7.3"):
            open_mat(tmp_path / "a.mat")
