"""What the system says while a file is written becomes a sentence about that file."""

import errno
import os

import pytest

from jcmspl.io import atomic
from jcmspl.io.atomic import open_atomically, write_atomically


@pytest.mark.parametrize("step", ["fsync", "replace", "open"])
def test_a_full_disk(tmp_path, monkeypatch, step):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *map(str, arguments[: step != "fsync"]))

    monkeypatch.setattr(atomic.os, step, full)
    with pytest.raises(OSError, match=r"mine.npz cannot be written: No space left") as caught:
        write_atomically(tmp_path / "mine.npz", b"much", overwrite=False)
    assert caught.value.errno == errno.ENOSPC
    assert ".part" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder that nobody can write to")
def test_a_folder_that_takes_no_files():
    with pytest.raises(OSError, match=r"^/proc/self/mine.npz cannot be written: "):
        write_atomically("/proc/self/mine.npz", b"", overwrite=False)


def test_what_is_wrong_with_other_files_is_not_blamed_on_this_one(tmp_path):
    for error in (OSError("the disk is gone"), FileNotFoundError(errno.ENOENT, "No such file", "other.npz")):
        with (
            pytest.raises(type(error), match=r"the disk is gone|other.npz") as caught,
            open_atomically(tmp_path / "mine.npz", overwrite=False),
        ):
            raise error
        assert caught.value is error
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_when_the_file_was_just_made(tmp_path, monkeypatch):
    """A signal may arrive between the birth of a file and the next line of the program."""
    make = os.open

    def stopped(*arguments):
        os.close(make(*arguments))
        raise SystemExit(143)

    monkeypatch.setattr(atomic.os, "open", stopped)
    with pytest.raises(SystemExit):
        write_atomically(tmp_path / "mine.npz", b"", overwrite=False)
    assert list(tmp_path.iterdir()) == []
