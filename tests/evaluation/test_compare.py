"""Methods compared on the same data, and what is written of it."""

import csv
import io
import json
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from jcmspl.datasets import Dataset, make_zsl
from jcmspl.evaluation.compare import compare, tunable_methods
from jcmspl.evaluation.comparison_report import Comparison, GeneralizedFigures, Row, Seconds
from jcmspl.methods import RidgeVS
from jcmspl.model_selection.class_search import ClassSearchCV
from jcmspl.model_selection.jcmspl_cv import search_for
from jcmspl.support.names import METHOD_GROUPS

SMALL = {"cv": 2, "extend": 0, "halving": True}


@pytest.fixture(scope="module")
def dataset():
    return make_zsl(700, 20, 10, 8, 4, noise=0.8, random_state=0)


@pytest.fixture(scope="module")
def result(dataset):
    return compare(dataset, ["RidgeVS", "ESZSL", "RPL"], repeats=2, **SMALL)


def row_of(name, unseen=0.5, repeats=()):
    figures = GeneralizedFigures(0.6, unseen / 2, 0.3, 0.25)
    return Row(name, {"alpha": 0.1}, unseen, 0.02, unseen, unseen, figures, list(repeats), Seconds(1.25, 0.5))


@pytest.fixture
def comparison():
    """One that leads by chance, one that is far behind, one that refuses, one that was interrupted."""
    lead = 0.6 + 0.01 * np.random.default_rng(0).standard_normal((3, 10))
    rows = [row_of("=SUM", 0.7, lead[0] + 0.001), row_of("Even", 0.6, lead[1]), row_of("Behind", 0.5, lead[2] - 0.2)]
    rows.append(row_of("Half", 0.4, lead[0][:5]))
    return Comparison("a<b>", 10, 40, 10, True, rows, {"Refused": "needs | binary attributes"}, ["Half", "Slow"])


class TestCompare:
    def test_figures_are_those_of_the_methods(self, result, dataset):
        X, y = dataset.part("trainval")
        model = ClassSearchCV(RidgeVS(), random_state=0, **SMALL).fit(X, y, class_vectors=dataset.classes)
        row = next(row for row in result.rows if row.method == "RidgeVS")
        assert row.parameters == model.best_params_
        assert row.cv_score == model.best_score_
        assert row.unseen == pytest.approx(model.score(*dataset.part("test_unseen"), candidates=dataset.unseen))
        model.calibrate(X, y)
        seen, unseen = (model.score(*dataset.part(part), candidates="all") for part in ("test_seen", "test_unseen"))
        assert row.generalized.harmonic_mean == pytest.approx(2 * seen * unseen / (seen + unseen))

    def test_the_best_model(self, result, dataset):
        """It is chosen on training classes, and is the model of the row."""
        best = max(result.rows, key=lambda row: row.cv_score)
        assert result.best_method == best.method == type(result.best_model).__name__
        accuracy = result.best_model.score(*dataset.part("test_unseen"), candidates=dataset.unseen)
        assert accuracy == pytest.approx(best.unseen)
        assert "best_model" not in json.loads(result.to_json())
        assert all(row.learning_seconds > 0 for row in result.rows)

    def test_the_best_model_without_tuning(self, dataset):
        result = compare(dataset, ["RPL", "FPL"], repeats=2, tune=False, progress=False)
        best = max(result.rows, key=lambda row: np.mean(row.repeats))
        assert result.best_method == best.method
        assert f"{type(result.best_model).__name__}".startswith(best.method[0]) or best.method == "FPL"

    def test_the_best_come_first(self, result):
        assert max(row.unseen for row in result.rows) == result.rows[0].unseen
        assert [len(row.repeats) for row in result.rows] == [2, 2, 2]
        assert result.failures == {}
        assert result.not_run == []

    def test_random_splits_differ_and_are_seeded(self, dataset):
        one, two = (compare(dataset, ["RidgeVS"], repeats=2, **SMALL).rows[0].repeats for _ in range(2))
        assert one == two
        assert one[0] != one[1]

    def test_a_method_of_ones_own(self, dataset):
        result = compare(
            dataset, {"mine": lambda **search: ClassSearchCV(RidgeVS(), {"alpha": 2.0}, **search)}, repeats=0
        )
        assert result.rows[0].parameters == {"alpha": 2.0}

    def test_test_samples_have_no_part_in_the_choice(self, dataset):
        rng = np.random.default_rng(0)
        X, y = np.array(dataset.X), dataset.y.copy()
        rows = dataset.rows("test_unseen")
        X[rows], y[rows] = rng.standard_normal(X[rows].shape), rng.permutation(y[rows])
        other = Dataset(dataset.name, X, y, dataset.classes, dataset.parts)
        for name in ("RidgeVS", "JCMSPL1"):
            one, two = (compare(data, [name], repeats=0, **SMALL).rows[0] for data in (dataset, other))
            assert (one.parameters, one.cv_score) == (two.parameters, two.cv_score)
            assert one.unseen != two.unseen

    def test_one_that_fails_does_not_take_the_others_along(self, dataset):
        def bad(**search):
            raise ValueError("no such thing")

        result = compare(dataset, {"bad": bad, "RPL": tunable_methods()["RPL"]}, repeats=0, **SMALL)
        assert [row.method for row in result.rows] == ["RPL"]
        assert "bad  could not be fitted: no such thing" in result.to_text()
        with pytest.raises(ValueError, match="bad failed: no such thing"):
            compare(dataset, {"bad": bad}, repeats=0)

    def test_one_that_fails_on_a_random_split_keeps_its_own(self, dataset):
        made = []

        def fragile(**search):
            if len(made) == 1:
                raise np.linalg.LinAlgError("singular")
            made.append(search)
            return tunable_methods()["RPL"](**search)

        result = compare(dataset, {"fragile": fragile, "FPL": tunable_methods()["FPL"]}, repeats=2, **SMALL)
        assert {row.method: len(row.repeats) for row in result.rows} == {"fragile": 0, "FPL": 2}
        assert list(result.standings) == ["FPL"]
        assert "fragile  could not be fitted to all splits: singular" in result.to_text()

    def test_ctrl_c_stops_it(self, dataset, monkeypatch):
        monkeypatch.setattr(ClassSearchCV, "fit", lambda self, *_, **__: setattr(self, "interrupted_", True))
        with pytest.raises(KeyboardInterrupt):
            compare(dataset, ["RPL", "RidgeVS"], repeats=0)

    def test_ctrl_c_keeps_what_is_done(self, dataset):
        def interrupted(**search):
            raise KeyboardInterrupt

        known = tunable_methods()
        methods = {"RPL": known["RPL"], "slow": interrupted, "FPL": known["FPL"]}
        with pytest.warns(RuntimeWarning, match="interrupted: without slow, FPL"):
            result = compare(dataset, methods, repeats=1, **SMALL)
        assert [row.method for row in result.rows] == ["RPL"]
        assert result.not_run == ["slow", "FPL"]
        assert "Interrupted: slow, FPL had no turn" in result.to_text()

    def test_cheap_methods_come_first(self, dataset, monkeypatch):
        turns = []
        monkeypatch.setattr(
            "jcmspl.evaluation.compare._row", lambda name, *_: turns.append(name) or (row_of(name), None)
        )
        compare(dataset, ["JCMSPL", "ESZSL", "IPL", "FPL", "RPL"], repeats=0)
        assert turns == ["FPL", "IPL", "RPL", "ESZSL", "JCMSPL"]

    def test_groups(self, dataset, monkeypatch):
        monkeypatch.setattr("jcmspl.evaluation.compare._row", lambda name, *_: (row_of(name), None))
        compared = {
            group: {row.method for row in compare(dataset, group, repeats=0).rows} for group in (None, *METHOD_GROUPS)
        }
        assert compared[None] == compared["classical"] == set(tunable_methods()) - compared["networks"]
        assert "DEM" in compared["networks"]
        assert {"JCMSPL", "IPL", "RPL", "TextPrototypes"} <= compared["linear"] <= compared["classical"]

    def test_untuned(self, dataset):
        X, y = dataset.part("trainval")
        model = RidgeVS().fit(X, y, class_vectors=dataset.classes)
        result = compare(dataset, ["RidgeVS", "IPL"], repeats=1, tune=False)
        row = next(row for row in result.rows if row.method == "RidgeVS")
        assert row.unseen == pytest.approx(model.score(*dataset.part("test_unseen"), candidates=dataset.unseen))
        assert row.parameters == {}
        assert "nothing was tuned" in result.to_text()
        assert "held-out classes" not in result.to_text()
        with pytest.raises(ValueError, match="leave cv out"):
            compare(dataset, ["RidgeVS"], tune=False, cv=2)

    def test_seconds_are_measured_where_they_are_asked_for(self, dataset):
        result = compare(dataset, ["FPL"], repeats=0, timed=True, **SMALL)
        assert min(vars(result.rows[0].seconds).values()) > 0
        assert result.tables()["unseen"].header[-2:] == ["fit, s", "prediction, s"]
        assert compare(dataset, ["FPL"], repeats=0, **SMALL).rows[0].seconds is None

    def test_methods_that_draw_are_seeded(self):
        @dataclass(kw_only=True, eq=False, repr=False)
        class Drawing(RidgeVS):
            random_state: Any = None

        assert search_for(Drawing, {}, random_state=7).estimator.random_state == 7
        assert search_for(Drawing, {"random_state": 3}, random_state=7).estimator.random_state == 3
        assert search_for(RidgeVS, {}, random_state=7).estimator.get_params() == RidgeVS().get_params()

    def test_bad_methods(self, dataset):
        with pytest.raises(ValueError, match="no methods to compare"):
            compare(dataset, [])
        with pytest.raises(ValueError, match="no method 'CLIP': choose from JCMSPL"):
            compare(dataset, ["CLIP"])
        assert {"JCMSPL", "FPL", "RPL", "SAE", "ESZSL", "RidgeVS", "IPL", "JCMSPL0", "JCMSPL1"} <= set(
            tunable_methods()
        )


class TestForms:
    def test_tables(self, comparison):
        unseen, among_all = comparison.tables().values()
        assert all(len(row) == len(unseen.header) for row in unseen.rows)
        cells = {row[0]: dict(zip(unseen.header, row, strict=True)) for row in unseen.rows}
        assert cells["=SUM"]["per class"] == "70.0 % *"
        assert [cells[name]["random splits"][-1] for name in ("=SUM", "Even", "Behind")] == ["*", "≈", " "]
        assert cells["=SUM"]["p"] == ""
        assert float(cells["Even"]["p"]) > 0.05 > float(cells["Behind"]["p"])
        assert cells["Behind"]["mean rank"].strip() == "3.0"
        assert cells["Half"]["random splits"] == cells["Half"]["mean rank"] == ""
        assert among_all.header == ["method", "seen", "unseen", "harmonic mean", "AUSUC"]
        assert comparison.as_good_as_the_best == ["=SUM", "Even"]

    def test_a_star_marks_the_best_of_every_column(self, comparison):
        comparison = replace(comparison, rows=[replace(row, cv_score=1 - row.cv_score / 10) for row in comparison.rows])
        tables = comparison.tables()
        assert "* marks the best of every column" in comparison.to_text()
        best = {"mean rank": min, "fit, s": min, "prediction, s": min}
        for table in tables.values():
            for number, name in enumerate(table.header):
                cells = [row[number] for row in table.rows]
                if name in ("method", "p"):
                    assert not any("*" in cell for cell in cells)
                    continue
                values = {cell: float(cell.split()[0]) for cell in cells if cell}
                starred = [cell for cell in values if cell.endswith(" *")]
                assert starred, name
                assert {values[cell] for cell in starred} == {best.get(name, max)(values.values())}, name
                assert all(cell in starred for cell in values if values[cell] == values[starred[0]]), name
        n_stars = sum(cell.endswith(" *") for table in tables.values() for row in table.rows for cell in row)
        body = comparison.to_text().split("\n\n", 1)[1].rsplit("\n\n", 1)[0]
        assert body.count("*") == n_stars
        assert sum(line.count("\\*") for line in comparison.to_markdown().splitlines() if "|" in line) == n_stars
        assert comparison.to_html().count('<span class="mark">*</span>') == n_stars

    def test_what_is_shown_as_equal_is_as_good(self):
        rows = [row_of("A", 0.70001), row_of("B", 0.7), row_of("C", 0.6)]
        table = Comparison("x", 10, 40, 0, True, rows).tables()["unseen"]
        at = table.header.index("per class")
        assert [row[at] for row in table.rows] == ["70.0 % *", "70.0 % *", "60.0 %  "]

    def test_intervals_of_the_datas_own_split(self, dataset):
        result = compare(dataset, ["FPL"], repeats=0, tune=False)
        one = result.rows[0]
        assert one.interval.low < one.unseen < one.interval.high
        assert json.loads(result.to_json())["rows"][0]["interval"] == {
            "low": one.interval.low,
            "high": one.interval.high,
        }
        (cells,) = csv.DictReader(io.StringIO(result.to_csv()))
        assert float(cells["unseen_per_class_low"]) == one.interval.low
        assert "95 % interval" in result.to_html()

    def test_text_and_markdown(self, comparison):
        text, markdown = comparison.to_text(), comparison.to_markdown()
        for form in (text, markdown):
            assert "may be noise" in form
            assert "corrected resampled t-test" in form
            assert "Interrupted: Half, Slow" in form
        assert "  Refused  could not be fitted: needs | binary attributes\n" in text
        assert "| Refused | could not be fitted: needs \\| binary attributes |" in markdown
        assert "a&lt;b&gt;" in markdown

    def test_json(self, comparison):
        data = json.loads(comparison.to_json(), parse_constant=pytest.fail)
        assert [row["method"] for row in data["rows"]] == ["=SUM", "Even", "Behind", "Half"]
        assert list(data["rows"][0]["generalized"]) == ["acc_seen", "acc_unseen", "harmonic_mean", "ausuc"]
        assert [one["differs_from_best"] for one in data["random_splits"]] == [False, False, True]
        assert data["failures"] == {"Refused": "needs | binary attributes"}
        assert data["not_run"] == ["Half", "Slow"]
        assert "Nadeau" in data["test"]

    def test_csv(self, comparison):
        rows = list(csv.DictReader(io.StringIO(comparison.to_csv())))
        assert [row["method"] for row in rows] == ["'=SUM", "Even", "Behind", "Half", "Refused"]  # no formula
        assert [float(rows[1][f"split_{number}"]) for number in range(1, 11)] == comparison.rows[1].repeats
        assert float(rows[2]["mean_rank"]) == 3
        assert (rows[3]["split_5"] != "", rows[3]["split_6"]) == (True, "")
        assert rows[4]["remark"].endswith("binary attributes")
        assert json.loads(rows[0]["parameters"]) == {"alpha": 0.1}
        assert (rows[0]["fit_seconds"], rows[4]["fit_seconds"]) == ("1.25", "")

    def test_page(self, comparison):
        page = comparison.to_html()
        assert "<h1><bdi>Methods on a&lt;b&gt;</bdi></h1>" in page
        assert "Even may be as good as =SUM: the difference may be chance. Behind is worse." in page
        assert (
            '<td>Refused</td><td class="name" colspan="8">could not be fitted: needs | binary attributes</td>' in page
        )
        assert page.count('class="lane"') == len(comparison.rows)
        assert "http:" not in page.replace("http://www.w3.org", "")  # nothing is fetched
        assert "https:" not in page

    @pytest.mark.parametrize("repeats", [0, 1])
    def test_without_splits_nothing_is_claimed(self, comparison, repeats):
        rows = [replace(row, repeats=row.repeats[:repeats]) for row in comparison.rows]
        few = replace(comparison, n_repeats=repeats, rows=rows)
        assert few.as_good_as_the_best == []
        assert "p" not in few.tables()["unseen"].header
        page = few.to_html().split("<script>")[0]
        for form in (few.to_text(), few.to_markdown(), page, few.to_csv(), few.to_json()):
            assert "nan" not in form.lower().replace('nan"', "")
            assert "≈" not in form
        assert "It takes two random splits at least" in few.to_text()
        assert ("drawn once from all classes, everything tuned anew. " in few.to_text()) == (repeats == 1)

    def test_answers(self, comparison):
        seconds = (2, 0.5, 90, 4000)
        rows = [replace(row, learning_seconds=one) for row, one in zip(comparison.rows, seconds, strict=True)]
        tried, won, noise, cost, choice = replace(comparison, rows=rows).answers().values()
        assert tried.startswith(
            "4 methods, which learned from samples of 40 classes and then had to recognise 10 other"
        )
        assert won.startswith("=SUM, with 6")
        assert "points ahead of Even, the next" in won
        assert "may be chance" in noise
        assert "took 2 s for =SUM, from 0.5 s (Even) to 1.1 h (Half) for all" in cost
        assert choice.startswith("=SUM: it was the best on held-out training classes")
        assert "right in 70.0 %, and in 6" in choice
        assert choice.endswith(" % on average over random choices of them.")
        clear = replace(comparison, rows=[comparison.rows[0], comparison.rows[2]])
        assert "larger than chance explains" in clear.answers()["Is the lead noise?"]
        assert comparison.answers()["What does it cost?"] == "It was not measured."

    def test_tables_and_charts_begin_with_the_winner(self, comparison):
        rows = sorted(comparison.rows, key=lambda row: row.method == "=SUM")  # the last of the data's own split
        turned = replace(comparison, rows=rows)
        order = ["=SUM", "Even", "Behind", "Half"]
        assert [row[0] for row in turned.tables()["unseen"].rows] == order
        assert list(turned.chart().methods) == order
        assert [line.split(",")[0] for line in turned.to_csv().splitlines()[1:5]] == ["'=SUM", *order[1:]]
        assert [row[0] for row in replace(turned, n_repeats=0).tables()["unseen"].rows] == [row.method for row in rows]

    def test_leaderboard(self, comparison):
        table = comparison.leaderboard()
        assert list(table["method"]) == ["=SUM", "Even", "Behind", "Half"]
        assert list(table["differs_from_best"][:3]) == [False, False, True]
        assert table["unseen_per_class"].dtype == float
        assert not {"parameters", "split_1"} & set(table)
        assert "mean_rank" not in replace(comparison, n_repeats=0).leaderboard()

    def test_leaderboard_without_pandas(self, comparison, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match="pip install pandas"):
            comparison.leaderboard()

    def test_plot(self, comparison):
        assert comparison.plot().ax_.get_xlabel() == "accuracy on unseen classes, %"

    def test_files(self, comparison, tmp_path):
        for form in ("txt", "md", "json", "csv", "html"):
            comparison.save(tmp_path / f"c.{form}")
            assert (tmp_path / f"c.{form}").read_text() == getattr(
                comparison, {"txt": "to_text", "md": "to_markdown"}.get(form, f"to_{form}")
            )()
        with pytest.raises(FileExistsError):
            comparison.save(tmp_path / "c.md")
        with pytest.raises(ValueError, match=r"is written as .*.csv.*, but the path is"):
            comparison.save(tmp_path / "c.pdf")
