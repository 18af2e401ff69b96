"""tests/ has the folders of the package, and test files are named after its modules."""

from pathlib import Path

import jcmspl
from support.mirror import mirrored

PACKAGE, TESTS = Path(jcmspl.__file__).parent, Path(__file__).parent
# Folders that have no counterpart in the package.
OTHERS = {"fuzz", "golden", "scale"}


def test_modules_and_topics_are_told_apart(tmp_path):
    package, tests = tmp_path / "package", tmp_path / "tests"
    for path in ("one.py", "a/__init__.py", "a/two.py", "a/_three.py", "a/two_more.py", "b/four.py"):
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text("")
    for path in ("test_one.py", "a/test_two_topic.py", "a/test_three.py", "a/test_four.py", "a/helpers.py"):
        (tests / path).parent.mkdir(parents=True, exist_ok=True)
        (tests / path).write_text("")
    assert mirrored(package, tests) == (["a/two_more.py", "b/four.py"], ["a/test_four.py"])


def test_folders_are_those_of_the_package():
    folders = {path.name for path in TESTS.iterdir() if any(path.glob("*.py"))}
    assert folders - OTHERS <= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def test_every_method_has_a_test_file():
    untested, _ = mirrored(PACKAGE, TESTS)
    assert [name for name in untested if name.startswith("methods/")] == []
