"""Samples that a report shows: which, with what spoke for them, and their pictures."""

import base64
import io
import json
import sys
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from jcmspl import JCMSPL, ClassTable, evaluate
from jcmspl.datasets import Dataset, make_zsl
from jcmspl.evaluation.zero_shot_report import Report
from jcmspl.methods import ConSE
from jcmspl.report.pages import picture_named, thumbnail


@dataclass(frozen=True, eq=False, repr=False)
class WithIds(Dataset):
    ids: Any = field(default=None, kw_only=True)


def named(dataset, ids, source=""):
    return WithIds(dataset.name, dataset.X, dataset.y, dataset.classes, dataset.parts, source, ids=ids)


def draw(path, number, size=(300, 200)):
    image = Image.new("RGB", size, (40 * number % 255, 120, 200))
    ImageDraw.Draw(image).text((10, 10), str(number), fill="white")
    image.save(path)


@pytest.fixture(scope="module")
def plain():
    return make_zsl(600, 20, 10, 6, 4, noise=1.2, random_state=0)


@pytest.fixture(scope="module")
def model(plain):
    return JCMSPL().fit(*plain.part("trainval"), class_vectors=plain.classes)


@pytest.fixture(scope="module")
def folder(plain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "images").mkdir()
    for row in plain.rows("test_unseen").tolist():
        draw(folder / "images" / f"{row}.png", row)
    return folder


@pytest.fixture(scope="module")
def dataset(plain, folder):
    return named(plain, [f"images/{row}.png" for row in range(plain.n_samples)], str(folder))


@pytest.fixture(scope="module")
def report(model, dataset):
    return evaluate(model, dataset)


def test_names_are_those_of_predictions(report, model, dataset):
    assert len(report.examples) == 24
    assert [one.right for one in report.examples] == [False] * 12 + [True] * 12
    for one in report.examples:
        assert one.id == f"images/{one.row}.png"
        assert one.true == str(dataset.y[one.row])
        assert one.row in dataset.rows("test_unseen")
        (predicted,) = model.predict(dataset.X[one.row : one.row + 1], candidates=dataset.unseen)
        assert one.predicted == str(predicted)
    classes = {one.true for one in report.examples if one.right}
    assert classes == {row.label for row in report.classes if row.kind == "unseen" and row.standard}  # each in turn
    assert len({one.row for one in report.examples}) == 24


def test_reasons_are_those_of_explanations(report, model, dataset):
    for one in (report.examples[0], report.examples[-1]):
        options = {"candidates": dataset.unseen}
        if not one.right:
            by_text = {str(label): label for label in dataset.unseen}
            options |= {"label": by_text[one.predicted], "against": by_text[one.true]}
        (expected,) = model.explain(dataset.X[one.row : one.row + 1], **options)
        assert one.against == str(expected.against)
        assert [(reason.attribute, reason.value) for reason in one.spoke_for] == expected.top(4)
        assert [(reason.attribute, reason.value) for reason in one.spoke_against] == expected.bottom(3)


def test_they_are_seeded_and_kept(report, model, dataset):
    assert evaluate(model, dataset).examples == report.examples
    again = Report.from_json(report.to_json())
    assert again == report
    assert again.to_html() == report.to_html()


def test_pictures_are_in_the_page(report):
    html = report.to_html()
    assert html.count('src="data:image/jpeg;base64,') == 24
    content = html.split('src="data:image/jpeg;base64,')[1].split('"')[0]
    image = Image.open(io.BytesIO(base64.b64decode(content)))
    assert image.size == (192, 128)
    assert html.count("src=") == 24  # nothing else is loaded
    assert "data:image" not in report.to_json()


def test_without_ids_there_are_none(model, plain, report):
    bare = evaluate(model, plain)
    assert bare.examples == []
    assert bare.results == report.results
    assert 'id="examples"' not in bare.to_html()


def test_how_many(model, dataset):
    assert len(evaluate(model, dataset, n_examples=6).examples) == 6
    assert evaluate(model, dataset, n_examples=0).examples == []
    with pytest.raises(ValueError, match="n_examples must be from 0"):
        evaluate(model, dataset, n_examples=-1)


def test_ids_that_are_no_pictures(model, plain):
    found = evaluate(model, named(plain, np.array([f"sample {row}" for row in range(plain.n_samples)])))
    assert {one.picture for one in found.examples} == {None}
    html = found.to_html()
    assert "<img" not in html
    assert found.examples[0].id in html


def test_a_model_that_explains_nothing(plain, dataset):
    conse = ConSE().fit(*plain.part("trainval"), class_vectors=plain.classes)
    found = evaluate(conse, dataset)
    assert len(found.examples) == 24
    if not hasattr(conse, "explain"):
        assert not any(one.spoke_for for one in found.examples)
        assert "what spoke for the name" not in found.to_html()
    kernel = JCMSPL(class_kernel="rbf").fit(*plain.part("trainval"), class_vectors=plain.classes)
    assert not any(one.spoke_for for one in evaluate(kernel, dataset).examples)


def test_the_first_space_is_what_is_shown(model, dataset):
    found = evaluate(model, dataset, spaces=["semantic"])
    recogniser = model.recogniser(candidates=dataset.unseen, space="semantic")
    for one in found.examples:
        assert one.predicted == str(recogniser.predict(dataset.X[one.row : one.row + 1])[0])


def test_where_pictures_are_looked_for(folder, tmp_path, monkeypatch):
    draw(tmp_path / "here.png", 1)
    folders = [folder, tmp_path]
    assert picture_named("here.png", folders) == str((tmp_path / "here.png").resolve())
    assert picture_named(str(tmp_path / "here.png"), [folder]) == str((tmp_path / "here.png").resolve())
    nothing = ["", "x", "gone.png", "a\0b.png", "x" * 5000 + ".png", "https://example.org/x.png", "here.txt"]
    assert [picture_named(name, folders) for name in nothing] == [None] * len(nothing)
    (tmp_path / "folder.png").mkdir()
    assert picture_named("folder.png", folders) is None
    monkeypatch.setattr("jcmspl.report.pages._MOST_BYTES", 10)
    assert picture_named("here.png", folders) is None


def test_damaged_pictures_are_left_out(report, tmp_path):
    damaged = tmp_path / "x.png"
    draw(damaged, 1)
    for content in (b"", b"\x89PNG\r\n\x1a\n", damaged.read_bytes()[:60], b"<svg onload='alert(1)'/>", b"%!PS"):
        damaged.write_bytes(content)
        assert thumbnail(str(damaged)) is None
    assert thumbnail(str(tmp_path / "gone.png")) is None
    first, *rest = report.examples
    html = replace(report, examples=[replace(first, picture=str(damaged)), *rest]).to_html()
    assert html.count("<img") == 23


def test_a_picture_that_unpacks_to_too_much(tmp_path, monkeypatch):
    draw(tmp_path / "x.png", 1)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    assert thumbnail(str(tmp_path / "x.png")) is None


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "1", "LA", "CMYK", "I;16"])
def test_modes_of_pictures(mode, tmp_path):
    path = tmp_path / ("x.jpg" if mode == "CMYK" else "x.png")
    Image.new(mode, (400, 100)).save(path)
    assert thumbnail(str(path)).startswith("data:image/jpeg;base64,")


def test_tiny_pictures_are_enlarged(tmp_path):
    Image.new("L", (8, 8)).save(tmp_path / "digit.png")
    uri = thumbnail(str(tmp_path / "digit.png"))
    assert uri.startswith("data:image/png;base64,")
    assert Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).size == (64, 64)


def test_without_pillow(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert thumbnail(report.examples[0].picture) is None


def test_hostile_ids_and_attributes(model, plain):
    evil = ["<img src=x onerror=alert(1)>\u202e" + "y" * 300] * plain.n_samples
    html = evaluate(model, named(plain, evil)).to_html()
    assert "<img" not in html
    assert "\u202e" not in html
    assert "y" * 100 not in html
    assert json.loads(evaluate(model, named(plain, evil)).to_json())["examples"][0]["id"] == evil[0]


def test_numbers_without_names_explain_nothing(model, dataset):
    """The nearest classes are in their place."""
    table = ClassTable(dataset.classes.labels, dataset.classes.vectors)
    found = evaluate(model, named(replace(dataset, classes=table), dataset.ids))
    for one in found.examples:
        (expected,) = model.predict_topk(dataset.X[one.row : one.row + 1], 3, candidates=dataset.unseen)
        assert [near.label for near in one.nearest] == [str(label) for label in expected]
        assert not one.spoke_for
    assert "nearest classes and their scores" in found.to_html()
