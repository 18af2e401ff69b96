import ast
import doctest
import importlib
import importlib.metadata
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jcmspl
from jcmspl import _core
from jcmspl.model import registry

PACKAGE = Path(jcmspl.__file__).parent
ROOT = Path(__file__).parents[1]


def test_one_version():
    assert jcmspl.__version__ == importlib.metadata.version("jcmspl") == _core.__version__


def test_the_versions_of_python_are_told_alike():
    text = (ROOT / "pyproject.toml").read_text()
    named = re.findall(r"Python :: 3\.(\d+)", text)
    assert named == [str(minor) for minor in range(int(named[0]), int(named[-1]) + 1)]
    assert f'requires-python = ">=3.{named[0]}"' in text
    assert re.findall(r"cp3(\d+)-\*", text) == named  # wheels
    assert f'target-version = "py3{named[0]}"' in text


def test_typed():
    assert (PACKAGE / "py.typed").exists()
    assert (PACKAGE / "_core.pyi").exists()


def test_stubs_name_all_that_the_extension_has():
    stub = (PACKAGE / "_core.pyi").read_text()
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert public == set(re.findall(r"^(?:class|def) (\w+)", stub, re.MULTILINE))
    for name in public:
        item = getattr(_core, name)
        if inspect.isclass(item) and not hasattr(item, "__members__"):
            members = {m for m in vars(item) if not m.startswith("_")}
            body = re.search(rf"^class {name}:\n((?: .*\n|\n)*)", stub, re.MULTILINE).group(1)
            assert members == set(re.findall(r"    def ([a-z]\w*)", body)), name


def test_all_is_true():
    assert len(set(jcmspl.__all__)) == len(jcmspl.__all__)
    assert all(hasattr(jcmspl, name) for name in jcmspl.__all__)


def run(code):
    """Run code in a fresh interpreter, where nothing has been imported yet, and return what it printed."""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


class TestLazyImport:
    """import jcmspl takes no time, and nobody can tell the difference otherwise."""

    def test_nothing_is_loaded(self):
        loaded = run("import sys, jcmspl; print(jcmspl.__version__, *sys.modules)").split()
        assert loaded[0] == jcmspl.__version__
        assert {name.partition(".")[0] for name in loaded} & {"numpy", "scipy", "sklearn", "tqdm", "shtab"} == set()
        ours = {name for name in loaded if name.partition(".")[0] == "jcmspl"}
        assert ours == {"jcmspl", "jcmspl.support", "jcmspl.support.hooks", "jcmspl.support.version"}

    def test_the_interpreter_finds_what_type_checkers_read(self):
        """Both lists in __init__.py name the same objects."""
        tree = ast.parse((PACKAGE / "__init__.py").read_text())
        (block,) = [node for node in tree.body if isinstance(node, ast.If)]
        promised = {
            name.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names
        }
        assert set(jcmspl.__all__) - {"__version__"} <= set(promised)
        for name, module in promised.items():
            home = importlib.import_module(module if module != "jcmspl" else f"jcmspl.{name}")
            assert getattr(jcmspl, name) is (home if module == "jcmspl" else getattr(home, name))
        assert set(jcmspl._HOME_OF) <= set(promised)

    def test_all_methods_are_there(self):
        for name, method in registry.methods().items():
            assert getattr(jcmspl, name) is method

    def test_a_method_that_only_the_registry_knows(self, monkeypatch):
        class Mine:
            pass

        monkeypatch.setattr(registry, "names", lambda: ("Mine",))
        monkeypatch.setattr(registry, "get", {"Mine": Mine}.__getitem__)
        assert "Mine" in dir(jcmspl)
        try:
            assert jcmspl.Mine is Mine
        finally:
            vars(jcmspl).pop("Mine", None)

    @pytest.mark.parametrize("name", ["nonsense", "_nonsense", "__nonsense__"])
    def test_a_name_that_is_not_there(self, name):
        with pytest.raises(AttributeError, match=f"module 'jcmspl' has no attribute '{name}'"):
            getattr(jcmspl, name)
        with pytest.raises(ImportError, match="cannot import name"):
            exec(f"from jcmspl import {name}")

    def test_modules_are_attributes(self):
        code = "import jcmspl; print(jcmspl.datasets.make_zsl, jcmspl.metrics.accuracy, jcmspl.plots, jcmspl.methods)"
        assert "make_zsl" in run(code)

    def test_everything_at_once(self):
        code = """
from jcmspl import *
import jcmspl, jcmspl.methods.jcmspl
assert JCMSPL is jcmspl.JCMSPL is jcmspl.methods.jcmspl.JCMSPL
assert callable(evaluate) and evaluate is jcmspl.evaluation.evaluate.evaluate
assert set(jcmspl.__all__) <= set(dir(jcmspl))
"""
        run(code)

    def test_help(self):
        text = run("import jcmspl; help(jcmspl)")
        assert "class JCMSPL" in text
        assert "solve_sylvester" in text

    def test_pickles_of_a_process_that_has_loaded_nothing(self):
        data = pickle.dumps(jcmspl.JCMSPL(class_match=2.0)).hex()
        assert run(f"import pickle; print(pickle.loads(bytes.fromhex('{data}')).class_match)") == "2.0\n"

    def test_many_threads_at_once(self):
        code = """
import threading
import jcmspl
names = [*jcmspl.__all__, "datasets", "metrics", "plots"]
start, found, failed = threading.Barrier(16), {}, []
def resolve(number):
    start.wait()
    try:
        for name in names[number:] + names[:number]:
            found.setdefault(name, set()).add(id(getattr(jcmspl, name)))
    except Exception as error:
        failed.append(error)
threads = [threading.Thread(target=resolve, args=(2 * number,)) for number in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed, failed
assert all(len(ids) == 1 for ids in found.values())
"""
        run(code)


@pytest.mark.skipif(not (ROOT / "CMakeLists.txt").exists(), reason="not run from a source tree")
def test_the_wheel_is_portable():
    assert "native" not in (ROOT / "CMakeLists.txt").read_text()
    assert "fast-math" not in (ROOT / "CMakeLists.txt").read_text()


@pytest.mark.parametrize("name", [module.name for module in pkgutil.walk_packages(jcmspl.__path__, "jcmspl.")])
def test_examples_of_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.skipif(not (ROOT / "bench").is_dir(), reason="not run from a source tree")
def test_the_benchmarks_load():
    subprocess.run([sys.executable, ROOT / "bench" / "table.py", "--help"], check=True, capture_output=True)
