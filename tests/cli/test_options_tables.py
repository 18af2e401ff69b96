"""Own data on the command line: every sample is trained on unless some are held out, ids, and missing values."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from jcmspl import load
from jcmspl.cli import main
from jcmspl.datasets import load_arrays, load_dataset, make_zsl
from jcmspl.methods import RPL

HOLES = [(7, 2), (57, 0), (107, 2)]


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table with semicolons and decimal commas, ids, texts, labels and missing values, and class vectors."""
    monkeypatch.chdir(tmp_path)
    data = make_zsl(275, 6, 5, 8, 3, random_state=0)
    cells = [[f"{value:.6f}".replace(".", ",") for value in row] for row in np.asarray(data.X)]
    for row, column in HOLES:
        cells[row][column] = "NA"
    lines = ["path;caption;animal;" + ";".join("abcdef")]
    lines += [
        f"img/{i}.jpg;a nice, thing;class {number};" + ";".join(row)
        for i, (number, row) in enumerate(zip(data.class_numbers, cells, strict=True))
    ]
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    vectors = [f"class {i}," + ",".join(map(str, v)) for i, v in enumerate(data.classes.vectors)]
    (tmp_path / "c.csv").write_text("name,p,q,r,s,t\n" + "\n".join(vectors))
    return data


OWN = ["t.csv", "--labels", "animal", "--classes", "c.csv", "--ignore", "caption"]


def run(capsys, *arguments, code=0):
    """Run a command and return what it printed, and its messages."""
    assert main([str(argument) for argument in arguments]) == code
    printed = capsys.readouterr()
    return printed.out, printed.err


def test_all_samples_are_trained_on_and_that_is_told(table, capsys):
    out, err = run(capsys, "fit", *OWN, "--impute", "mean", "-o", "m", "--json")
    data = json.loads(out)
    assert data["samples"] == {"all": 275, "trained_on": 275, "test_seen": 0, "test_unseen": 0, "unused": 0}
    assert data["n_imputed"] == len(HOLES)
    assert "t: 275 samples: all to train on, none held out" in err
    assert "3 missing values, in 3 of the training samples and 2 of the features" in err
    assert run(capsys, "fit", *OWN, "--impute", "mean", "-o", "m", "--force", "--quiet")[1] == ""
    assert len(load("m").classes_) == 11


def test_what_is_held_out_is_asked_for(table, capsys):
    held_out = ["--unseen", "0.2", "--hold-out", "0.2", "--seed", "3"]
    out, err = run(capsys, "fit", *OWN, "--impute", "mean", *held_out, "-o", "m", "--json")
    samples = json.loads(out)["samples"]
    assert samples["trained_on"] + samples["test_seen"] + samples["test_unseen"] == samples["all"] == 275
    assert samples["trained_on"] == 180
    assert "180 to train on, 45 held out of the same classes (test_seen), 50 of 2 unseen classes (test_unseen)" in err
    # the values are those of what was trained on
    data = load_arrays(
        "t.csv", "animal", class_vectors="c.csv", ignore=["caption"], unseen=0.2, random_state=3, missing=True
    ).held_out(0.2, 3)
    np.testing.assert_allclose(load("m").imputed_values_, np.nanmean(data.part("trainval")[0], axis=0))
    out, err = run(capsys, "evaluate", "m", *OWN, *held_out, "--json")
    assert json.loads(out)["dataset"]["samples"] == {"trainval": 180, "test_seen": 45, "test_unseen": 50}
    assert "180 to train on" in err
    run(capsys, "explore", "m", *OWN, *held_out, "-o", "page.html")
    assert Path("page.html").exists()
    again, err = run(capsys, "evaluate", "m", *OWN, "--json")
    assert json.loads(again)["results"] == json.loads(out)["results"]
    assert "so the test uses the samples that the model was not trained on" in err
    run(capsys, "fit", *OWN, "--impute", "mean", "-o", "all")
    _, err = run(capsys, "evaluate", "all", *OWN, code=1)
    assert "data set t has no samples to test with: the model was trained on all of them" in err


def test_compare_says_what_it_holds_out(table, capsys):
    options = ["--impute", "zero", "--methods", "RPL", "--repeats", "0", "--untuned"]
    _, err = run(capsys, "compare", *OWN, *options)
    assert "so 20% of the classes are held out to test with (--unseen, --split)" in err
    assert "note: 20% of the samples of seen classes are held out to test with (--hold-out)" in err
    assert "180 to train on, 45 held out of the same classes (test_seen), 50 of 2 unseen classes" in err
    out, err = run(capsys, "compare", *OWN, *options, "--unseen", "0.4", "--hold-out", "0.1", "--json")
    assert "note" not in err
    assert "of 4 unseen classes" in err
    samples = json.loads(out)["samples"]
    assert samples["test_seen"] == pytest.approx(0.1 * (samples["trained_on"] + samples["test_seen"]), abs=4)


def test_tune_tells_too(table, capsys):
    options = ["--impute", "mean", "--model", "ESZSL", "--set", "visual_penalty=1", "--set", "semantic_penalty=1"]
    out, err = run(capsys, "tune", *OWN, *options, "--folds", "2", "--json", "-o", "m")
    assert json.loads(out)["samples"]["trained_on"] == 275
    assert "all to train on" in err
    assert np.isfinite(load("m").imputed_values_).all()


def test_predictions_use_the_values_of_the_training_samples(table, capsys):
    run(capsys, "fit", *OWN, "--impute", "mean", "-o", "imputing")
    out, err = run(capsys, "predict", "imputing", "t.csv", "--ignore", "caption", "--ignore", "animal")
    assert "3 missing values were replaced by the values stored in the model" in err
    model = load("imputing")
    X = load_arrays("t.csv", "animal", class_vectors="c.csv", ignore=["caption"], missing=True).X
    assert np.isnan(X).sum() == len(HOLES)
    filled = np.where(np.isnan(X), model.imputed_values_, X)
    found = [line.rpartition(",")[2] for line in out.splitlines()[1:]]
    assert found == model.predict(filled).tolist()
    # a model that was trained on samples without missing values refuses them
    Path("whole.csv").write_bytes(Path("t.csv").read_bytes().replace(b"NA", b"0,5"))
    run(capsys, "fit", "whole.csv", *OWN[1:], "-o", "plain")
    _, err = run(capsys, "predict", "plain", "t.csv", "--ignore-text", code=1)
    assert "t.csv: line 9 has no value in the column 'c' ('NA'): fill it in, or train a model with" in err


def test_ids_stand_in_predictions(table, capsys):
    run(capsys, "fit", *OWN, "--impute", "mean", "-o", "m")
    samples = ["predict", "m", "t.csv", "--ignore-text"]
    out, _ = run(capsys, *samples)
    assert out.splitlines()[0] == "path,row,label"
    assert out.splitlines()[9].startswith("img/8.jpg,8,")
    out, _ = run(capsys, *samples, "--id", "caption")
    assert out.splitlines()[1].startswith('"a nice, thing",0,')
    run(capsys, *samples, "-o", "named.npz")
    with np.load("named.npz") as file:
        assert file["path"].tolist() == [f"img/{i}.jpg" for i in range(275)]
    # from the field's own layout, too
    run(capsys, "convert", *OWN, "--impute", "mean", "--unseen", "0.2", "-o", "mat", "--to", "xlsa17")
    out, _ = run(capsys, "predict", "m", "mat", "--part", "test_unseen")
    first = next(iter(load_dataset("mat").rows("test_unseen")))
    assert out.splitlines()[0] == "image_file,row,label"
    assert out.splitlines()[1].startswith(f"img/{first}.jpg,{first},")


def test_missing_values_in_a_stream(table, capsys, monkeypatch):
    run(capsys, "fit", *OWN, "--impute", "mean", "-o", "m")
    values = load("m").imputed_values_
    whole, holes = ",".join(map(str, values)), ",".join(["", *map(str, values[1:])])
    Path("s.jsonl").write_text(json.dumps(values.tolist()) + "\n" + json.dumps([None, *values[1:].tolist()]) + "\n")
    named = [run(capsys, "predict", "m", "s.jsonl")[0].splitlines()]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{whole}\n{holes}\n".encode())))
    named.append(run(capsys, "predict", "m", "-")[0].splitlines())
    assert named[0] == named[1]
    assert named[0][1].partition(",")[2] == named[0][2].partition(",")[2]
    _, err = run(capsys, "predict", "m", "-", "--id", "path", code=1)
    assert "--id is not available for standard input" in err


def test_missing_values_are_refused_unless_something_takes_their_place(table, capsys):
    _, err = run(capsys, "fit", *OWN, "-o", "m", code=1)
    assert "t.csv: line 9 has no value in the column 'c' ('NA')" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--id", "no"], "t.csv has no column named 'no'"),
        (["--ignore", "99"], "there is no column 99: they count from 1"),
        (["--delimiter", "ab"], "delimiter must be one sign, or one of comma"),
        (["--classes-delimiter", "tab"], "c.csv has a single column"),
    ],
)
def test_mistakes(table, capsys, options, message):
    _, err = run(capsys, "fit", *OWN, *options, "--impute", "mean", "-o", "m", code=1)
    assert message in err
    assert len(err.splitlines()) == 1


def test_options_for_tables_on_other_data(capsys):
    for options in (["--id", "path"], ["--ignore-text"], ["--delimiter", ";"]):
        _, err = run(capsys, "info", "digits", *options, code=1)
        assert f"{options[0]}: only for your own files" in err


def test_a_folder_takes_options(table, tmp_path, capsys):
    folder = tmp_path / "own"
    folder.mkdir()
    (tmp_path / "t.csv").rename(folder / "features.csv")
    (tmp_path / "c.csv").rename(folder / "classes.csv")
    options = ["--labels", "animal", "--ignore-text", "--impute", "zero"]
    out, _ = run(capsys, "info", folder, *options, "--json")
    data = json.loads(out)
    assert data["samples"] == {"train": 275, "val": 0, "test_seen": 0, "test_unseen": 0}
    assert data["ids"] == "path"
    out, _ = run(capsys, "info", folder, *options, "--unseen", "0.2", "--json")
    assert json.loads(out)["samples"]["test_unseen"] == 50


def test_ids_survive_conversion(table, capsys):
    run(capsys, "convert", *OWN, "--impute", "mean", "--unseen", "0.2", "-o", "a.npz")
    run(capsys, "convert", "a.npz", "-o", "mat", "--to", "xlsa17")
    run(capsys, "convert", "mat", "-o", "b.npz")
    with np.load("b.npz") as file:
        assert file["ids"].tolist() == [f"img/{i}.jpg" for i in range(275)]


def reordered(source, target, order):
    """Write the table again with its features in another order."""
    rows = [line.split(";") for line in Path(source).read_text(encoding="utf-8-sig").splitlines()]
    Path(target).write_text("\n".join(";".join([*cells[:3], *(cells[3 + i] for i in order)]) for cells in rows))


@pytest.mark.parametrize("command", ["fit", "tune"])
def test_features_in_another_order_are_refused(table, capsys, command):
    settings = ["--model", "ESZSL", "--set", "visual_penalty=1", "--set", "semantic_penalty=1"]
    run(capsys, command, *OWN, "--impute", "mean", *settings, "-o", "m")
    assert load("m").column_names_ == tuple("abcdef")
    reordered("t.csv", "other.csv", [0, 2, 1, 3, 4, 5])
    sentence = (
        "other.csv has its columns in another order than the samples that the model was trained on: feature 2 was 'b' "
        "and is 'c' here; put them in that order"
    )
    assert sentence in run(capsys, "predict", "m", "other.csv", "--ignore-text", code=1)[1]
    for other in ("evaluate", "explore"):
        output = ["-o", "page.html"] if other == "explore" else []
        _, err = run(capsys, other, "m", "other.csv", *OWN[1:], "--unseen", "0.2", *output, code=1)
        assert sentence in err
    assert not Path("page.html").exists()


def renamed(names):
    text = Path("t.csv").read_text(encoding="utf-8-sig")
    Path("other.csv").write_text(text.replace("a;b;c;d;e;f", ";".join(names), 1))


@pytest.mark.filterwarnings("default:other.csv has columns of other names")
def test_features_of_other_names_are_taken_in_their_order(table, capsys):
    run(capsys, "fit", *OWN, "--impute", "mean", "-o", "m")
    expected, err = run(capsys, "predict", "m", "t.csv", "--ignore-text")
    assert "other names" not in err
    renamed("ghijkl")
    out, err = run(capsys, "predict", "m", "other.csv", "--ignore-text")
    assert "note: other.csv has columns of other names than in training, such as 'g' for 'a': they are taken in" in err
    assert out == expected


@pytest.mark.parametrize(
    ("names", "lacks", "has"), [("abcxef", "'d'", "'x'"), ("bcdefg", "'a'", "'g'"), ("aabcde", "'f'", "'a'")]
)
def test_other_features_among_the_same_ones_are_refused(table, capsys, names, lacks, has):
    run(capsys, "fit", *OWN, "--impute", "mean", "-o", "m")
    renamed(names)
    _, err = run(capsys, "predict", "m", "other.csv", "--ignore-text", code=1)
    assert f"than the samples that the model was trained on: it lacks {lacks}, and has {has} instead; leave" in err


def test_two_features_of_one_name(table, capsys):
    renamed("aabbcd")
    run(capsys, "fit", "other.csv", *OWN[1:], "--impute", "mean", "-o", "m")
    run(capsys, "predict", "m", "other.csv", "--ignore-text")
    renamed("abbacd")
    _, err = run(capsys, "predict", "m", "other.csv", "--ignore-text", code=1)
    assert "in another order than the samples that the model was trained on: feature 2 was 'a' and is 'b' here" in err


@pytest.mark.filterwarnings("default:standard input has columns of other names")
def test_names_of_features_on_standard_input_and_in_parquet_files(tmp_path, monkeypatch, capsys):
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    data = make_zsl(60, 4, 5, 6, 2, random_state=0)
    frame = pd.DataFrame(np.asarray(data.X), columns=list("abcd"))
    frame.assign(label=data.y).to_parquet("t.parquet")
    pd.DataFrame(data.classes.vectors, index=list(data.classes)).to_csv("c.csv")
    run(capsys, "fit", "t.parquet", "--classes", "c.csv", "-o", "m")
    assert load("m").column_names_ == tuple("abcd")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"e,f,g,h\n1,2,3,4")))
    assert "note: standard input has columns of other names than in training" in run(capsys, "predict", "m", "-")[1]
    for order, code in (("abcd", 0), ("abdc", 1)):
        text = frame[list(order)].to_csv(index=False)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        _, err = run(capsys, "predict", "m", "-", code=code)
        assert ("standard input has its columns in another order" in err) == bool(code)
        Path("shards").mkdir(exist_ok=True)
        for part in range(2):
            frame[list(order)][part::2].to_parquet(f"shards/{part}.parquet")
        _, err = run(capsys, "predict", "m", "shards", "--quiet", code=code)
        assert ("has its columns in another order" in err) == bool(code)


def test_a_model_of_a_data_frame_knows_the_order_too(tmp_path, monkeypatch, capsys):
    pd = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    data = make_zsl(60, 4, 5, 6, 2, random_state=0)
    frame = pd.DataFrame(np.asarray(data.X), columns=list("abcd"))
    model = RPL().fit(frame, data.y, class_vectors=data.classes)
    model.save("m")
    frame[list("bacd")].to_csv("t.csv", index=False)
    assert "another order" in run(capsys, "predict", "m", "t.csv", code=1)[1]
    assert "4: 'a', 'b', 'c', 'd'" in run(capsys, "info", "m")[0]
    statistics = model.statistics_
    for fit in (
        lambda: model.fit(frame, data.y, class_vectors=data.classes),
        lambda: model.fit_from_statistics(statistics, model.classes_, class_vectors=data.classes),
    ):
        model.column_names_ = tuple("bacd")  # of the samples before
        fit()
        assert not hasattr(model, "column_names_")
    for wrong in ("abc", [1, 2, 3, 4]):
        model.column_names_ = wrong
        with pytest.raises(ValueError, match="names"):
            model.save("never")
