"""Names of classes, data sets and variables are shown so that they can do no harm, and not at any length."""

import csv
import io
import json
import sys

import numpy as np
import pytest

from jcmspl import JCMSPL, ClassTable, evaluate
from jcmspl.cli import main
from jcmspl.datasets import Dataset, DatasetError, load_dataset
from jcmspl.support.shown import (
    aligned,
    listed,
    markdown_table,
    percent_with_error,
    printable,
    quoted,
    shown,
    without_formula,
)
from support.animals import make_zoo

RED, TURNED = "\x1b[31mred", "evil\u202etxt.exe"
NASTY = [RED, TURNED, "two\nlines", "bell\x07", "a\x9bb", "\ufeffmark", "x" * 10**6]


@pytest.mark.parametrize("name", NASTY)
def test_names(name):
    for text in (shown(name), quoted(name), quoted(np.str_(name)), listed([name, name])):
        assert text.isprintable()
        assert len(text) < 140
    assert quoted(np.str_("zero")) == "'zero'"
    assert (quoted(3), quoted(np.int64(3)), quoted("3")) == ("3", "3", "'3'")
    assert printable(RED) == "\\x1b[31mred"
    assert listed("abc", 2) == "a, b, ... (3 in all)"


def test_tables():
    text = aligned(["class", "samples"], [[name, "5"] for name in NASTY[:-1]])
    assert all(line.isprintable() for line in text.splitlines())
    assert len(text.splitlines()) == 2 + len(NASTY[:-1])
    link, cells, page = "[x](javascript:alert(1))", "a|b", "<img src=x>"
    header, _, *rows = markdown_table(
        ["class"], [[link], [cells], [page], ["back\\slash"], [RED], ["*b* https://x"], ["`c`"]]
    )
    assert header == "| class |"
    assert rows == [
        "| \\[x\\](javascript:alert(1)) |",
        "| a\\|b |",
        "| &lt;img src=x&gt; |",
        "| back\\\\slash |",
        "| \\\\x1b\\[31mred |",
        "| \\*b\\* https&#58;//x |",
        "| \\`c\\` |",
    ]


@pytest.fixture(scope="module")
def nasty():
    """A data set whose names are hostile, and a model of it."""
    zoo = make_zoo(n_seen=4)
    link = "[see](javascript:x)"
    names = dict(zip(zoo.table, [*NASTY[:5], "=cmd|' /C calc'!A0", link], strict=True))
    classes = ClassTable(list(names.values()), zoo.table.vectors, [f"{RED} {i}" for i in range(8)])
    y = [names[name] for name in [*zoo.y.tolist(), *zoo.y_new.tolist()]]
    parts = {
        "train": np.arange(1, len(zoo.y)),
        "test_seen": np.arange(1),
        "test_unseen": np.arange(len(zoo.y), len(y)),
    }
    dataset = Dataset(RED, np.vstack([zoo.X, zoo.X_new]), y, classes, parts, source="a\nb")
    return dataset, JCMSPL().fit(dataset.chunks("trainval"), class_vectors=classes)


def test_reports(nasty):
    dataset, model = nasty
    report = evaluate(model, dataset, progress=False)
    explained = str(model.explain(dataset.X[:1], seen_penalty=0.0)[0])
    for text in (report.to_text(), report.to_markdown(), dataset.describe(), repr(dataset), repr(report), explained):
        assert all(line.isprintable() for line in text.splitlines())
    page = report.to_html()
    assert all(line.isprintable() for line in page.split("All figures as JSON")[0].splitlines())
    assert "\\x1b[31m" in page
    assert "](" not in report.to_markdown().replace("\\](", "")
    labels = {row["label"] for row in json.loads(report.to_json())["classes"]}
    assert labels >= set(dataset.unseen)  # exact


def test_predictions(nasty, tmp_path, capsys, monkeypatch):
    dataset, model = nasty
    model.save(tmp_path / "model")
    np.save(tmp_path / "x.npy", dataset.part("test_unseen")[0])
    command = ["predict", str(tmp_path / "model"), str(tmp_path / "x.npy"), "--candidates", "unseen"]

    def printed(*options, code=0):
        assert main([*command, *options]) == code
        return capsys.readouterr()

    formula = "=cmd|' /C calc'!A0"
    unseen = [label for label in dataset.unseen if label.startswith("=")]
    assert unseen == [formula]
    out, err = printed()
    assert f",'{formula}" in out
    assert f",{formula}" not in out
    assert "note: labels that start like a formula get a ' in front (see --exact-labels)" in err
    out, err = printed("--exact-labels")
    assert f",{formula}" in out
    assert err == ""
    out, _ = printed("--json")
    assert f'"{formula}"' in out  # exact

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main([*command[:-1], "all", "--top", "7", "--quiet"]) == 0
    assert all(line.isprintable() for line in sys.stdout.getvalue().splitlines())
    assert "red" in sys.stdout.getvalue()


@pytest.mark.parametrize(
    ("cell", "written"),
    [("=1+1", "'=1+1"), ("@x", "'@x"), ("-x", "'-x"), ("+", "'+"), ("\t=1", "'\t=1"), ("\r=1", "'\r=1")]
    + [(cell, cell) for cell in ("zebra", "-5", "+1.5e3", "-.5", -5, 2.5, "a=b", "")],
)
def test_formulas(cell, written):
    assert without_formula(cell) == written


def test_variables_of_a_file(tmp_path, capsys):
    np.savez(tmp_path / "x.npz", **{RED: np.ones(1), "y" * 10**4: np.ones(1)})
    with pytest.raises(DatasetError) as caught:
        load_dataset(tmp_path / "x.npz")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000
    assert main(["info", str(tmp_path / "x.npz")]) == 1
    assert capsys.readouterr().err.rstrip("\n").isprintable()


def test_a_carriage_return_stays_in_its_cell(tmp_path):
    """A spreadsheet takes one outside of quotes for the end of a line, and what follows for a new cell."""
    zoo = make_zoo(n_seen=4)
    vectors = {f"{name}\r=1": vector for name, vector in zip(zoo.table, zoo.table.vectors, strict=True)}
    JCMSPL().fit(zoo.X, [f"{name}\r=1" for name in zoo.y], class_vectors=vectors).save(tmp_path / "model")
    np.save(tmp_path / "x.npy", zoo.X)
    output = tmp_path / "named.csv"
    command = ["predict", str(tmp_path / "model"), str(tmp_path / "x.npy"), "--candidates", "seen", "--quiet"]
    assert main([*command, "-o", str(output)]) == 0
    with output.open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 1 + len(zoo.X)
    assert all(label in vectors for _, label in rows[1:])


def test_an_error_is_never_shown_as_zero():
    assert percent_with_error(0.614, 0.012) == "61.4 % ± 1.2"
    assert percent_with_error(0.614, 0.0003) == "61.40 % ± 0.03"
    assert percent_with_error(0.614, 1e-9) == "61.40 % ± 0.01"
    assert percent_with_error(0.614, 0.0) == percent_with_error(0.614, float("nan")) == "61.4 %"
