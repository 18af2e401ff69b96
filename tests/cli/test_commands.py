"""The command line; some commands are run as a user runs them, in a process of their own."""

import csv
import json
import pkgutil
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from jcmspl import JCMSPL, cli, load
from jcmspl.cli._parser import COMMANDS
from jcmspl.datasets import Dataset, load_dataset, load_digits, load_npz, make_zsl, save_npz
from jcmspl.model import registry
from support.command import jcmspl, jcmspl_process


def data_of(*arguments):
    """Return the JSON output of a command."""
    return json.loads(jcmspl(*arguments, "--json").stdout)


class TestHelp:
    def test_without_a_command(self):
        assert "jcmspl demo" in jcmspl_process(code=2).stdout

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_has_examples(self, command):
        text = jcmspl(command, "--help").stdout
        assert f"jcmspl {command}" in text
        assert "examples:" in text
        assert "--debug" in text

    def test_the_table_of_commands_is_whole(self):
        modules = {module.name for module in pkgutil.iter_modules(cli.__path__) if not module.name.startswith("_")}
        assert modules == set(COMMANDS)
        text = jcmspl("--help").stdout
        assert all(re.search(rf"^ +{name}\b", text, re.MULTILINE) for name in COMMANDS)

    def test_version(self):
        import jcmspl as package

        assert package.__version__ in jcmspl_process("--version").stdout

    def test_wrong_usage(self):
        assert "invalid choice" in jcmspl_process("fly", code=2).stderr
        assert "required" in jcmspl("fit", "digits", code=2).stderr


def test_demo(tmp_path):
    result = jcmspl_process("demo", "-o", "digits.html", cwd=tmp_path)
    assert "chance: 33.3 %" in result.stdout
    assert "RidgeVS" in result.stdout
    assert "right: it is a" in result.stdout
    assert "60 to 63 %" in result.stdout  # as test_digits.py sees
    assert "<canvas" in (tmp_path / "digits.html").read_text()
    found = data_of("demo", "--quiet")["accuracies"]
    shares = {way: (one["per_class"], one["harmonic_mean"]) for way, one in found["JCMSPL"].items()}
    zero_shot, one, five, adapted = shares.values()
    assert list(shares) == ["zero-shot", "1 labelled image of each", "5 labelled images of each", "adapted"]
    assert zero_shot[0] > 0.61  # chance is a third
    assert zero_shot[1] > 0.5
    assert adapted[0] > 0.9
    assert adapted[1] > 0.7
    assert zero_shot < one < five
    assert zero_shot[1] < one[1] < five[1]
    assert list(found["RPL"]) == list(shares)
    assert list(found["GDA"]) == ["zero-shot"]  # its prototypes cannot move


def test_fit_is_the_fit_of_the_library(model):
    digits = load_digits()
    expected = JCMSPL().fit(*digits.part("trainval"), class_vectors=digits.classes)
    loaded = load(model)
    np.testing.assert_allclose(loaded.visual_projection_, expected.visual_projection_, rtol=1e-8, atol=1e-12)
    assert loaded.seen_penalty_ > 0
    X, _ = digits.part("test_unseen")
    assert loaded.predict(X, candidates="unseen").tolist() == expected.predict(X, candidates="unseen").tolist()


def test_fit_options(tmp_path):
    path = tmp_path / "m.safetensors"
    options = ["--class-match", "2", "--space", "visual", "--feature-normalisation", "zscore", "--statistics"]
    data = data_of("fit", "digits", "-o", path, *options, "--part", "train", "--quiet")
    assert data["n_seen_classes"] == 5
    loaded = load(path)
    assert (loaded.class_match, loaded.space, loaded.feature_normalisation) == (2, "visual", "zscore")
    assert loaded.statistics_.n_samples == len(load_digits().rows("train"))
    result = jcmspl("fit", "digits", "-o", path, "--max-iter", "2", "--force")
    assert "note: the fit stopped after max_iter=2" in result.stderr


def test_evaluate(model, tmp_path):
    text = jcmspl("evaluate", model, "digits", "-o", tmp_path / "report.html").stdout
    assert "per class" in text
    assert "harmonic mean" in text
    assert "<svg" in (tmp_path / "report.html").read_text()
    data = data_of("evaluate", model, "digits", "--space", "concept", "--hits", "1", "2")
    assert [result["space"] for result in data["results"]] == ["concept"]
    digits = load_digits()
    expected = load(model).recogniser(candidates=digits.unseen, space="concept").predict(digits.part("test_unseen")[0])
    right = expected == digits.part("test_unseen")[1]
    assert data["results"][0]["standard"]["per_sample"] == pytest.approx(right.mean())


class TestPredict:
    def test_csv(self, model, own):
        rows = list(csv.reader(jcmspl("predict", model, own / "features.npy").stdout.splitlines()))
        digits = load_digits()
        assert rows[0] == ["row", "label"]
        assert [row[1] for row in rows[1:]] == load(model).predict(np.asarray(digits.X, dtype=np.float32)).tolist()

    def test_a_part_with_scores(self, model, tmp_path):
        options = ["--part", "test_unseen", "--candidates", "unseen", "--top", "2", "--scores"]
        jcmspl("predict", model, "digits", *options, "-o", tmp_path / "named.csv")
        jcmspl("predict", model, "digits", *options, "-o", tmp_path / "named.npz")
        X, _ = load_digits().part("test_unseen")
        labels, scores = load(model).predict_topk(X, 2, candidates="unseen", return_scores=True)
        with np.load(tmp_path / "named.npz") as named:
            np.testing.assert_array_equal(named["labels"], labels)
            np.testing.assert_allclose(named["scores"], scores)
            np.testing.assert_array_equal(named["row"], load_digits().rows("test_unseen"))
        with open(tmp_path / "named.csv") as file:
            rows = list(csv.DictReader(file))
        assert [row["label_1"] for row in rows] == labels[:, 0].tolist()
        np.testing.assert_allclose([float(row["score_2"]) for row in rows], scores[:, 1], rtol=1e-6)

    def test_other_candidates(self, model, own):
        text = jcmspl("predict", model, own / "features.npy", "--candidates", "two, six").stdout
        assert {line.split(",")[1] for line in text.splitlines()[1:]} == {"two", "six"}
        text = jcmspl("predict", model, own / "features.npy", "--classes", own / "classes.csv").stdout
        assert len({line.split(",")[1] for line in text.splitlines()[1:]}) > 5

    def test_json(self, model, own, tmp_path):
        lines = jcmspl("predict", model, own / "features.npy", "--json", "--top", "2", "--scores").stdout.splitlines()
        first = json.loads(lines[0])
        assert first["row"] == 0
        assert len(first["labels"]) == len(first["scores"]) == 2
        out = tmp_path / "n.csv"
        assert data_of("predict", model, own / "features.npy", "-o", out)["samples"] == 1797

    def test_no_samples(self, model, tmp_path):
        np.save(tmp_path / "empty.npy", np.empty((0, 64)))
        jcmspl("predict", model, tmp_path / "empty.npy", "-o", tmp_path / "out.npz")
        with np.load(tmp_path / "out.npz") as named:
            assert named["labels"].shape == (0, 1)
        assert jcmspl("predict", model, tmp_path / "empty.npy").stdout == "row,label\n"

    def test_names_with_commas(self, own, tmp_path):
        digits = load_digits()
        y = np.where(digits.y == "zero", "a, b", digits.y)
        names = ["a, b" if name == "zero" else name for name in digits.classes]
        table = dict(zip(names, digits.classes.vectors, strict=True))
        JCMSPL().fit(np.asarray(digits.X), y, class_vectors=table).save(tmp_path / "m.safetensors")
        for wanted in ("a, b", '"a, b",one'):
            result = jcmspl("predict", tmp_path / "m.safetensors", own / "features.npy", "--candidates", wanted)
            assert list(csv.reader(result.stdout.splitlines()))[1][1] == "a, b"

    def test_a_reader_that_has_enough(self, model, own):
        command = f"{sys.executable} -m jcmspl predict {model} {own / 'features.npy'} | head -1"
        result = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
        assert result.stdout == "row,label\n"
        assert result.stderr == ""


def test_own_data_from_files_to_a_table(own, tmp_path):
    files = [own / "features.npy", "--labels", own / "labels.txt", "--classes", own / "classes.csv"]
    split = ["--split", own / "split.csv"]
    jcmspl("fit", *files, *split, "-o", tmp_path / "m.safetensors")
    data = data_of("evaluate", tmp_path / "m.safetensors", *files, *split)
    assert data["results"][0]["standard"]["per_class"] > 0.5
    # a folder with these names is a data set by itself
    assert data_of("info", own)["samples"]["test_unseen"] == 539
    jcmspl("fit", *files, "--unseen", "0.3", "--seed", "1", "-o", tmp_path / "n.safetensors")
    assert len(load(tmp_path / "n.safetensors").unseen_classes_) == 3


def test_convert_there_and_back(own, tmp_path):
    jcmspl("convert", own, "-o", tmp_path / "a.npz")
    jcmspl("convert", tmp_path / "a.npz", "-o", tmp_path / "mat", "--to", "xlsa17")
    jcmspl("convert", tmp_path / "mat", "-o", tmp_path / "b.npz")
    first, last, digits = load_npz(tmp_path / "a.npz"), load_npz(tmp_path / "b.npz"), load_digits()
    np.testing.assert_allclose(np.asarray(last.X), np.asarray(digits.X))
    assert last.y.tolist() == first.y.tolist() == digits.y.tolist()
    for part in ("trainval", "test_seen", "test_unseen"):
        np.testing.assert_array_equal(last.rows(part), digits.rows(part))


def test_labels_in_text_files_are_those_of_a_model_with_numbers(tmp_path):
    """ "3" in a CSV file is 3 in a model that was trained with an array of class vectors."""
    data = make_zsl(400, 16, 8, 6, 3, noise=0.3, random_state=0)
    numbers = data.class_numbers
    np.save(tmp_path / "X.npy", np.asarray(data.X))
    np.save(tmp_path / "y.npy", numbers)
    np.save(tmp_path / "classes.npy", data.classes.vectors)
    (tmp_path / "y.txt").write_text("\n".join(map(str, numbers)) + "\n")
    rows = [",".join(map(str, [i, *vector])) for i, vector in enumerate(data.classes.vectors.tolist())]
    (tmp_path / "classes.csv").write_text("name," + ",".join("abcdefgh") + "\n" + "\n".join(rows) + "\n")
    parts = np.full(len(numbers), "unused", dtype=object)
    for part, chosen in data.parts.items():
        parts[chosen] = part
    (tmp_path / "split.csv").write_text("part\n" + "\n".join(parts) + "\n")
    split = ["--split", tmp_path / "split.csv"]
    as_numbers = [tmp_path / "X.npy", "--labels", tmp_path / "y.npy", "--classes", tmp_path / "classes.npy", *split]
    as_text = [tmp_path / "X.npy", "--labels", tmp_path / "y.txt", "--classes", tmp_path / "classes.csv", *split]
    path = tmp_path / "m.safetensors"
    jcmspl("fit", *as_numbers, "-o", path)
    one, two = (data_of("evaluate", path, *files) for files in (as_numbers, as_text))
    assert one["results"] == two["results"]
    named = jcmspl("predict", path, tmp_path / "X.npy", "--classes", tmp_path / "classes.csv", "--candidates", "unseen")
    seen = {str(label) for label in load(path).classes_}
    assert not {line.split(",")[1] for line in named.stdout.splitlines()[1:]} & seen
    # what was trained on is no test, under whatever name
    leak = parts.copy()
    leak[data.rows("train")[:50]], leak[data.rows("test_unseen")] = "unused", "unused"
    leak[numbers == numbers[data.rows("train")[0]]] = "test_unseen"
    (tmp_path / "split.csv").write_text("part\n" + "\n".join(leak) + "\n")
    assert "trained on" in jcmspl("evaluate", path, *as_text, code=1).stderr


def test_a_model_of_some_of_the_seen_classes(tmp_path):
    """Test samples of seen classes that it was not trained on are neither seen nor unseen to it."""
    path = tmp_path / "m.safetensors"
    jcmspl("fit", "digits", "--part", "train", "-o", path)
    data = data_of("evaluate", path, "digits")
    assert data["dataset"]["samples"]["trainval"] == len(load_digits().rows("train"))
    assert data["dataset"]["samples"]["test_seen"] < len(load_digits().rows("test_seen"))
    digits, fitted = load_digits(), load(path)
    X, y = digits.part("test_unseen")
    named = fitted.predict(X, candidates=[*fitted.classes_, *digits.unseen])
    expected = np.mean([np.mean(named[y == label] == label) for label in digits.unseen])
    assert data["results"][0]["generalized"]["acc_unseen"] == pytest.approx(expected)


def test_hold_out(tmp_path):
    digits = load_digits()
    parts = {name: rows for name, rows in digits.parts.items() if name != "test_seen"}
    save_npz(Dataset("few", digits.X, digits.y, digits.classes, parts), tmp_path / "few.npz")
    data = data_of("info", tmp_path / "few.npz", "--hold-out", "0.2")
    assert data["samples"]["test_seen"] > 150
    compared = data_of("compare", tmp_path / "few.npz", "--methods", "FPL", "--repeats", "0")
    assert compared["rows"][0]["generalized"]["harmonic_mean"] > 0


def test_three_classes_give_json(tmp_path):
    digits = load_digits()
    few = ["zero", "one", "three"]
    parts = {"train": np.flatnonzero(np.isin(digits.y, few)), "test_unseen": digits.rows("test_unseen")}
    save_npz(Dataset("three", digits.X, digits.y, digits.classes, parts), tmp_path / "three.npz")
    result = jcmspl("tune", tmp_path / "three.npz", "--json")
    assert json.loads(result.stdout)["best_score"] is None
    assert json.loads(result.stdout)["best_params"]["visual_reconstruction"] == JCMSPL().visual_reconstruction
    assert result.stderr.count("note: ") == 1
    assert jcmspl("tune", tmp_path / "three.npz", "--quiet").stderr == ""
    compared = jcmspl(
        "compare", tmp_path / "three.npz", "--methods", "RPL", "JCMSPL", "--repeats", "0", "--json"
    ).stdout
    assert json.loads(compared)["rows"][0]["cv_score"] is None
    assert "NaN" not in compared


def test_tuning_few_classes_is_prudent():
    data = data_of("tune", "digits", "--quiet")
    assert data["n_splits"] == 15
    assert data["best_params"]["class_match"] == data["best_params"]["visual_reconstruction"] == "inf"
    assert data["best_params"]["semantic_reconstruction"] == 1  # where the search starts
    assert data["best_score"] < data["highest_score"]
    assert data_of("tune", "digits", "--folds", "3", "--choose", "best")["n_splits"] == 3


def test_info(model):
    text = jcmspl("info", model).stdout
    assert "'two'" in text
    assert "JCMSPL" in text
    assert max(map(len, text.splitlines())) <= 100
    assert data_of("info", "digits")["n_attributes"] == 24


def test_info_of_attributes_without_names(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "features.npy", rng.random((12, 3)))
    (tmp_path / "labels.txt").write_text("a\nb\nc\nd\n" * 3)
    (tmp_path / "classes.csv").write_text("a,1,2\nb,2,1\nc,3,3\nd,1,0\n")
    files = (tmp_path / "features.npy", "--labels", tmp_path / "labels.txt", "--classes", tmp_path / "classes.csv")
    text = jcmspl("info", *files, "--classes-header", "no").stdout
    assert "n attributes" in text
    assert not re.search(r"^ *attributes +none", text, re.MULTILINE)


def test_info_of_safetensors_with_features(tmp_path):
    save_file({"embeds": np.ones((4, 3)), "label": np.array([0, 1, 0, 1])}, tmp_path / "samples.safetensors")
    data = data_of("info", tmp_path / "samples.safetensors")
    assert (data["n_samples"], data["n_features"], data["seen_classes"]) == (4, 3, [0, 1])


def test_tune(tmp_path):
    out, grid = tmp_path / "m.safetensors", tmp_path / "grid.csv"
    data = data_of("tune", "digits", "-o", out, "--results", grid, "--halving")
    assert 0 < data["best_score"] <= 1
    assert load(out).space == data["best_params"]["space"]
    assert load(out).class_match == np.inf
    with open(grid) as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == data["n_settings"] > 50
    assert {row["param_class_match"] for row in rows} == {"inf"}
    told = jcmspl("tune", "digits", "--space", "visual", "--folds", "2", "--quiet")
    assert "class_match              inf\n" in told.stdout
    assert "digits" not in told.stderr


def test_compare(tmp_path):
    out = tmp_path / "table.md"
    text = jcmspl("compare", "digits", "--methods", "RidgeVS", "ESZSL", "--repeats", "2", "-o", out).stdout
    assert " *" in text
    assert "random splits" in text
    assert "ESZSL" in out.read_text()
    data = data_of("compare", "digits", "--methods", "RPL", "--repeats", "0")
    assert data["rows"][0]["repeats"] == []
    told = jcmspl("compare", "digits", "--methods", "TextPrototypes", "RPL", "--repeats", "0", "--quiet")
    assert "TextPrototypes  could not be fitted: " in told.stdout
    assert told.stderr == ""


def test_bench():
    shape = ["--samples", "300", "--features", "20", "--attributes", "5", "--classes", "6", "--repeats", "1"]
    data = data_of("bench", *shape)
    assert data["ratio"] == pytest.approx(data["fit_seconds"] / data["gram_seconds"])
    assert "times NumPy's X.T @ X" in jcmspl("bench", *shape).stdout
    assert "a sample for each class" in jcmspl("bench", "--samples", "3", code=1).stderr


class TestCompletion:
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["co"], "compare convert completion"),
            (["fit", "--statis"], "--statistics"),
            (["fit", "digits", "--model", "SA"], "SAE"),
            (["tune", "digits", "--space", "visual", "c"], "concept"),
            (["compare", "digits", "--methods", "JCMSPL1", "IP"], "IPL"),
            (["predict", "own-mod"], "own-model.safetensors"),
            (["fit", "digits", "-o", "own-mod"], "own-model.safetensors"),
            (["embed", "own-fol"], "own-folder"),
            (["embed", "--model", "own-mod"], "own-model.safetensors"),
            (["embed", "pictures", "--normalise", "im"], "imagenet"),
        ],
    )
    def test_bash(self, words, expected, tmp_path):
        if shutil.which("bash") is None:
            pytest.skip("there is no bash")
        (tmp_path / "own-model.safetensors").touch()
        (tmp_path / "own-folder").mkdir()
        line = " ".join(f"'{word}'" for word in ["jcmspl", *words])
        check = f"""
        {jcmspl("completion", "bash").stdout}
        COMP_WORDS=({line}); COMP_CWORD={len(words)}; _shtab_jcmspl; echo ${{COMPREPLY[@]}}"""
        result = subprocess.run(["bash", "-c", check], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert result.stdout.split() == expected.split()
        assert result.stderr == ""

    @pytest.mark.parametrize(
        ("shell", "part"),
        [
            ("zsh", "compdef _shtab_jcmspl"),
            ("fish", '-l model -xka "JCMSPL '),
            ("tcsh", "complete jcmspl"),
        ],
    )
    def test_other_shells(self, shell, part):
        script = jcmspl("completion", shell).stdout
        assert part in script
        assert all(name in script for name in registry.names())
        if shutil.which(shell) is not None:
            subprocess.run([shell, "-n", "/dev/stdin"], input=script, text=True, check=True)


def test_on_real_files(data_folder, tmp_path):
    cub = data_folder / "cub"
    if not cub.is_dir():
        pytest.skip("no cub/ in the folder of benchmark data")
    jcmspl("fit", cub, "-o", tmp_path / "m.safetensors")
    data = data_of("evaluate", tmp_path / "m.safetensors", cub)
    assert data["results"][0]["standard"]["per_class"] > 0.62
    assert len(load_dataset(cub).unseen) == data["dataset"]["n_unseen_classes"] == 50


def test_competing_classes_are_told_of_once(model, tmp_path):
    np.save(tmp_path / "features.npy", np.tile(load_digits().X, (6, 1)))  # more than one chunk
    args = ["predict", model, tmp_path / "features.npy"]
    assert jcmspl(*args).stderr == ""  # it is calibrated for its own metric
    assert jcmspl(*args, "--set", "metric=euclidean").stderr.count("note: seen and unseen classes compete") == 1
    assert jcmspl(*args, "--set", "metric=euclidean", "--candidates", "unseen").stderr == ""
    assert jcmspl(*args, "--set", "metric=euclidean", "--seen-penalty", "0.1", "--quiet").stderr == ""
