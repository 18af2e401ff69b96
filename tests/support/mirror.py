"""Which modules have tests under their own name: ``a/b.py`` in ``tests/a/test_b.py`` or ``tests/a/test_b_topic.py``.

``python tests/support/mirror.py`` lists the modules without and the test files that are named after no module.
"""

from pathlib import Path


def mirrored(package, tests):
    """Compare the files of a package with those of its tests.

    Returns
    -------
    untested : list of str
        Modules without a test file of their name.
    topics : list of str
        Test files that are named after no module.
    """
    modules = {_place(path, package) for path in package.rglob("*.py") if not path.name.startswith("__")}
    files = {_place(path, tests) for path in tests.rglob("test_*.py")}
    named = {file: _modules_of(file, modules) for file in files}
    tested = {module for found in named.values() for module in found}
    untested = [f"{'/'.join(module)}.py" for module in sorted(modules - tested)]
    topics = [
        f"{'/'.join((*folders, 'test_' + name))}.py" for (*folders, name), found in sorted(named.items()) if not found
    ]
    return untested, topics


def _place(path, root):
    """Return the folders and the name of a file, without underscores before it or ``test_``."""
    *folders, name = path.relative_to(root).with_suffix("").parts
    return (*folders, name.removeprefix("test_").lstrip("_"))


def _modules_of(file, modules):
    *folders, name = file
    words = name.split("_")
    return {place for n in range(len(words)) if (place := (*folders, "_".join(words[: n + 1]))) in modules}


if __name__ == "__main__":
    root = Path(__file__).parents[2]
    for title, names in zip(
        ("modules without a test file of their name", "test files named after no module"),
        mirrored(root / "python" / "jcmspl", root / "tests"),
        strict=True,
    ):
        print(f"{len(names)} {title}:", *names, sep="\n  ")
