"""Errors of the system while a file is written become a sentence about that file."""

import contextlib
import errno
import os
import signal
import subprocess
import threading

import pytest

from jcmspl.io import files as atomic
from jcmspl.io.files import cleaning_up, is_part, open_atomically, remove_abandoned, write_atomically
from support.processes import interruptible


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


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder that refuses all writes")
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


# A program that uses the package as a library and waits when a file is complete, but not yet in its place.
LIBRARY = """
import signal, sys, threading, time
{handler}
from jcmspl.methods import RPL
from jcmspl.datasets import load_digits, save_npz, save_xlsa17
from jcmspl.io import files as atomic
def wait(_):
    print("writing", flush=True)
    while True:
        time.sleep(0.05)
atomic.os.fsync = wait
digits = load_digits()
try:
    {job}
except BaseException as error:
    print("seen", type(error).__name__, flush=True)
    raise
"""
JOBS = {
    "model": "RPL().fit(*digits.part('trainval'), class_vectors=digits.classes).save('m.safetensors')",
    "npz": "save_npz(digits, 'd.npz')",
    "folder": "save_xlsa17(digits, 'zoo')",
}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
class TestSignalsInALibrary:
    @pytest.mark.parametrize(
        ("job", "name"), [("model", "SIGTERM"), ("npz", "SIGHUP"), ("folder", "SIGTERM"), ("model", "SIGINT")]
    )
    def test_nothing_is_left_and_the_process_ends_by_the_signal(self, tmp_path, job, name):
        sent = getattr(signal, name)
        handler = f"signal.signal(signal.{name}, signal.SIG_DFL)" if name != "SIGINT" else ""
        output = self.sent(tmp_path, LIBRARY.format(job=JOBS[job], handler=handler), sent, code=-sent)
        assert output == ("seen KeyboardInterrupt\n" if name == "SIGINT" else "")

    def test_a_program_that_handles_it_itself(self, tmp_path):
        handler = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))"
        output = self.sent(tmp_path, LIBRARY.format(job=JOBS["npz"], handler=handler), signal.SIGTERM, code=7)
        assert output == "seen SystemExit\n"

    def sent(self, tmp_path, script, number, code):
        with interruptible("-c", script, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout.readline() == "writing\n"
            process.send_signal(number)
            output, _ = process.communicate(timeout=300)
        assert process.returncode == code
        assert list(tmp_path.iterdir()) == []
        return output

    def test_handlers_are_as_before(self, monkeypatch):
        before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            with cleaning_up():
                assert callable(signal.getsignal(signal.SIGTERM))
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            with cleaning_up():
                assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGTERM, before)

    def test_in_another_thread(self, tmp_path):
        """Which may not touch handlers of signals."""
        thread = threading.Thread(target=write_atomically, args=(tmp_path / "a", b"x"), kwargs={"overwrite": False})
        thread.start()
        thread.join()
        assert (tmp_path / "a").read_bytes() == b"x"


def test_abandoned_files(tmp_path):
    """Those of processes that were killed go; those that are being written, and those of others, stay."""
    pytest.importorskip("fcntl")
    (tmp_path / ".0123456789abcdef.part").write_bytes(b"half")
    for name in (".mine.part", "x.part", ".0123456789abcdef.partial"):
        (tmp_path / name).write_bytes(b"mine")
    with open_atomically(tmp_path / "a", overwrite=False) as file:
        file.write(b"whole")
        remove_abandoned(tmp_path)
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".0123456789abcdef.partial",
        ".mine.part",
        "a",
        "x.part",
    ]


WRITER = """
import time
from jcmspl.io.files import open_atomically
with open_atomically("mine.npz", overwrite=True) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    while True:
        time.sleep(0.05)
"""


@contextlib.contextmanager
def writer(folder):
    """Start a process that has written a half of a file, and kill it at the end."""
    with interruptible("-c", WRITER, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "writing\n"
        yield


def test_the_next_write_removes_what_a_killed_one_left(tmp_path):
    pytest.importorskip("fcntl")
    with writer(tmp_path):
        (part,) = tmp_path.iterdir()
    assert is_part(part.name)
    write_atomically(tmp_path / "other.npz", b"", overwrite=False)
    assert part.exists()  # that of another file
    write_atomically(tmp_path / "mine.npz", b"whole", overwrite=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.npz", "other.npz"]
    assert (tmp_path / "mine.npz").read_bytes() == b"whole"


def test_writers_of_the_same_file_do_not_disturb_each_other(tmp_path):
    pytest.importorskip("fcntl")
    with writer(tmp_path), writer(tmp_path):
        with open_atomically(tmp_path / "mine.npz", overwrite=True) as file:
            assert len(list(tmp_path.iterdir())) == 3
            file.write(b"first")
        for content in (b"second", b"third"):
            write_atomically(tmp_path / "mine.npz", content, overwrite=True)
        assert len(list(tmp_path.iterdir())) == 3
        assert (tmp_path / "mine.npz").read_bytes() == b"third"


@pytest.mark.parametrize("made_again", [False, True])
def test_a_file_that_is_taken_for_abandoned_before_it_is_locked(tmp_path, monkeypatch, made_again):
    """Another process may open it just after its birth, and begin one of the same name."""
    fcntl = pytest.importorskip("fcntl")
    lock, taken = fcntl.flock, []

    def late(file, how):
        if how == fcntl.LOCK_EX and not taken:
            taken.extend(tmp_path.iterdir())
            taken[0].unlink()
            if made_again:
                taken[0].write_bytes(b"of another")
        return lock(file, how)

    monkeypatch.setattr(atomic.fcntl, "flock", late)
    write_atomically(tmp_path / "mine.npz", b"whole", overwrite=False)
    assert len(taken) == 1
    assert (tmp_path / "mine.npz").read_bytes() == b"whole"
    assert [path.read_bytes() for path in tmp_path.glob(".*.part")] == [b"of another"] * made_again


def test_no_process_takes_a_complete_file_for_abandoned(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    replace = os.replace

    def disturbed(part, path):
        remove_abandoned(tmp_path)
        replace(part, path)

    monkeypatch.setattr(atomic.os, "replace", disturbed)
    write_atomically(tmp_path / "mine.npz", b"whole", overwrite=False)
    assert (tmp_path / "mine.npz").read_bytes() == b"whole"
