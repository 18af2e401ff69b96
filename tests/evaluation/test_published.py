"""Published figures, from a file that may not be there."""

import json
from dataclasses import replace

import pytest

from jcmspl.evaluation import published
from jcmspl.evaluation.experiment_report import ExperimentData, Experiments, Tuned
from jcmspl.evaluation.published import Literature
from jcmspl.io.json_text import from_data

LINES = """\
method,year,dataset,split,setting,metric,features,value,source,check
DAP,2009,CUB,PS,zsl,per-class top-1,ResNet101,40.0,survey <b>,cross-checked
ESZSL,2015,CUB,PS,zsl,per-class top-1,ResNet101,53.9,survey <b>,read
LSD,2019,CUB,SS,zsl,top-1,VGG19,58.5,a table,read
DAP,2009,CUB,PS,gzsl,unseen (ts),ResNet101,1.7,survey <b>,cross-checked
DAP,2009,CUB,PS,gzsl,seen (tr),ResNet101,67.9,survey <b>,cross-checked
DAP,2009,CUB,PS,gzsl,H,ResNet101,3.3,survey <b>,recalled
SAE,2017,AWA1,SS,zsl,top-1,GoogLeNet,84.7,a table,read
SAE,2017,AWA2,SS,zsl,top-1,GoogLeNet,80.7,a table,recalled
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "published.csv").write_text(LINES)
    monkeypatch.setenv("JCMSPL_DATA", str(tmp_path))
    return tmp_path


def test_tables(folder):
    literature = Literature.of("birds", "CUB")
    standard, generalized = literature.tables().values()
    survey = ["PS", "ResNet101"]
    assert standard.rows == [
        ["ESZSL", "2015", *survey, "per-class top-1", "53.9 %", "read", "1"],
        ["DAP", "2009", *survey, "per-class top-1", "40.0 %", "cross-checked", "1"],
        ["LSD (not identified)", "2019", "SS", "VGG19", "top-1", "58.5 %", "read", "2"],
    ]
    assert generalized.rows == [
        ["DAP", "2009", *survey, "67.9 %", "1.7 %", "3.3 %", "recalled, cross-checked", "1"],
    ]
    assert literature.sources == ["survey <b>", "a table"]


@pytest.mark.parametrize(
    ("name", "paper", "found"),
    [("awa2", "AwA", 80.7), ("AwA", "AwA", 84.7), ("animals", "AwA", 84.7), ("AWA1", None, 84.7)],
)
def test_names_of_data_sets(folder, name, paper, found):
    assert [figure.value for figure in Literature.of(name, paper).figures] == [found]


def test_where_there_are_none(folder, monkeypatch):
    assert Literature.of("digits", None).none == "published/published.csv has no figures for digits."
    monkeypatch.setenv("JCMSPL_DATA", str(folder / "published"))
    assert "has no published/published.csv" in Literature.of("CUB", "CUB").none
    monkeypatch.delenv("JCMSPL_DATA")
    assert "JCMSPL_DATA, which is not set" in Literature.of("CUB", "CUB").none


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("check\n", "mark\n", "published.csv has no column 'check'"),
        (
            "40.0",
            "forty",
            "line 2: the year must be a whole number and the value a percentage, but they are '2009' and",
        ),
        ("40.0", "nan", "line 2: the year"),
        ("ResNet101,40.0,survey <b>,cross-checked", "", "line 2: the year"),
    ],
)
def test_a_damaged_file(folder, old, new, message):
    (folder / "published" / "published.csv").write_text(LINES.replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        Literature.of("CUB", "CUB")


def test_the_page_shows_them_with_their_marks(folder):
    about = ExperimentData(
        "cub", "", "CUB", 150, 50, 312, 64, dict.fromkeys(("trainval", "test_seen", "test_unseen"), 1)
    )
    results = Experiments(about, Tuned({}, 0.5, 0.1), [], [], [], {}, [], {}, Literature.of("cub", "CUB"))
    page = results.to_html()
    for part in ("<td>cross-checked</td>", "not looked up", "<li>survey &lt;b&gt;</li>", "LSD (not identified)"):
        assert part in page
    assert "69.9 and 1.8 give 3.5" in page
    assert "the same as SJE; its authors report 82.8 on AwA and 59.5 on CUB" in page
    assert "Only rows with the same split and features can be ranked" in page
    assert results.tables()["published"][0]["check"] == "cross-checked"
    assert from_data(Experiments, json.loads(results.to_json())) == results
    without = replace(results, literature=Literature(none="There are none."))
    assert "<p>There are none.</p>" in without.to_html()
    assert "f-CLSWGAN" in without.to_html()  # what the package knows itself


def test_remarks_on_the_papers_own_tables():
    remarks = {
        (data, method): published.remark_on(*shares)
        for data, rows in published.GENERALIZED.items()
        for method, shares in rows.items()
    }
    assert {place: remark for place, remark in remarks.items() if remark} == {
        ("CUB", "ConSE"): "69.9 and 1.8 give 3.5",
        ("AwA", "JCMSPL"): "48.3 and 56.4 give 52.0, which rounding may explain",
    }
    assert {row["method"] for row in published.STANDARD if "remark" in row} == {
        "SCoRe",
        "CVA",
        "f-CLSWGAN",
        "LESAE",
        "LSD",
    }


def test_the_real_file(data_folder, monkeypatch):
    if not (data_folder / "published" / "published.csv").is_file():
        pytest.skip("no published/published.csv in the folder of benchmark data")
    monkeypatch.setenv("JCMSPL_DATA", str(data_folder))
    for name in ("CUB", "SUN", "AWA1", "AWA2", "aPY", "ImNet"):
        literature = Literature.of(name, name)
        assert literature.figures
        shown = sum(len(table.rows) for table in literature.tables().values())
        assert 0 < shown <= len(literature.figures)
