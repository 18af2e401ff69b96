"""A package with methods is installed, and fresh processes find them by their entry points."""

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path

import pytest

from jcmspl.evaluation.compare import compare
from jcmspl.methods import SAE
from jcmspl.model import registry

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
# The module appends to a file when it is imported.
IMPORTED = """
import os
with open(os.environ["IMPORTED"], "a") as file:
    file.write(__name__)
not_a_class = MyMethod()
class WithoutPaper(Bilinear):
    pass
class Elsewhere:
    PAPER = "not a model"
"""
OFFERED = {
    "MyMethod": "zsl_extras:MyMethod",
    "sae": "zsl_extras:MyMethod",
}
BROKEN = {
    "Gone": "zsl_extras.gone:Gone",
    "Missing": "zsl_extras:Missing",
    "Failing": "zsl_extras.failing:Failing",
    "Misnamed": "zsl_extras:MyMethod",
    "not_a_class": "zsl_extras:not_a_class",
    "WithoutPaper": "zsl_extras:WithoutPaper",
    "Elsewhere": "zsl_extras:Elsewhere",
}


def wheel_of(folder, source):
    """Write a wheel as a build of this project would, and return its path.

    [project]
    name = "zsl-extras"
    version = "1.0"
    [project.entry-points."jcmspl.methods"]
    MyMethod = "zsl_extras:MyMethod"
    """
    points = "".join(f"{name} = {target}\n" for name, target in {**OFFERED, **BROKEN}.items())
    files = {
        "zsl_extras/__init__.py": source + IMPORTED,
        "zsl_extras/failing.py": "1 / 0\n",
        "zsl_extras-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: zsl-extras\nVersion: 1.0\n",
        "zsl_extras-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "zsl_extras-1.0.dist-info/entry_points.txt": f"[jcmspl.methods]\n{points}",
    }
    files["zsl_extras-1.0.dist-info/RECORD"] = "".join(f"{name},,\n" for name in files)
    path = folder / "zsl_extras-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return path


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment of a process in which the method of CONTRIBUTING.md is installed as a package of its own."""
    if not CONTRIBUTING.exists():
        pytest.skip("not run from a source tree")
    folder = tmp_path_factory.mktemp("installed")
    wheel = wheel_of(folder, re.search(r"```python\n(.*?)```", CONTRIBUTING.read_text("utf-8"), re.DOTALL)[1])
    if find_spec("pip"):
        options = ["--no-index", "--no-deps", "--quiet", "--disable-pip-version-check", "--target", folder]
        subprocess.run([sys.executable, "-m", "pip", "install", *options, wheel], check=True)
    else:
        zipfile.ZipFile(wheel).extractall(folder)
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": paths, "IMPORTED": str(folder / "imported")}


@pytest.fixture
def jcmspl(environment, tmp_path):
    """Runs the command line in a process of its own, and returns its exit code, output and errors."""

    def run(*arguments):
        command = [sys.executable, "-m", "jcmspl", *arguments]
        result = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )
        return result.returncode, result.stdout, result.stderr

    return run


def test_a_model_is_fitted_saved_loaded_and_tuned(jcmspl):
    code, _, errors = jcmspl("fit", "digits", "--model", "mymethod", "--set", "alpha=0.5", "-o", "m.safetensors")
    assert code == 0, errors
    code, output, _ = jcmspl("info", "m.safetensors", "--json")
    assert code == 0
    assert json.loads(output)["model"] == "MyMethod"
    code, output, errors = jcmspl("tune", "digits", "--model", "MyMethod", "--folds", "2", "--json", "--quiet")
    assert (code, errors) == (0, "")
    assert set(json.loads(output)["best_params"]) == {"alpha"}


def test_it_is_compared_and_broken_methods_are_left_out(jcmspl):
    code, output, errors = jcmspl(
        "compare", "digits", "--methods", "MyMethod,RidgeVS", "--repeats", "0", "--untuned", "--json"
    )
    assert code == 0
    mine, ridge = (row["unseen"] for row in json.loads(output)["rows"])
    assert mine == pytest.approx(ridge)
    notes = [line for line in errors.splitlines() if line.startswith("note:")]
    assert len(notes) == len(BROKEN) + 1
    assert all("zsl-extras" in note and note.endswith("it is left out") for note in notes)


def test_methods_are_listed(jcmspl):
    code, output, errors = jcmspl("methods", "--json")
    assert code == 0
    listed = json.loads(output)
    assert list(listed) == [*registry.MODULES, "MyMethod"]
    assert listed["MyMethod"]["kind"] == "Bilinear"
    assert "the method 'sae' of zsl-extras has a name that jcmspl uses; it is left out" in errors


def test_help_and_completion_import_no_method(jcmspl, environment):
    imported = Path(environment["IMPORTED"])
    before = imported.read_text() if imported.exists() else ""
    assert "MyMethod" in jcmspl("completion", "bash")[1]
    assert jcmspl("fit", "--help")[0] == 0
    assert "did you mean MyMethod?" in jcmspl("fit", "digits", "--model", "MyMetod", "-o", "m.safetensors")[2]
    assert (imported.read_text() if imported.exists() else "") == before


def test_what_is_wrong_with_a_broken_method_is_one_sentence(environment):
    code = """
import json, sys
from jcmspl.model import registry
said = {}
for name in sys.argv[1:]:
    try:
        registry.get(name)
    except ImportError as error:
        said[name] = str(error)
print(json.dumps(said))
"""
    result = subprocess.run(
        [sys.executable, "-c", code, *BROKEN, "SAE"], env=environment, capture_output=True, text=True, check=True
    )
    said = json.loads(result.stdout)
    assert set(said) == set(BROKEN)
    for name, sentence in said.items():
        assert f"the method {name!r} of zsl-extras" in sentence
    assert "cannot be imported (ModuleNotFoundError" in said["Gone"]
    assert "cannot be imported (ZeroDivisionError: division by zero)" in said["Failing"]
    assert "has no attribute 'Missing'" in said["Missing"]
    for name in ("Misnamed", "not_a_class", "WithoutPaper", "Elsewhere"):
        assert f"is not a method: {BROKEN[name]} must be a class of that name" in said[name]


def test_a_command_that_names_a_broken_method_fails(jcmspl, tmp_path):
    code, _, errors = jcmspl("fit", "digits", "--model", "Gone", "-o", "m.safetensors")
    assert code == 1
    assert errors.startswith("jcmspl fit: the method 'Gone' of zsl-extras cannot be imported")
    assert not list(tmp_path.iterdir())


class TestEntryPoints:
    @pytest.fixture
    def offer(self, monkeypatch):
        """Makes entry points the installed ones."""

        def offer(**points):
            found = [EntryPoint(name, value, registry.GROUP) for name, value in points.items()]
            monkeypatch.setattr(registry, "entry_points", lambda group: found)
            registry._entry_points.cache_clear()

        yield offer
        registry._entry_points.cache_clear()

    def test_names_of_the_package_stay_its_own(self, offer):
        offer(SAE="elsewhere:SAE", ipl="elsewhere:ipl", linear="elsewhere:linear")
        assert set(registry.names()) >= set(registry.MODULES)
        assert not {"ipl", "linear"} & set(registry.names())
        with pytest.warns(UserWarning, match="has a name that jcmspl uses; it is left out") as told:
            assert registry.methods()["SAE"] is SAE
        assert len(told) == 3

    def test_the_first_of_two_packages_has_the_name(self, offer):
        offer(Mine="one:Mine", mine="other:mine")
        assert "Mine" in registry.names()
        assert "mine" not in registry.names()

    def test_comparing_a_broken_method(self, offer):
        offer(Mine="no_such_module:Mine")
        with pytest.warns(UserWarning, match="left out"), pytest.raises(ImportError, match="'Mine' of no_such_module"):
            compare(None, ["Mine"])
