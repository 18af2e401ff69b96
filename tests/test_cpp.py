"""The layout of the C++ core: namespaces, and internal headers apart from public ones."""

import re
from pathlib import Path

import pytest

CPP = Path(__file__).parents[1] / "cpp"
NAMED = ("descent", "search", "ranking", "networks")  # folders with a namespace; the others are jcmspl itself
UNITY = ("src/data", "src/descent", "src/linalg", "src/search", "bindings")  # folders compiled as one file
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"^(?!template|//|#|\}|struct|class|using)[\w:][^=;\n]*?\b(\w+)\(", re.MULTILINE)
FILES = sorted(path.relative_to(CPP).as_posix() for path in CPP.rglob("*.[ch]pp"))


def namespaces(text):
    """Return the outermost named namespaces that a file opens."""
    return set(re.findall(r"^namespace (jcmspl[\w:]*) \{", text, re.MULTILINE))


def includes(text):
    return re.findall(r'^#include "(.*)"', text, re.MULTILINE)


def expected_namespace(name):
    part, *folders = name.split("/")
    if part == "bindings":
        return "jcmspl::bindings"
    folder = folders[-2]
    return f"jcmspl::{folder}" if folder in NAMED else "jcmspl"


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("tests/")])
def test_the_folder_names_the_namespace(name):
    found = namespaces((CPP / name).read_text())
    opens_none = name in ("src/support/targets.hpp", "bindings/module.cpp")
    assert found == (set() if opens_none else {expected_namespace(name)})


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith(("include/", "bindings/"))])
def test_public_headers_and_bindings_include_no_internal_header(name):
    public = {path.relative_to(CPP / "include").as_posix() for path in (CPP / "include").rglob("*.hpp")}
    own = {path.name for path in (CPP / "bindings").glob("*.hpp")} if name.startswith("bindings/") else set()
    assert set(includes((CPP / name).read_text())) <= public | own


def test_public_headers_are_those_that_bindings_need():
    """A header that only the core itself includes is internal."""
    needed, found = set(), {name for path in (CPP / "bindings").iterdir() for name in includes(path.read_text())}
    while found - needed:
        needed |= found
        files = [CPP / "include" / name for name in found]
        found = {name for path in files if path.exists() for name in includes(path.read_text())}
    public = {path.relative_to(CPP / "include").as_posix() for path in (CPP / "include").rglob("*.hpp")}
    assert public <= needed


@pytest.mark.parametrize("folder", UNITY)
def test_functions_of_files_that_are_compiled_as_one_have_names_of_their_own(folder):
    """A function of an unnamed namespace would silently become an overload of another file's."""
    files_of = {}
    for path in sorted((CPP / folder).glob("*.cpp")):
        if not path.name.startswith("byte_products"):  # compiled alone
            for name in set(FUNCTION.findall("".join(UNNAMED.findall(path.read_text())))):
                files_of.setdefault(name, []).append(path.name)
    assert len(files_of) > 10
    assert {name: files for name, files in files_of.items() if len(files) > 1} == {}
