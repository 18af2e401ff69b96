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
    """import jcmspl imports nothing else; each name is there when it is asked for."""

    def test_nothing_is_loaded(self):
        loaded = run("import sys, jcmspl; print(jcmspl.__version__, *sys.modules)").split()
        assert loaded[0] == jcmspl.__version__
        assert {name.partition(".")[0] for name in loaded} & {"numpy", "scipy", "sklearn", "tqdm", "shtab"} == set()
        assert not {"typing", "threading", "importlib.metadata"} & set(loaded)
        ours = {name for name in loaded if name.partition(".")[0] == "jcmspl"}
        assert ours == {"jcmspl", *(f"jcmspl.support{name}" for name in ("", ".lazy", ".version"))}

    @pytest.mark.parametrize("package", ["jcmspl", "jcmspl.core", "jcmspl.methods"])
    def test_the_interpreter_finds_what_type_checkers_read(self, package):
        """Both branches of an __init__.py name the same objects."""
        module = importlib.import_module(package)
        tree = ast.parse(Path(module.__file__).read_text())
        (block,) = [node for node in tree.body if isinstance(node, ast.If)]
        promised = {
            name.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names
        }
        assert set(module.__all__) - {"__version__"} <= set(promised)
        for name, home in promised.items():
            path = f"jcmspl.{name}" if home == "jcmspl" else home
            defined = importlib.import_module(path)
            assert getattr(module, name) is (defined if home == "jcmspl" else vars(defined)[name])
        offered = {name for name in dir(module) if not name.startswith("__")}
        assert offered == set(promised)

    def test_the_top_level_is_small(self):
        assert len(jcmspl.__all__) <= 12

    def test_all_methods_are_there(self):
        assert {name: getattr(jcmspl.methods, name) for name in registry.MODULES} == {
            name: method for name, method in registry.methods().items() if registry.is_own(method)
        }

    @pytest.mark.parametrize("name", ["nonsense", "_nonsense", "__nonsense__"])
    def test_a_name_that_is_not_there(self, name):
        with pytest.raises(AttributeError, match=f"module 'jcmspl' has no attribute '{name}'"):
            getattr(jcmspl, name)
        with pytest.raises(ImportError, match="cannot import name"):
            exec(f"from jcmspl import {name}")

    def test_modules_are_attributes(self):
        code = "import jcmspl; print(jcmspl.datasets.make_zsl, jcmspl.metrics.accuracy, jcmspl.plots, jcmspl.methods)"
        assert "make_zsl" in run(code)

    @pytest.mark.parametrize("package", ["jcmspl", "jcmspl.core", "jcmspl.methods", "jcmspl.exceptions"])
    def test_everything_at_once(self, package):
        code = f"""
from {package} import *
import {package} as package
for name in package.__all__:
    assert globals()[name] is getattr(package, name), name
assert set(package.__all__) <= set(dir(package))
print(*(name for name in globals() if not name.startswith("__")))
"""
        names = set(run(code).split()) - {"package", "name"}
        assert names == set(importlib.import_module(package).__all__) - {"__version__"}

    def test_help(self):
        text = run("import jcmspl; help(jcmspl)")
        assert "class JCMSPL" in text
        assert "jcmspl.methods" in text
        assert "solve_sylvester" in run("import jcmspl; help(jcmspl.core)")

    def test_pickles_of_a_process_that_has_loaded_nothing(self):
        data = pickle.dumps(jcmspl.JCMSPL(class_match=2.0)).hex()
        assert run(f"import pickle; print(pickle.loads(bytes.fromhex('{data}')).class_match)") == "2.0\n"

    def test_many_threads_at_once(self):
        code = """
import importlib, threading
import jcmspl
modules = ["core", "methods", "datasets", "exceptions", "metrics", "plots"]
names = [("jcmspl", name) for name in [*jcmspl.__all__, *modules]]
names += [(f"jcmspl.{module}", name) for module in modules[:2] for name in getattr(jcmspl, module).__all__]
start, found, failed = threading.Barrier(16), {}, []
def resolve(number):
    start.wait()
    try:
        for package, name in names[number:] + names[:number]:
            found.setdefault(name, set()).add(id(getattr(importlib.import_module(package), name)))
    except Exception as error:
        failed.append(error)
threads = [threading.Thread(target=resolve, args=(3 * number,)) for number in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed, failed
assert all(len(ids) == 1 for ids in found.values())
"""
        run(code)


class TestMovedNames:
    """Names that version 0.2 had at the top level work, with a warning."""

    MOVED = tuple((module, name) for module, names in jcmspl._MOVED.items() for name in names.split())

    def test_all_names_of_version_0_2(self):
        for module, name in self.MOVED:
            with pytest.warns(DeprecationWarning, match=rf"jcmspl\.{name} .* use jcmspl\.{module}\.{name}$") as warned:
                value = getattr(jcmspl, name)
            assert value is getattr(getattr(jcmspl, module), name)
            assert [warning.filename for warning in warned] == [__file__]

    def test_an_import_statement_warns_once(self, tmp_path):
        (tmp_path / "mine.py").write_text("\nfrom jcmspl import (\n    JCMSPL, nearest, __version__)\n")
        code = f"""
import sys, warnings
sys.path.insert(0, {str(tmp_path)!r})
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    import mine
print(*(f"{{warning.filename}}:{{warning.lineno}} {{warning.message}}" for warning in warned), sep="\\n")
"""
        (line,) = run(code).splitlines()
        assert re.match(re.escape(str(tmp_path / "mine.py")) + r":[23] jcmspl\.nearest is deprecated", line)

    def test_they_are_not_shown(self):
        names = {name for _, name in self.MOVED}
        assert not names & {*jcmspl.__all__, *dir(jcmspl)}
        loaded = run("from jcmspl import *; import jcmspl; dir(jcmspl); print(*globals())").split()
        assert not names & set(loaded)


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
