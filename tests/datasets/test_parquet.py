"""Rows of parquet files: in many row groups, and where descriptions of columns are damaged.

pyarrow ends the process that asks for a damaged description too early: a process of its own reads these files.
"""

import base64
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jcmspl.datasets import load_features, open_rows

X = np.arange(24.0).reshape(12, 2)
READ = """
import sys
from pathlib import Path
from jcmspl.datasets import DatasetError, load_features, open_rows
from jcmspl.datasets.parquet import read_parquet_column

def outcome(path, read):
    try:
        return str(read(path))
    except DatasetError as error:
        return "refused" if str(path) in str(error) else repr(error)

READERS = (
    lambda path: load_features(path).X[:],
    lambda path: open_rows(path)[:],
    lambda path: read_parquet_column(path, "a"),
)
"""
EACH = "print(*(outcome(Path(sys.argv[1]), read) for read in READERS))"
EVERY_BYTE = """
path = Path(sys.argv[1])
data = path.read_bytes()
end = len(data) - 8
for place in range(end - int.from_bytes(data[end : end + 4], "little"), end):
    changed = bytearray(data)
    changed[place] ^= 1 << place % 3
    path.unlink()  # a library may still hold what it has read of the last one
    path.write_bytes(changed)
    for read in READERS:
        print(outcome(path, read)[:7].strip())
"""


def outcomes(path, code):
    """Return the words that a process prints that reads a file; it must not die."""
    done = subprocess.run([sys.executable, "-c", READ + code, path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def table(rows=X):
    return pa.table({"a": rows[:, 0], "b": rows[:, 1]})


@pytest.mark.parametrize("row_group_size", [12, 3])
def test_a_nullable_column_that_is_declared_required(tmp_path, row_group_size):
    path = tmp_path / "x.parquet"
    pq.write_table(table(), path, row_group_size=row_group_size, compression=None, use_dictionary=False)
    data = path.read_bytes()
    # field 3 of the description in the schema, repetition_type, before field 4, the name
    optional, required = b"\x25\x02\x18\x01a", b"\x25\x00\x18\x01a"
    assert data.count(optional) == 1
    path.write_bytes(data.replace(optional, required))
    found = outcomes(path, EACH)
    if int(pa.__version__.partition(".")[0]) >= 26:  # older ones write no histogram that contradicts it
        assert found == ["refused"] * 3


@pytest.mark.parametrize("row_group_size", [12, 3])
def test_an_encrypted_column(tmp_path, row_group_size):
    encryption = pytest.importorskip("pyarrow.parquet.encryption", reason="this pyarrow has no encryption")

    class Client(encryption.KmsClient):
        def wrap_key(self, key, name):
            return base64.b64encode(key)

    keys = encryption.EncryptionConfiguration("footer", column_keys={"own": ["a"]}, plaintext_footer=True)
    factory = encryption.CryptoFactory(lambda config: Client())
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), keys)
    path = tmp_path / "x.parquet"
    pq.write_table(table(), path, row_group_size=row_group_size, encryption_properties=properties)
    assert outcomes(path, EACH) == ["refused"] * 3


def test_any_byte_of_the_footer(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(table().replace_schema_metadata(), path, row_group_size=4, store_schema=False)
    found = outcomes(path, EVERY_BYTE)
    assert found.count("refused") > len(found) / 10


def test_many_row_groups(tmp_path):
    """Small groups, empty ones and larger ones, read from any row on."""
    rows = np.arange(2 * 14_000.0).reshape(-1, 2)
    sizes = [1, 0, 3000, 1, 2000, 0, 0, 3900, *[1] * 98, 5000]
    path, done = tmp_path / "x.parquet", 0
    with pq.ParquetWriter(path, table().schema) as writer:
        for size in sizes:
            writer.write_table(table(rows[done : done + size]), row_group_size=size or 1)
            done += size
    assert done == len(rows)
    assert pq.ParquetFile(path).num_row_groups >= len(sizes) - 3
    np.testing.assert_array_equal(load_features(path).X[:], rows)
    source = open_rows(path)
    for first in (0, 1, 2999, 3001, 5001, 5002, 8899, 8901, 8999, 4000, 9500):
        np.testing.assert_array_equal(source[first : first + 4100], rows[first : first + 4100])
