"""Input and output of `jcmspl predict`: forms, probabilities, samples without a name, standard input and output."""

import csv
import io
import json
import os
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import JCMSPL, ClassTable, load
from jcmspl.cli import FAILED, OK, main
from jcmspl.cli._prediction_writers import Form, Predictions, write_predictions
from jcmspl.datasets import load_digits
from support.command import jcmspl

TOP = 2


@pytest.fixture(scope="module")
def digits():
    return load_digits()


@pytest.fixture(scope="module")
def model_file(tmp_path_factory, digits):
    """A model of the digits with thresholds."""
    X, y = digits.part("trainval")
    model = JCMSPL(progress=False).fit(X, y, class_vectors=digits.classes).calibrate(X, y)
    path = tmp_path_factory.mktemp("digits") / "digits.safetensors"
    model.calibrate_rejection(X, y, max_false_rejection=0.3).save(path)
    return path


@pytest.fixture(scope="module")
def samples(digits):
    return np.asarray(digits.part("test_unseen")[0], dtype=np.float64)[:50]


@pytest.fixture(scope="module")
def features(tmp_path_factory, samples):
    path = tmp_path_factory.mktemp("features") / "features.npy"
    np.save(path, samples)
    return path


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command in this process, with these bytes on standard input; return what it printed."""

    def call(*arguments, code=OK, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        assert main([str(one) for one in arguments]) == code
        return capsys.readouterr()

    return call


def expected_of(model_file, samples):
    model = load(model_file)
    labels, scores = model.predict_topk(samples, TOP, candidates="unseen", return_scores=True)
    columns = {label: i for i, label in enumerate(model.unseen_classes_.tolist())}
    shares = model.predict_proba(samples, candidates="unseen")
    shares = np.array([[shares[i, columns[one]] for one in row] for i, row in enumerate(labels.tolist())])
    rejected = model.predict(samples, candidates="unseen", reject="auto", reject_label="") == ""
    assert 0 < rejected.sum() < len(samples)
    return labels.tolist(), scores, shares, rejected.tolist()


EVERYTHING = ("--candidates", "unseen", "--top", TOP, "--scores", "--proba", "--reject", "auto")


class TestForms:
    def test_csv(self, run, model_file, features, samples):
        text = run("predict", model_file, features, *EVERYTHING).out
        header, *rows = csv.reader(text.splitlines())
        names = ["label_1", "label_2", "score_1", "score_2", "probability_1", "probability_2"]
        assert header == ["row", *names, "rejected"]
        labels, scores, shares, rejected = expected_of(model_file, samples)
        assert [int(row[0]) for row in rows] == list(range(50))
        assert [row[1:3] for row in rows] == [["", ""] if no else own for own, no in zip(labels, rejected, strict=True)]
        assert_allclose([[float(cell) for cell in row[3:5]] for row in rows], scores, rtol=1e-8)
        assert_allclose([[float(cell) for cell in row[5:7]] for row in rows], shares, rtol=1e-8)
        assert [row[7] == "yes" for row in rows] == rejected

    def test_json_lines(self, run, model_file, features, samples, tmp_path):
        printed = run("predict", model_file, features, *EVERYTHING, "--format", "jsonl").out
        run("predict", model_file, features, *EVERYTHING, "-o", tmp_path / "named.jsonl")
        assert (tmp_path / "named.jsonl").read_text() == printed
        found = [json.loads(line) for line in printed.splitlines()]
        labels, scores, shares, rejected = expected_of(model_file, samples)
        assert [list(one) for one in found] == [["row", "labels", "scores", "probabilities", "rejected"]] * 50
        assert [one["rejected"] for one in found] == rejected
        wanted = [[] if no else own for own, no in zip(labels, rejected, strict=True)]
        assert [one["labels"] for one in found] == wanted
        assert_allclose([one["scores"] for one in found], scores)
        assert_allclose([one["probabilities"] for one in found], shares)

    def test_npz(self, run, model_file, features, samples, tmp_path):
        run("predict", model_file, features, *EVERYTHING, "-o", tmp_path / "named.npz")
        labels, scores, shares, rejected = expected_of(model_file, samples)
        with np.load(tmp_path / "named.npz") as file:
            assert file.files == ["row", "labels", "scores", "probabilities", "rejected"]
            assert file["rejected"].tolist() == rejected
            wanted = [["", ""] if no else own for own, no in zip(labels, rejected, strict=True)]
            assert file["labels"].tolist() == wanted
            assert_allclose(file["scores"], scores)
            assert_allclose(file["probabilities"], shares)

    def test_parquet_in_groups_of_rows(self, run, model_file, features, samples, tmp_path, monkeypatch):
        parquet = pytest.importorskip("pyarrow.parquet")
        monkeypatch.setattr("jcmspl.cli._samples.CHUNK", 20)
        run("predict", model_file, features, *EVERYTHING, "-o", tmp_path / "named.parquet")
        labels, scores, _, rejected = expected_of(model_file, samples)
        assert parquet.ParquetFile(tmp_path / "named.parquet").num_row_groups == 3
        found = parquet.read_table(tmp_path / "named.parquet")
        assert found["label_1"].to_pylist() == [
            None if no else own[0] for own, no in zip(labels, rejected, strict=True)
        ]
        assert found["rejected"].to_pylist() == rejected
        assert_allclose(found["score_2"].to_numpy(), scores[:, 1])

    @pytest.mark.parametrize("form", ["csv", "jsonl", "npz", "parquet"])
    def test_no_samples(self, run, model_file, samples, tmp_path, form):
        np.save(tmp_path / "none.npy", samples[:0])
        run("predict", model_file, tmp_path / "none.npy", *EVERYTHING, "-o", tmp_path / f"named.{form}")
        assert (tmp_path / f"named.{form}").exists()
        if form == "npz":
            with np.load(tmp_path / "named.npz") as file:
                assert file["labels"].shape == (0, TOP)

    def test_a_number_for_a_threshold(self, run, model_file, features, samples):
        scores = load(model_file).decision_function(samples, candidates="unseen").max(axis=1)
        threshold = float(np.median(scores))
        text = run("predict", model_file, features, "--candidates", "unseen", "--reject", threshold).out
        _, *rows = csv.reader(text.splitlines())
        assert [row[1] == "" for row in rows] == (scores < threshold).tolist()

    def test_a_folder_of_json_lines_goes_on(self, run, model_file, features, tmp_path):
        command = ("predict", model_file, features, *EVERYTHING, "-o", tmp_path / "out/", "--format", "jsonl")
        command = (*command, "--rows-per-file", 20)
        run(*[f"{one}/" if one == tmp_path / "out/" else one for one in command])
        files = sorted((tmp_path / "out").glob("*.jsonl"))
        before = [file.read_text() for file in files]
        assert [len(text.splitlines()) for text in before] == [20, 20, 10]
        files[1].unlink()
        run(*[f"{one}/" if one == tmp_path / "out/" else one for one in command])
        assert [file.read_text() for file in files] == before
        others = [f"{one}/" if one == tmp_path / "out/" else one for one in command if one != "--proba"]
        assert "other options (--proba)" in run(*others, code=FAILED).err


class TestIds:
    """Ids come first, whatever form they are written in."""

    found = Predictions(
        np.arange(2),
        ["=cmd()", "b"],
        np.array([["x"], ["y"]]),
        np.array([[0.5], [1.5]]),
        np.array([[0.25], [0.75]]),
        np.array([False, True]),
    )
    nothing = Predictions(*(None if part is None else part[:0] for part in found))

    def written(self, suffix, id_name="image", form=(1, False, False, True, False)):
        file = io.BytesIO()
        write_predictions(suffix, file, Form(*form, id_name), [self.found], self.nothing)
        return file.getvalue()

    def test_csv(self):
        assert self.written(".csv") == b"image,row,label,rejected\n'=cmd(),0,x,no\nb,1,,yes\n"

    def test_json(self):
        first = json.loads(self.written(".jsonl").splitlines()[0])
        assert first == {"image": "=cmd()", "row": 0, "labels": ["x"], "rejected": False}
        assert next(iter(first)) == "image"

    def test_npz(self):
        with np.load(io.BytesIO(self.written(".npz"))) as file:
            assert file.files[0] == "image"
            assert file["image"].tolist() == ["=cmd()", "b"]

    def test_parquet(self):
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(io.BytesIO(self.written(".parquet")))
        assert table.column_names == ["image", "row", "label", "rejected"]
        assert table["label"].to_pylist() == ["x", None]

    @pytest.mark.parametrize("name", ["row", "label", "rejected", ""])
    def test_a_name_that_is_taken(self, name):
        header = self.written(".csv", name).split(b"\n")[0].decode().split(",")
        assert len(set(header)) == 4
        assert header[0] == (f"{name}_" if name else "id")

    @pytest.mark.parametrize("name", ["file", "labels", "allow_pickle"])
    def test_a_name_that_is_taken_in_npz(self, name):
        with np.load(io.BytesIO(self.written(".npz", name))) as file:
            assert file[f"{name}_"].tolist() == ["=cmd()", "b"]

    def test_ids_of_a_data_set(self, run, model_file, monkeypatch, digits):
        ids = [f"scan {row}" for row in range(digits.n_samples)]
        object.__setattr__(digits, "ids", ids)
        object.__setattr__(digits, "id_name", "scan")
        monkeypatch.setattr("jcmspl.datasets.load_dataset", lambda path: digits)
        text = run("predict", model_file, "digits", "--part", "test_unseen", "--candidates", "unseen").out
        header, first, *_ = csv.reader(text.splitlines())
        assert header == ["scan", "row", "label"]
        assert first[0] == f"scan {first[1]}"


class TestStandardStreams:
    def streams(self, samples):
        file = io.BytesIO()
        np.save(file, samples)
        lines = [",".join(map(repr, row)) for row in samples.tolist()]
        return [
            file.getvalue(),
            "\n".join(lines).encode(),
            "\n".join(json.dumps(row) for row in samples.tolist()).encode(),
        ]

    def test_from_input_to_output(self, run, model_file, features, samples):
        expected = run("predict", model_file, features, *EVERYTHING).out
        for content in self.streams(samples):
            assert run("predict", model_file, "-", *EVERYTHING, "-o", "-", stdin=content).out == expected

    def test_ids_of_json_lines(self, run, model_file, samples, tmp_path):
        lines = [json.dumps({"id": f"no {i}", "features": row}) for i, row in enumerate(samples.tolist())]
        (tmp_path / "samples.jsonl").write_text("\n".join(lines))
        from_file = run("predict", model_file, tmp_path / "samples.jsonl", "--candidates", "unseen").out
        piped = run("predict", model_file, "-", "--candidates", "unseen", stdin="\n".join(lines).encode()).out
        assert piped == from_file
        header, first, *_ = csv.reader(piped.splitlines())
        assert (header, first[:2]) == (["id", "row", "label"], ["no 0", "0"])

    def test_a_file_is_written_from_input(self, run, model_file, features, samples, tmp_path):
        run("predict", model_file, features, "-o", tmp_path / "a.csv", "--candidates", "unseen")
        content = self.streams(samples)[0]
        result = run("predict", model_file, "-", "-o", tmp_path / "b.csv", "--candidates", "unseen", stdin=content)
        assert f"wrote {tmp_path / 'b.csv'}" in result.err
        assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--adapt"], "--adapt is not available for standard input"),
            (["--part", "test_unseen"], "--part is not available"),
            (["--dask"], "--dask is not available"),
            (["-o", "folder/"], "a folder of predictions is not available"),
            (["--format", "csv", "-o", "x.csv"], "--format is for a folder of predictions"),
            (["--rows-per-file", "3"], "--rows-per-file is for a folder"),
        ],
    )
    def test_what_a_stream_is_not_for(self, run, model_file, options, message):
        assert message in run("predict", model_file, "-", *options, code=FAILED).err

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "standard input is empty"),
            (b"1,2,3\n", "standard input has 3 columns, but the model expects 64 features"),
            ((",".join(["1"] * 63) + ",nan\n").encode(), "standard input: line 1 has no value in the column number 64"),
        ],
    )
    def test_bad_input_leaves_no_file(self, run, model_file, content, message, tmp_path):
        options = ("--candidates", "unseen", "-o", tmp_path / "named.parquet")
        assert message in run("predict", model_file, "-", *options, code=FAILED, stdin=content).err
        assert list(tmp_path.iterdir()) == []

    def test_npz_and_parquet_into_a_pipe(self, model_file, features):
        command = [sys.executable, "-m", "jcmspl", "predict", model_file, features, "--candidates", "unseen"]
        result = subprocess.run([*command, "--format", "npz"], capture_output=True, check=True)
        assert zipfile.ZipFile(io.BytesIO(result.stdout)).namelist() == ["row.npy", "labels.npy"]

    def test_lines_come_as_soon_as_a_chunk_is_named(self, model_file, samples):
        """A writer reads the names of its lines before it writes on; here chunks of one line."""
        code = "import sys, jcmspl.cli._samples as s; s.CHUNK = 1\nfrom jcmspl.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", code, "predict", model_file, "-", "--candidates", "unseen"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            ended = threading.Timer(600, process.kill)  # where no line comes it is to fail, and not to wait for ever
            ended.daemon = True
            ended.start()
            for number, row in enumerate(samples[:2].tolist()):
                process.stdin.write(json.dumps(row) + "\n")
                process.stdin.flush()
                if not number:
                    assert process.stdout.readline() == "row,label\n"
                assert process.stdout.readline().startswith(f"{number},")
            process.stdin.close()
            process.wait()
            ended.cancel()
        assert process.returncode == OK

    @pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
    def test_a_pipe_that_is_closed_early_is_no_news(self, model_file, features):
        for form in ("csv", "jsonl"):
            command = f"{sys.executable} -m jcmspl predict {model_file} {features} --format {form} | head -1"
            result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
            assert len(result.stdout.splitlines()) == 1
            assert "Traceback" not in result.stderr
            assert "BrokenPipe" not in result.stderr


@pytest.fixture(scope="module")
def with_sets(tmp_path_factory, digits):
    X, y = digits.part("trainval")
    path = tmp_path_factory.mktemp("sets") / "digits.safetensors"
    model = JCMSPL(progress=False).fit(X, y, class_vectors=digits.classes).calibrate_sets(X, y)
    model.save(path)
    return path


@pytest.fixture(scope="module")
def wanted(with_sets, samples):
    model = load(with_sets)
    names = model.unseen_classes_
    return [names[row].tolist() for row in model.predict_set(samples, coverage=0.8, candidates="unseen")]


class TestSets:
    SETS = ("--candidates", "unseen", "--set", "0.8")

    def test_csv_and_jsonl(self, run, with_sets, features, wanted):
        rows = list(csv.DictReader(io.StringIO(run("predict", with_sets, features, *self.SETS).out)))
        assert [row["set"].split(";") for row in rows] == wanted
        assert len({len(one) for one in wanted}) > 1
        lines = run("predict", with_sets, features, *self.SETS, "--format", "jsonl").out.splitlines()
        assert [json.loads(line)["set"] for line in lines] == wanted

    def test_npz_and_parquet(self, run, with_sets, features, wanted, tmp_path):
        run("predict", with_sets, features, *self.SETS, "-o", tmp_path / "named.npz")
        with np.load(tmp_path / "named.npz") as file:
            assert [text.split(";") for text in file["set"].tolist()] == wanted
        parquet = pytest.importorskip("pyarrow.parquet")
        run("predict", with_sets, features, *self.SETS, "-o", tmp_path / "named.parquet")
        assert parquet.read_table(tmp_path / "named.parquet")["set"].to_pylist() == wanted

    @pytest.mark.parametrize("form", ["csv", "jsonl", "npz", "parquet"])
    def test_no_samples(self, run, with_sets, samples, tmp_path, form):
        np.save(tmp_path / "none.npy", samples[:0])
        run("predict", with_sets, tmp_path / "none.npy", *self.SETS, "-o", tmp_path / f"named.{form}")
        assert (tmp_path / f"named.{form}").exists()

    def test_a_set_that_is_begun_with_another_coverage(self, run, with_sets, features, tmp_path):
        run("predict", with_sets, features, *self.SETS, "-o", f"{tmp_path}/named/")
        again = run(
            "predict", with_sets, features, "--set", "0.7", *self.SETS[:2], "-o", f"{tmp_path}/named/", code=FAILED
        )
        assert "--coverage" in again.err

    def test_names_with_semicolons_are_quoted(self, tmp_path):
        none = np.empty((1, 1))
        found = Predictions(
            np.arange(1), None, np.array([["a;b"]]), none, none, np.zeros(1, bool), [["a;b", 'c"', "d"]]
        )
        with (tmp_path / "named.csv").open("wb") as file:
            write_predictions(".csv", file, Form(1, False, False, False, False, sets=True), [found], found)
        (row,) = csv.DictReader((tmp_path / "named.csv").read_text().splitlines())
        assert next(csv.reader([row["set"]], delimiter=";")) == ["a;b", 'c"', "d"]

    def test_fit_calibrates_and_says_what_it_can_promise(self, run, tmp_path):
        err = run("fit", "digits", "-o", tmp_path / "m.safetensors", "--calibrate", "--calibrate-sets").err
        model = load(tmp_path / "m.safetensors")
        assert str(model.set_calibration_["unseen"]) in err
        text = " ".join(run("info", tmp_path / "m.safetensors").out.split())
        assert "7 training classes" in text

    def test_mistakes(self, run, model_file, with_sets, features, capsys):
        assert "--calibrate-sets" in run("predict", model_file, features, "--set", "0.9", code=FAILED).err
        assert "coverage must be" in run("predict", with_sets, features, "--set", "90", code=FAILED).err
        assert "2 coverages" in run("predict", with_sets, features, "--set", "0.9", "--set", "0.8", code=FAILED).err
        with pytest.raises(SystemExit):
            main(["predict", str(with_sets), str(features), "--set", "visual"])
        assert "expected a coverage, such as 0.9, or PARAM=VALUE" in capsys.readouterr().err


class TestRejection:
    def test_fit_chooses_thresholds_and_info_tells(self, run, tmp_path):
        run("fit", "digits", "-o", tmp_path / "m.safetensors", "--calibrate-rejection", "0.2")
        text = " ".join(run("info", tmp_path / "m.safetensors").out.split())
        model = load(tmp_path / "m.safetensors")
        assert {group for _, _, group in model.rejection_} == {"seen", "unseen", "all"}
        assert f"unseen {model.rejection_['visual', 'cosine', 'unseen']}" in text
        about = json.loads(run("info", tmp_path / "m.safetensors", "--json").out)["rejection"]
        assert 0 < about["unseen"]["lost"] <= 0.2

    def test_without_thresholds(self, run, model, features):
        message = run("predict", model, features, "--reject", "auto", code=FAILED).err
        assert "jcmspl fit --calibrate-rejection" in message

    def test_a_bad_threshold(self, model_file, features, capsys):
        with pytest.raises(SystemExit):
            main(["predict", str(model_file), str(features), "--reject", "often"])
        assert "expected auto or a number, but got 'often'" in capsys.readouterr().err

    def test_labels_of_several_types(self, run, tmp_path):
        rng = np.random.default_rng(0)
        table = ClassTable([1, "one", 2.5], rng.random((3, 4)))
        X, y = rng.standard_normal((30, 5)), [1, "one"] * 15
        JCMSPL(progress=False).fit(X, y, class_vectors=table).save(tmp_path / "m")
        np.save(tmp_path / "X.npy", X)
        options = ("--reject", "0", "--candidates", "seen")
        run("predict", tmp_path / "m", tmp_path / "X.npy", *options, "-o", tmp_path / "y.npz")
        with np.load(tmp_path / "y.npz") as file:
            assert set(file["labels"].ravel().tolist()) <= {"1", "one", ""}
            assert_array_equal(file["labels"][:, 0] == "", file["rejected"])


class TestLog:
    @pytest.mark.parametrize("options", [["-v"], ["--log-level", "info"]])
    def test_what_starts_and_ends_is_told(self, options, tmp_path):
        err = jcmspl("fit", "digits", "-o", tmp_path / "m.safetensors", *options).stderr
        assert "INFO JCMSPL.fit starts" in err
        assert "DEBUG" not in err

    def test_nothing_unless_it_is_asked_for(self, tmp_path):
        told = jcmspl("fit", "digits", "-o", tmp_path / "m.safetensors").stderr
        assert told.splitlines() == [told.strip()]  # what is used for what, and nothing else
        assert told.startswith("digits: 1,797 samples: ")
