"""Samples in many files on the command line; predictions in a folder, which a second run completes."""

import csv
import json
import os
import shutil
import subprocess

import numpy as np
import pyarrow
import pyarrow.parquet as pq
import pytest

from jcmspl import JCMSPL
from jcmspl.cli import main, predict
from jcmspl.datasets import load_digits
from support.command import jcmspl_process, write_own_data
from support.processes import interruptible
from support.shards import write_metadata, write_shards, write_zarr

LENGTHS = [5, 0, 1, 14, 20]
PATTERN = "features-*.npy"


@pytest.fixture(scope="module")
def digits():
    return load_digits()


@pytest.fixture(scope="module")
def made(tmp_path_factory, digits):
    folder = tmp_path_factory.mktemp("models")
    model = JCMSPL(progress=False).fit(digits.chunks("trainval"), class_vectors=digits.classes)
    model.save(folder / "model.safetensors")
    model.set_params(space="semantic").save(folder / "other.safetensors")
    return folder


@pytest.fixture
def here(tmp_path, made, digits, monkeypatch):
    """A folder with a model and forty samples in five files; what they are named."""
    monkeypatch.chdir(tmp_path)
    for name in ("model.safetensors", "other.safetensors"):
        shutil.copy(made / name, name)
    X = digits.X[:40].astype(np.float32)
    write_shards(tmp_path, X, LENGTHS)
    np.save("whole.npy", X)
    return tmp_path


def run(*arguments, code=0):
    assert main([*map(str, arguments)]) == code


def fails(capsys, *arguments):
    run(*arguments, "--quiet", code=1)
    return capsys.readouterr().err


def name_all(*arguments, samples=PATTERN, model="model.safetensors"):
    run("predict", model, samples, "-o", "named/", "--quiet", "--candidates", "unseen", *arguments)


def lines_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def assert_same_predictions(found, expected):
    """Rows and names are equal; float32 scores depend on how many samples BLAS gets at once, in the last digits."""
    assert [line[:2] for line in found] == [line[:2] for line in expected]
    scores, wanted = ([float(line[2]) for line in lines] for lines in (found, expected))
    np.testing.assert_allclose(scores, wanted, rtol=0, atol=1e-6)  # of cosines


@pytest.fixture
def expected(here):
    run("predict", "model.safetensors", "whole.npy", "-o", "whole.csv", "--quiet", "--candidates", "unseen", "--scores")
    return lines_of("whole.csv")


class TestFolder:
    @pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
    def test_a_row_for_every_row_in_order(self, here, expected, kind):
        name_all("--scores", "--format", kind)
        files = [here / "named" / f"predictions_{number}.{kind}" for number in range(5)]
        assert sorted(here.joinpath("named").iterdir()) == sorted([*files, here / "named" / "manifest.json"])
        rows = []
        for file, length in zip(files, LENGTHS, strict=True):
            if kind == "csv":
                head, *part = lines_of(file)
                assert head == expected[0]
            elif kind == "npz":
                with np.load(file) as arrays:
                    columns = arrays["row"], arrays["labels"][:, 0], arrays["scores"][:, 0]
                part = [[str(row), label, score] for row, label, score in zip(*columns, strict=True)]
            else:
                table = pq.read_table(file).to_pydict()
                assert list(table) == expected[0]
                part = [[str(row), label, score] for row, label, score in zip(*table.values(), strict=True)]
            assert len(part) == length
            rows += part
        assert_same_predictions(rows, expected[1:])

    @pytest.mark.parametrize(("size", "lengths"), [(15, [15, 15, 10]), (40, [40]), (99, [40])])
    def test_rows_per_file(self, here, expected, size, lengths):
        for samples in (PATTERN, "whole.npy"):
            name_all("--scores", "--rows-per-file", size, "--force", samples=samples)
            parts = [lines_of(f"named/predictions_{number}.csv")[1:] for number in range(len(lengths))]
            assert [len(part) for part in parts] == lengths
            assert_same_predictions([line for part in parts for line in part], expected[1:])

    def test_a_part_of_a_data_set(self, here):
        name_all("--part", "test_unseen", "--rows-per-file", 500, samples="digits")
        rows = [int(line[0]) for number in (0, 1) for line in lines_of(f"named/predictions_{number}.csv")[1:]]
        assert rows == load_digits().rows("test_unseen").tolist()

    def test_a_table_in_one_file(self, here, expected):
        run("predict", "model.safetensors", PATTERN, "-o", "all.parquet", "--quiet", "--candidates", "unseen")
        assert pq.read_table("all.parquet").to_pydict()["label"] == [line[1] for line in expected[1:]]

    def test_of_any_kind(self, here, expected, digits, capsys):
        X = digits.X[:40].astype(np.float32)
        write_zarr(here / "z.zarr", X, chunks=(7, 64))
        write_shards(here / "tables", X, LENGTHS, "parquet", labels=list(digits.y[:40]))
        write_shards(here / "clip" / "img_emb", X, LENGTHS, name="img_emb_{}")
        for samples in ("z.zarr", "tables", "clip", f"file://{here}/{PATTERN}"):
            run("predict", "model.safetensors", samples, "--quiet", "--candidates", "unseen", "--scores")
            head, *lines = csv.reader(capsys.readouterr().out.splitlines())
            assert head == expected[0]
            assert_same_predictions(lines, expected[1:])

    def test_messages(self, here, capsys):
        run("predict", "model.safetensors", PATTERN, "-o", "named/", "--json", "--quiet")
        assert json.loads(capsys.readouterr().out) == {"output": "named/", "samples": 40, "files": 5, "written": 5}
        here.joinpath("named/predictions_3.csv").unlink()
        run("predict", "model.safetensors", PATTERN, "-o", "named/")
        assert "wrote 1 of 5 files in named (4 existed already)" in capsys.readouterr().err


class TestGoingOn:
    def test_only_what_is_missing(self, here, monkeypatch):
        name_all()
        content = {file.name: file.read_bytes() for file in here.joinpath("named").iterdir()}
        here.joinpath("named/predictions_3.csv").unlink()
        written = []
        write = predict._write_file
        monkeypatch.setattr(
            predict, "_write_file", lambda path, *a, **b: (written.append(path.name), write(path, *a, **b))
        )
        name_all()
        name_all()
        assert written == ["predictions_3.csv"]
        assert {file.name: file.read_bytes() for file in here.joinpath("named").iterdir()} == content

    def test_an_interrupted_run_loses_one_file(self, here, monkeypatch, capsys):
        chunks = predict.chunks_of

        def interrupted(X, rows, arguments):
            yield from chunks(X, rows, arguments)
            if 6 in rows:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(predict, "chunks_of", interrupted)
            run("predict", "model.safetensors", PATTERN, "-o", "named/", "--quiet", code=130)
        assert "interrupted; 3 of 5 files are in named; the same command writes the others" in capsys.readouterr().err
        names = sorted(file.name for file in here.joinpath("named").iterdir())
        assert names == ["manifest.json", *(f"predictions_{number}.csv" for number in range(3))]
        run("predict", "model.safetensors", PATTERN, "-o", "named/", "--quiet")
        assert sum(len(lines_of(file)) - 1 for file in here.glob("named/*.csv")) == 40

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (["--top", 2], r"other options (--top)"),
            (["--set", "space=semantic", "--adapt"], r"other options (--adapt, --set)"),
            (["--format", "npz"], "another --format or --rows-per-file"),
            (["--rows-per-file", 7], "another --format or --rows-per-file"),
        ],
    )
    def test_other_options(self, here, capsys, change, message):
        name_all()
        arguments = ["predict", "model.safetensors", PATTERN, "-o", "named/", "--candidates", "unseen", *change]
        assert f"named has predictions that were begun with {message}: choose another folder" in fails(
            capsys, *arguments
        )

    def test_another_model_or_other_samples(self, here, capsys):
        name_all()
        command = ["-o", "named/", "--candidates", "unseen"]
        assert "begun with another model" in fails(capsys, "predict", "other.safetensors", PATTERN, *command)
        assert "other samples (5 files then, 1 now)" in fails(
            capsys, "predict", "model.safetensors", "whole.npy", *command
        )
        np.save("features-4.npy", np.zeros((21, 64), np.float32))
        error = fails(capsys, "predict", "model.safetensors", PATTERN, *command)
        assert "other samples (features-4.npy: 20 rows" in error
        name_all("--force")
        assert len(lines_of("named/predictions_4.csv")) == 22

    @pytest.mark.parametrize("samples", [PATTERN, "whole.npy", "whole.zarr"])
    def test_samples_of_the_same_shape_that_were_made_anew(self, here, capsys, samples):
        X = np.load("whole.npy")
        write_zarr(here / "whole.zarr", X)
        command = ["predict", "model.safetensors", samples, "-o", "named/", "--candidates", "unseen"]
        run(*command)
        for path in here.glob("features-*.npy"):
            np.save(path, np.load(path) + 1)
        np.save("whole.npy", X + 1)
        shutil.rmtree("whole.zarr")
        write_zarr(here / "whole.zarr", X + 1)
        assert "held other values then" in fails(capsys, *command)

    @pytest.mark.parametrize("samples", ["x.npy", "x.npz", "x.csv", "x.parquet", "x.zarr", "sh", "zs"])
    def test_samples_that_changed_in_the_middle(self, here, capsys, digits, samples):
        """Neither their ends nor their times tell that they are others: no prediction of what is gone is kept."""
        X = np.tile(digits.X[:1000].astype(np.float32), (2, 1))

        def write(X):
            if samples == "x.npz":
                np.savez("x.npz", X=X)
            elif samples == "x.csv":
                np.savetxt("x.csv", X, "%.6f", delimiter=",")
            elif samples == "x.parquet":
                table = pyarrow.table({f"f{i}": column for i, column in enumerate(X.T)})
                pq.write_table(table, "x.parquet", compression="none", use_dictionary=False)
            elif samples in ("x.zarr", "zs"):
                shutil.rmtree(here / samples, ignore_errors=True)
                (here / "zs").mkdir(exist_ok=True)
                for number, part in enumerate([X[:50], X] if samples == "zs" else [X]):
                    write_zarr(here / ("x.zarr" if samples == "x.zarr" else f"zs/{number}.zarr"), part, chunks=(64, 64))
            else:
                (here / "sh").mkdir(exist_ok=True)
                np.save("x.npy" if samples == "x.npy" else "sh/1.npy", X)
                np.save("sh/0.npy", X[:50])
            for path in here.rglob("*"):
                if path.name != "named":
                    os.utime(path, (1e9, 1e9))

        write(X)
        command = ["predict", "model.safetensors", samples, "-o", "named/", "--candidates", "unseen"]
        options = ["--rows-per-file", 700, "--header", "no"] if samples == "x.csv" else ["--rows-per-file", 700]
        run(*command, *options, "--quiet")
        run(*command, *options, "--quiet")
        here.joinpath("named/predictions_2.csv").unlink()
        X[900:1100] = X[900:1100][::-1]
        write(X)
        assert "held other values then" in fails(capsys, *command, *options)

    def test_another_part_of_the_same_samples(self, here, capsys, digits):
        """As many rows as before, but others."""
        write_own_data(here)
        options = ["--part", "test_seen", "-o", "named/", "--candidates", "unseen"]
        run("predict", "model.safetensors", ".", *options, "--quiet")
        lines = here.joinpath("split.csv").read_text().splitlines()
        first, other = lines.index("test_seen"), lines.index("train")
        lines[first], lines[other] = lines[other], lines[first]
        here.joinpath("split.csv").write_text("\n".join(lines) + "\n")
        assert "other samples" in fails(capsys, "predict", "model.safetensors", ".", *options)

    def test_force_leaves_nothing_of_before(self, here):
        name_all("--rows-per-file", 5)
        here.joinpath("named/notes.txt").write_text("mine")
        name_all("--rows-per-file", 20, "--force", "--format", "npz")
        names = ["manifest.json", "notes.txt", "predictions_0.npz", "predictions_1.npz"]
        assert sorted(file.name for file in here.joinpath("named").iterdir()) == names

    def test_a_mistake_begins_nothing(self, here, capsys):
        assert "--top must be" in fails(capsys, "predict", "model.safetensors", PATTERN, "-o", "named/", "--top", 99)
        assert not here.joinpath("named").exists()

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', "\udcff"])
    def test_a_damaged_manifest(self, here, capsys, text):
        name_all()
        here.joinpath("named/manifest.json").write_bytes(text.encode(errors="surrogateescape"))
        assert "a manifest.json that is damaged" in fails(
            capsys, "predict", "model.safetensors", PATTERN, "-o", "named/"
        )
        name_all("--force")

    def test_folders_that_are_not_ours(self, here, capsys):
        here.joinpath("full").mkdir()
        here.joinpath("full/predictions_0.csv").touch()
        for output, message in (
            ("full", "full is not empty and has no manifest.json"),
            ("whole.npy/", "whole.npy is a file"),
            ("no/named/", "the folder no does not exist"),
        ):
            assert message in fails(capsys, "predict", "model.safetensors", PATTERN, "-o", output)
        error = fails(capsys, "predict", "model.safetensors", PATTERN, "-o", "a.csv", "--format", "csv")
        assert "--format is for a folder of predictions" in error
        assert "at least 1" in fails(
            capsys, "predict", "model.safetensors", PATTERN, "-o", "named/", "--rows-per-file", 0
        )


# The command line, which says when the first file of some name is complete, but not yet in its place, and waits there.
HALTED = """
import sys, time
from jcmspl import cli
from jcmspl.io import files as atomic
replace = atomic.os.replace
def wait(part, path):
    if path.name == sys.argv[1]:
        print("halted", flush=True)
        while True:
            time.sleep(0.05)
    replace(part, path)
atomic.os.replace = wait
sys.exit(cli.main(sys.argv[2:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("halted_at", "done"), [("manifest.json", 0), ("predictions_2.csv", 2)])
def test_kill_9(here, halted_at, done):
    """Files are whole or not there, and the same command completes them; nothing of the one that was killed stays."""
    command = ["predict", "model.safetensors", PATTERN, "-o", "named/", "--quiet", "--candidates", "unseen"]
    with interruptible("-c", HALTED, halted_at, *command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "halted\n"
        process.kill()
        process.wait()
    named = here / "named"
    written = {path.name: path.read_bytes() for path in named.glob("predictions*")}
    assert len(written) == done
    assert len([path for path in named.iterdir() if path.suffix == ".part"]) == 1
    run(*command)
    assert {name: (named / name).read_bytes() for name in written} == written
    assert sorted(path.name for path in named.iterdir()) == [
        "manifest.json",
        *(f"predictions_{i}.csv" for i in range(5)),
    ]
    assert [len(lines_of(named / f"predictions_{i}.csv")) - 1 for i in range(5)] == LENGTHS


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_no_room_for_one_of_the_files(here):
    """Those before it are whole, and the same command goes on when there is room."""
    import resource

    command = ["predict", "model.safetensors", PATTERN, "-o", "named/", "--quiet", "--top", 10, "--scores"]
    run(*command)
    expected = {path.name: path.read_bytes() for path in here.glob("named/*")}
    shutil.rmtree("named")
    most = len(expected["predictions_4.csv"]) - 1
    assert all(len(content) <= most for name, content in expected.items() if name != "predictions_4.csv")
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))}
    result = jcmspl_process(*command, cwd=here, code=1, **limit)
    assert result.stderr == "jcmspl predict: named/predictions_4.csv cannot be written: File too large\n"
    assert {path.name for path in here.glob("named/*")} == {*expected} - {"predictions_4.csv"}
    run(*command)
    assert {path.name: path.read_bytes() for path in here.glob("named/*")} == expected


class TestHostileSamples:
    def test_what_is_wrong_is_named_before_anything_is_written(self, here, capsys):
        command = ["predict", "model.safetensors", PATTERN, "-o", "named/"]
        data = here.joinpath("features-3.npy").read_bytes()
        here.joinpath("features-3.npy").write_bytes(data[:-1])
        assert "features-3.npy is damaged or cut short" in fails(capsys, *command)
        here.joinpath("features-3.npy").unlink()
        assert "features-4.npy follows features-2.npy" in fails(capsys, *command)
        assert not here.joinpath("named").exists()

    def test_values_that_are_not_finite(self, here, capsys):
        bad = np.load("features-3.npy")
        bad[2, 3] = np.nan
        np.save("features-3.npy", bad)
        command = ["predict", "model.safetensors", PATTERN, "-o", "named/", "--candidates", "unseen"]
        assert "features-3.npy: row 2 holds NaN or infinity" in fails(capsys, *command)
        bad[2, 3] = 0
        np.save("features-3.npy", bad)
        name_all()
        assert sum(len(lines_of(file)) - 1 for file in here.glob("named/*.csv")) == 40

    def test_no_rows_at_all(self, here):
        np.save("nothing.npy", np.zeros((0, 64), np.float32))
        for kind in ("csv", "npz", "parquet"):
            name_all("--force", "--format", kind, samples="nothing.npy")
            assert here.joinpath(f"named/predictions_0.{kind}").exists()

    def test_folders_without_rows(self, here, capsys):
        here.joinpath("empty").mkdir()
        assert "empty is a folder, but a file is expected" in fails(capsys, "predict", "model.safetensors", "empty")


class TestData:
    """fit, evaluate and tune with features in many files, and labels in their metadata."""

    @pytest.fixture
    def own(self, tmp_path, monkeypatch, digits):
        monkeypatch.chdir(tmp_path)
        write_own_data(tmp_path)
        X, lengths = np.load("features.npy"), [1000, 797]
        write_shards(tmp_path / "clip" / "img_emb", X, lengths, name="img_emb_{}")
        write_metadata(tmp_path / "clip" / "metadata", {"digit": digits.y.tolist(), "url": ["-"] * len(X)}, lengths)
        return ["--labels", "digit", "--classes", "classes.csv", "--split", "split.csv", "--quiet"]

    def test_fit_and_evaluate(self, own, capsys):
        results = []
        for data, labels in (("clip", "digit"), ("clip/img_emb", "digit"), ("features.npy", "labels.txt")):
            options = [labels if option == "digit" else option for option in own]
            run("fit", data, "-o", "m.safetensors", *options, "--force")
            capsys.readouterr()
            run("evaluate", "m.safetensors", data, *options, "--json")
            results.append(json.loads(capsys.readouterr().out)["results"])
        assert results[0] == results[1] == results[2]

    def test_tune(self, own, capsys):
        run("tune", "clip/img_emb/*.npy", *own, "--set", "space=visual", "--model", "RidgeVS", "--folds", 2, "--json")
        assert json.loads(capsys.readouterr().out)["best_params"]

    def test_mistakes(self, own, capsys):
        assert "clip holds features only: give the class vectors" in fails(capsys, "tune", "clip")
        own[1] = "colour"
        error = fails(capsys, "fit", "clip", "-o", "m.safetensors", *own)
        assert "metadata_0.parquet has no column named 'colour': its 2 columns are 'digit', 'url'" in error
