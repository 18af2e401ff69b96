"""The documentation: links, the API reference, the picture, and what docstrings say of parameters."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
if not DOCS.is_dir():
    pytest.skip("not run from a source tree", allow_module_level=True)

PAGES = [*ROOT.glob("*.md"), *sorted(DOCS.glob("*.md")), ROOT / "bench" / "README.md"]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def page_id(path):
    return path.relative_to(ROOT).as_posix()


def module_of_docs(name, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    module = importlib.import_module(name)
    sys.modules.pop(name)
    return module


@pytest.fixture
def reference(monkeypatch):
    return module_of_docs("reference", monkeypatch)


@pytest.fixture
def picture(monkeypatch):
    return module_of_docs("picture", monkeypatch)


def anchors(page):
    """The anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page):
    """As they are read on GitHub; the build of the site, where warnings are errors, sees to the site."""
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text(encoding="utf-8")):
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page_id(page)} links to {path}"
        if anchor:
            assert anchor in anchors(target), f"{page_id(page)} links to {path}#{anchor}"


class TestReference:
    def test_every_public_name_has_a_page(self, reference, tmp_path):
        reference.write(tmp_path)
        assert {file.stem for file in tmp_path.iterdir()} >= {*reference.public_names(), "index"}

    def test_no_object_has_two_pages(self, reference):
        """Sphinx refuses a second description of the same object."""
        described = [thing for name in reference.public_names() if callable(thing := reference.member(name))]
        assert len({id(thing) for thing in described}) == len(described)

    def test_a_name_that_was_forgotten_is_told(self, reference, monkeypatch):
        monkeypatch.setattr(reference.jcmspl, "__all__", [*reference.jcmspl.__all__, "forgotten"])
        with pytest.raises(ValueError, match=r"no group of docs/reference\.py has: jcmspl\.forgotten"):
            reference.groups()

    def test_a_new_module_is_a_group(self, reference, monkeypatch):
        monkeypatch.setattr(reference, "MODULES", (*reference.MODULES, "jcmspl.evaluation.accuracy"))
        added = reference.groups()["jcmspl.evaluation.accuracy"]
        assert "jcmspl.evaluation.accuracy.ZeroShotScorer" in added
        assert all(name.startswith("jcmspl.evaluation.accuracy.") for name in added)

    def test_a_name_that_is_listed_twice_is_told(self, reference, monkeypatch):
        monkeypatch.setitem(reference.GROUPS, "Again", ("", ("jcmspl.load",)))
        with pytest.raises(ValueError, match=r"in several groups.*jcmspl\.load"):
            reference.groups()

    def test_a_name_that_is_gone(self, reference, monkeypatch, tmp_path):
        (tmp_path / "jcmspl.gone.rst").write_text("")
        reference.write(tmp_path)
        assert not (tmp_path / "jcmspl.gone.rst").exists()

    def test_methods_are_where_they_belong(self, reference):
        groups = reference.groups()
        assert "jcmspl.methods.ESZSL" in groups["Models on statistics"]
        assert "jcmspl.methods.ConSE" in groups["Models on posteriors"]
        assert "jcmspl.methods.ALE" in groups["Models on samples"]


def test_the_first_picture_shows_the_table_of_shots(monkeypatch):
    picture = module_of_docs("clip_picture", monkeypatch)
    assert picture.PICTURE.read_text(encoding="utf-8") == picture.drawn(), "run python docs/clip_picture.py"
    assert [shots for shots, _ in picture.table()["H"]] == ["0", "1", "2", "4", "8", "16"]


def test_the_picture_shows_the_table(picture):
    assert picture.PICTURE.read_text(encoding="utf-8") == picture.drawn(), "run python docs/picture.py"
    assert picture.table()["JCMSPLCV()"].difference == ""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_tells_a_story(path):
    """The build of the site runs them."""
    text = path.read_text(encoding="utf-8")
    assert re.match(r'"""\n.+\n=+\n\n', text), "an example starts with a title in its docstring"
    assert "\n# %%\n" in text
    compile(text, str(path), "exec")


# What numpydoc finds that would mislead a reader; the rest is a matter of taste, or has its rule in ruff.
CHECKS = {
    "GL06": "a section that there is not",
    "GL08": "no docstring",
    "PR01": "parameters that are not told of",
    "PR02": "parameters that there are not",
    "PR10": "no space before a colon, so that the type is taken for the name",
    "SS01": "no summary",
}


def documented(reference):
    """All that the reference tells of: public things, and their methods and properties, those of all models once."""
    told = set()
    for name in (name for names in reference.groups().values() for name in names if name not in reference.CONSTANTS):
        yield name
        thing = reference.member(name)
        for member in reference.vars_of(thing) if inspect.isclass(thing) else ():
            if (text := inspect.getdoc(getattr(thing, member))) not in told:
                told.add(text)
                yield f"{name}.{member}"


def test_docstrings_tell_all_parameters(reference):
    from numpydoc.validate import validate

    public, wrong = set(reference.public_names()), []
    for name in documented(reference):
        if name.endswith("Display.plot"):  # its options are those of each chart
            continue
        found = validate(name)
        thing = reference.member(name) if name in public else None
        must_tell = "Parameters\n---" in found["docstring"] or inspect.isfunction(thing) or hasattr(thing, "fit")
        # a method of a line or two tells its parameters in these; results of calls have attributes
        ignored = set() if must_tell else {"PR01"}
        wrong += [f"{name}: {text}" for code, text in found["errors"] if code in CHECKS.keys() - ignored]
    assert not wrong, "\n".join(wrong)


def test_public_things_have_examples(reference):
    """That they are right, test_package.py sees. Results of calls have no parameters; the gallery has the displays."""
    without = []
    for name in reference.public_names():
        module, thing = name.rpartition(".")[0], reference.member(name)
        if module in ("jcmspl", "jcmspl.datasets", "jcmspl.metrics") and callable(thing):
            text = inspect.getdoc(thing)
            without += [name] if "Parameters\n---" in text and ">>>" not in text else []
    assert not without
