"""The command line with wrong input."""

import os
import re
import signal
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from jcmspl import datasets
from jcmspl.cli import main
from jcmspl.datasets import make_zsl, save_npz
from support.command import jcmspl, jcmspl_process
from support.processes import interruptible


class TestMistakes:
    """One sentence, exit code 1, no traceback, nothing written."""

    def fails(self, tmp_path, *arguments):
        before = sorted(tmp_path.rglob("*"))
        result = jcmspl(*arguments, code=1)
        assert "Traceback" not in result.stderr
        assert result.stdout == ""
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr
        assert sorted(tmp_path.rglob("*")) == before
        return result.stderr

    def test_no_such_data(self, tmp_path):
        message = self.fails(tmp_path, "fit", tmp_path / "nothing", "-o", tmp_path / "m.safetensors")
        assert "does not exist" in message
        assert message.startswith("jcmspl fit: ")

    def test_existing_output(self, tmp_path, model):
        (tmp_path / "m.safetensors").write_text("precious")
        assert "--force" in self.fails(tmp_path, "fit", "digits", "-o", tmp_path / "m.safetensors")
        (tmp_path / "r.html").write_text("precious")
        assert "--force" in self.fails(tmp_path, "evaluate", model, "digits", "-o", tmp_path / "r.html")
        assert (tmp_path / "r.html").read_text() == "precious"

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
    def test_a_pipe_for_output(self, tmp_path, capsys):
        os.mkfifo(tmp_path / "pipe")
        assert main(["fit", "no-such-data", "-o", str(tmp_path / "pipe"), "--force"]) == 1  # before any work
        assert "pipe is a device or a pipe" in capsys.readouterr().err

    def test_output_in_no_folder(self, tmp_path):
        assert "does not exist" in self.fails(tmp_path, "fit", "digits", "-o", tmp_path / "no" / "m.safetensors")

    def test_not_a_model(self, tmp_path):
        (tmp_path / "m").write_bytes(b"hello")
        assert "safetensors" in self.fails(tmp_path, "evaluate", tmp_path / "m", "digits")

    def test_not_a_mat_file(self, tmp_path):
        (tmp_path / "x.mat").write_bytes(b"hello " * 100)
        assert "x.mat" in self.fails(tmp_path, "fit", tmp_path / "x.mat", "-o", tmp_path / "m.safetensors")

    def test_broken_benchmark_files(self, tmp_path):
        folder = tmp_path / "mat"
        jcmspl("convert", "digits", "-o", folder)
        splits = (folder / "att_splits.mat").read_bytes()
        (folder / "att_splits.mat").write_bytes(splits[: len(splits) // 2])
        assert "att_splits.mat" in self.fails(tmp_path, "info", folder)

    def test_wrong_features(self, tmp_path, model):
        np.save(tmp_path / "x.npy", np.ones((5, 3)))
        message = self.fails(tmp_path, "predict", model, tmp_path / "x.npy", "-o", tmp_path / "o.csv")
        assert "(5, 3), but the model expects 64" in message

    def test_nan(self, tmp_path, model):
        np.save(tmp_path / "x.npy", np.full((5, 64), np.nan))
        assert "NaN" in self.fails(tmp_path, "predict", model, tmp_path / "x.npy", "-o", tmp_path / "o.csv")

    def test_unknown_candidates(self, tmp_path, model):
        message = self.fails(tmp_path, "predict", model, "digits", "--part", "train", "--candidates", "yeti")
        assert "yeti" in message

    def test_class_without_a_vector(self, tmp_path, own):
        (tmp_path / "classes.csv").write_text("name,a\nzero,1\none,2\n")
        files = [own / "features.npy", "--labels", own / "labels.txt", "--classes", tmp_path / "classes.csv"]
        assert "no class vectors for 8 of the 10" in self.fails(tmp_path, "fit", *files, "-o", tmp_path / "m")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["fit", "digits", "--unseen", "0.5", "-o", "m"], "--classes FILE"),
            (["fit", "digits", "--attributes", "att", "-o", "m"], "--attributes is for the xlsa17 layout"),
            (["convert", "digits", "-o", "out.csv"], "neither an .npz file nor a folder"),
            (["tune", "digits", "-o", "same", "--results", "same"], "different names"),
            (["compare", "digits", "-o", "table.pdf"], "is written as"),
            (["demo", "-o", "page.pdf"], "is written as"),
        ],
    )
    def test_options_that_do_not_fit(self, tmp_path, arguments, message, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert message in self.fails(tmp_path, *arguments)

    @pytest.mark.parametrize(
        "arguments",
        [
            ["evaluate", "no-such-model", "digits", "-o", "page.html"],
            ["reproduce", "no-such-data", "-o", "folder"],
        ],
        ids=lambda arguments: arguments[0],
    )
    def test_charts_without_matplotlib(self, tmp_path, arguments, monkeypatch, capsys):
        """Told before any work is done: that there is neither model nor data has not been noticed yet."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
        assert main(arguments) == 1
        printed = capsys.readouterr()
        assert "pip install 'jcmspl[plots]'" in printed.err
        assert len(printed.err.splitlines()) == 1
        assert printed.out == ""
        assert list(tmp_path.iterdir()) == []

    def test_features_alone(self, tmp_path, own, model):
        assert "has no labels" in self.fails(tmp_path, "fit", own / "features.npy", "-o", tmp_path / "m")
        assert "--classes FILE" in self.fails(tmp_path, "tune", own / "features.npy")
        assert "--part" in self.fails(tmp_path, "predict", model, own)

    def test_the_file_that_is_to_blame_is_named(self, tmp_path, own):
        files = [own / "features.npy", "--labels", own / "labels.txt", "--classes", own / "classes.csv"]
        (tmp_path / "split.csv").write_text("row,part\n9999,train\n")
        message = self.fails(tmp_path, "info", *files, "--split", tmp_path / "split.csv")
        assert "split.csv" in message
        assert "features.npy" not in message
        (tmp_path / "labels.txt").write_text("martian\n" * 1797)
        files[2] = tmp_path / "labels.txt"
        assert "labels.txt" in self.fails(tmp_path, "info", *files)

    def test_checksums_are_compared_where_that_is_wanted(self, tmp_path, capsys):
        path = tmp_path / "made.npz"
        save_npz(make_zsl(50, 40, 3, 3, 2), path)
        assert main(["info", str(path), "--verify"]) == 0
        data = bytearray(path.read_bytes())
        data[len(data) // 3] ^= 1  # within the features
        path.write_bytes(data)
        capsys.readouterr()
        assert main(["info", str(path)]) == 0
        assert main(["info", str(path), "--verify"]) == 1
        assert "made.npz" in capsys.readouterr().err
        assert main(["info", "digits", "--verify"]) == 1
        assert "--verify is for .npz files" in capsys.readouterr().err

    @pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
    @pytest.mark.parametrize(("output", "file"), [("digits.npz", "digits.npz"), ("digits", "digits/features.mat")])
    def test_no_room_for_the_output(self, tmp_path, output, file):
        import resource

        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))}
        result = jcmspl_process("convert", "digits", "-o", tmp_path / output, code=1, **limit)
        assert result.stderr == f"jcmspl convert: {tmp_path / file} cannot be written: File too large\n"
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
    def test_no_room_for_what_is_printed(self):
        command = [sys.executable, "-m", "jcmspl", "methods"]
        with open("/dev/full", "w") as full:
            result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert result.stderr == "jcmspl methods: the output cannot be written: No space left on device\n"
        assert result.returncode == 1

    @pytest.mark.parametrize("text", ["Unable to allocate 1 TiB", ""])
    def test_no_memory(self, monkeypatch, capsys, text):
        def too_large(*_, **__):
            raise MemoryError(text)

        monkeypatch.setattr(datasets, "load_dataset", too_large)
        assert main(["info", "digits"]) == 1
        expected = "jcmspl info: there is not enough memory for digits" + f" ({text})" * bool(text)
        assert capsys.readouterr().err == expected + "\n"

    @pytest.mark.parametrize(
        ("arguments", "where"),
        [
            (["embed", "birds", "--model", "m.onnx", "-o", "f.npz"], " for birds"),
            (["embed", "--text", "names.txt", "--model", "m.onnx", "-o", "f.npz"], " for names.txt"),
            (["methods"], ""),
        ],
    )
    def test_no_memory_in_a_command_without_data(self, monkeypatch, capsys, arguments, where):
        def too_large(*_):
            raise MemoryError

        monkeypatch.setattr(f"jcmspl.cli.{arguments[0]}.run", too_large)
        assert main(arguments) == 1
        assert capsys.readouterr().err == f"jcmspl {arguments[0]}: there is not enough memory{where}\n"

    def test_no_memory_to_read_a_file(self, tmp_path, monkeypatch, capsys):
        def too_large(*_, **__):
            raise MemoryError

        save_npz(make_zsl(50, 40, 3, 3, 2), tmp_path / "made.npz")
        monkeypatch.setattr(zipfile.ZipFile, "open", too_large)
        assert main(["info", str(tmp_path / "made.npz")]) == 1
        assert capsys.readouterr().err == f"jcmspl info: there is not enough memory to read {tmp_path / 'made.npz'}\n"

    def test_debug_shows_the_traceback(self, tmp_path):
        result = jcmspl("fit", tmp_path / "nothing", "-o", tmp_path / "m", "--debug", code=1)
        assert "Traceback" in result.stderr


# The command line, which says when it has come to the fit.
ANNOUNCED = """
import sys
from jcmspl import JCMSPL, cli
fit = JCMSPL.fit
def announced(*arguments, **options):
    print("fitting", flush=True)
    return fit(*arguments, **options)
JCMSPL.fit = announced
sys.exit(cli.main())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_writes_nothing(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "big.npz", X=rng.random((3000, 300)), labels=np.arange(3000) % 60)
    np.save(tmp_path / "classes.npy", rng.random((60, 20)))
    files = ["fit", tmp_path / "big.npz", "--classes", tmp_path / "classes.npy", "--unseen", "0.2"]
    options = ["--max-iter", "100000000", "--tol", "0", "-o", tmp_path / "m.safetensors"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with interruptible("-c", ANNOUNCED, *files, *options, **pipes) as process:
        assert process.stdout.readline() == "fitting\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)  # the fit would take days
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=300)
    assert process.returncode == 130
    assert messages.splitlines()[-1] == "jcmspl: interrupted; nothing was written"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big.npz", "classes.npy"]


# The command line, which says when its output is complete, but not yet in its place, and waits there.
WAITING = """
import sys, time
from jcmspl import cli
from jcmspl.io import files as atomic
def wait(_):
    print("writing", flush=True)
    while True:
        time.sleep(0.05)
atomic.os.fsync = wait
sys.exit(cli.main())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_sigterm_leaves_nothing_behind(tmp_path):
    with interruptible("-c", WAITING, "convert", "digits", "-o", tmp_path / "zoo", stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "writing\n"
        assert [path.suffix for path in (tmp_path / "zoo").iterdir()] == [".part"] * 2
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=300)
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_a_first_line_that_counts_the_columns(model, tmp_path):
    """No sample is lost to a guess that it is a header."""
    path = tmp_path / "features.csv"
    path.write_text("\n".join(",".join(str(i + row) for i in range(64)) for row in range(3)) + "\n")
    result = jcmspl("predict", model, path, code=1)
    assert "features.csv starts with the line 0,1,2," in result.stderr
    assert "--header" in result.stderr
    assert len(jcmspl("predict", model, path, "--header", "no").stdout.splitlines()) == 1 + 3
    assert len(jcmspl("predict", model, path, "--header", "yes").stdout.splitlines()) == 1 + 2
    assert "for your own files" in jcmspl("info", "digits", "--header", "no", code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["predikt", "m"], "did you mean predict?"),
        (["fit", "digits", "-o", "m", "--spce", "visual"], "unknown arguments: --spce visual; did you mean --space?"),
        (["fit", "digits", "-o", "m", "--space", "visaul"], "did you mean visual?"),
        (["info", "digits", "--zzz"], "unknown arguments: --zzz\n"),
        (["info", "digits", "--\x1b[31m"], "unknown arguments: --\\x1b[31m\n"),
    ],
)
def test_words_that_are_unknown(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert "usage:" not in error
    assert error.endswith("--help`\n")


def test_sentences(model, own, tmp_path, capsys):
    mine = [str(own / "features.npy"), "--labels", str(own / "labels.txt"), "--classes", str(own / "classes.csv")]
    swapped = [mine[0], "--labels", mine[4], "--classes", mine[2]]
    output = ["-o", str(tmp_path / "out")]
    for arguments, sentence in (
        (["predict", str(model), mine[0], "--candidates", "unsen"], "no class 'unsen'; did you mean unseen?"),
        (["predict", str(model), mine[0], "--candidates", "two, fuor"], "no class 'fuor'; did you mean four?"),
        (["predict", str(model), "digits"], "digits is a data set and not a file of features: .* --part test_unseen"),
        (["fit", *mine, "--unseen", "25", *output], "fit: the share of unseen classes must be .* but is 25$"),
        (["fit", *swapped, *output], "classes.csv: .*is this the file of class vectors"),
        (["fit", "digits", "-o", "x.pkl"], "x.pkl is named like another kind"),
        (["tune", "digits", "-o", "x.pkl"], "x.pkl is named like another kind"),
    ):
        assert main(arguments) == 1
        error = capsys.readouterr().err
        assert re.search(sentence, error, re.MULTILINE), error
        assert len(error.splitlines()) == 1


def test_predict_names_the_bad_row(tmp_path, capsys):
    assert main(["fit", "digits", "-o", str(tmp_path / "model"), "--quiet"]) == 0
    samples = np.ones((10_000, 64), dtype=np.float32)
    samples[9000, 3] = np.inf
    np.save(tmp_path / "x.npy", samples)
    output = tmp_path / "named.csv"
    command = ["predict", str(tmp_path / "model"), str(tmp_path / "x.npy"), "--candidates", "unseen", "--quiet"]
    assert main([*command, "-o", str(output)]) == 1
    assert "x.npy: row 9000 holds NaN or infinity" in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.filterwarnings("always::jcmspl.exceptions.UncalibratedWarning")
def test_a_bias_that_is_named_is_meant(tmp_path, capsys):
    model = str(tmp_path / "model")
    assert main(["fit", "digits", "-o", model, "--quiet"]) == 0
    command = ["predict", model, "digits", "--part", "test_unseen"]
    for options, warned in (([], True), (["--seen-penalty", "0"], False), (["--set", "seen_penalty=0"], False)):
        assert main([*command, *options]) == 0
        assert ("without a calibrated bias" in capsys.readouterr().err) is warned
