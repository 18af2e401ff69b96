import doctest
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import jcmspl
from jcmspl import _core

PACKAGE = Path(jcmspl.__file__).parent
ROOT = Path(__file__).parents[1]


def test_one_version():
    assert jcmspl.__version__ == importlib.metadata.version("jcmspl") == _core.__version__


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


@pytest.mark.skipif(not (ROOT / "CMakeLists.txt").exists(), reason="not run from a source tree")
def test_the_wheel_is_portable():
    assert "native" not in (ROOT / "CMakeLists.txt").read_text()
    assert "fast-math" not in (ROOT / "CMakeLists.txt").read_text()


@pytest.mark.parametrize("name", [module.name for module in pkgutil.walk_packages(jcmspl.__path__, "jcmspl.")])
def test_examples_of_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
