"""The pages of the API reference: a page for each public name, in groups.

A public name in no group ends the build, and so does a name that is listed but does not exist.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import jcmspl
from jcmspl.model import registry
from jcmspl.model.posteriors import PosteriorMethod

#: The public modules.
MODULES = ("jcmspl", *(f"jcmspl.{module}" for module in jcmspl._MODULES))
#: The groups, each with the text above its table. Braces stand for a group of methods, or all names of a module.
GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "The model": (
        "The model of the package, and the reduced forms of it that its paper compares it with.",
        (
            "jcmspl.JCMSPL",
            "jcmspl.methods.IPL",
            "jcmspl.methods.JCMSPL0",
            "jcmspl.methods.JCMSPL1",
            "jcmspl.load",
        ),
    ),
    "Models on statistics": (
        "They read samples once, in a stream if need be; every fit works on sums over them. Their calls are those of "
        ":class:`~jcmspl.JCMSPL`.",
        ("{statistics}",),
    ),
    "Models on posteriors": (
        "They estimate the probability that a sample is of each training class, or has each attribute, first.",
        ("{posteriors}",),
    ),
    "Models on samples": (
        "They read the samples themselves, block by block, as often as they need to.",
        ("{samples}",),
    ),
    "Searches": (
        "Parameters chosen by cross-validation over classes.",
        ("jcmspl.JCMSPLCV", "jcmspl.ClassSearchCV", "jcmspl.ClassKFold"),
    ),
    "Data": (
        "Class vectors by name; loaders of the field's files and of your own.",
        ("jcmspl.ClassTable", "{jcmspl.datasets}"),
    ),
    "Evaluation": (
        "One call for a report, one for a comparison of methods; metrics, and scorers for scikit-learn.",
        (
            "jcmspl.evaluate",
            "jcmspl.evaluation.zero_shot_report.Report",
            "jcmspl.evaluation.base_to_new.BaseToNew",
            "jcmspl.compare",
            "jcmspl.explore",
            "jcmspl.evaluation.comparison_report.Comparison",
            "{jcmspl.metrics}",
        ),
    ),
    "Checks of data": (
        "Wrong labels, class vectors that do not fit, near-duplicates and leaks.",
        ("{jcmspl.checks}",),
    ),
    "Displays": (
        "Charts in the manner of scikit-learn's displays. They need matplotlib: ``pip install 'jcmspl[plots]'``.",
        ("{jcmspl.plots}",),
    ),
    "Results of models": (
        "Objects that methods of models return.",
        (
            "jcmspl.model.recogniser.LinearRecogniser",
            "jcmspl.model.explanation.Explanation",
            "jcmspl.model.adaptation.Adaptation",
        ),
    ),
    "Kernels of the compiled core": (
        "Each is usable on its own.",
        ("{jcmspl.core}",),
    ),
    "Errors and warnings": ("", ("{jcmspl.exceptions}",)),
}
# Constants: the docstring of a tuple would describe tuples.
CONSTANTS = {
    "jcmspl.datasets.LAYOUTS": "The layouts of data files that :func:`~jcmspl.datasets.load_dataset` knows.",
    "jcmspl.datasets.PARTS": "The parts of a data set: keys of ``Dataset.parts``.",
}
# Methods of scikit-learn that are the same in every estimator, besides those that set requests.
_NOT_SHOWN = ("get_metadata_routing", "set_output")


def public_names() -> list[str]:
    """Return all public names, with their modules."""
    return [f"{module}.{name}" for module in MODULES for name in _names_of(module) if not name.startswith("__")]


def groups() -> dict[str, list[str]]:
    """Return the full names in each group. A public module that no group mentions becomes a group.

    Raises
    ------
    ValueError
        If a public name is in no group or in several.
    """
    members = {**_methods(), **{module: [f"{module}.{name}" for name in _names_of(module)] for module in MODULES[1:]}}
    found: dict[str, list[str]] = {}
    for title, (_, entries) in GROUPS.items():
        found[title] = []
        for entry in entries:
            found[title] += members[entry[1:-1]] if entry.startswith("{") else [entry]
    listed = [name for names in found.values() for name in names]
    missing = []
    for name in sorted(set(public_names()) - set(listed)):
        module = name.rpartition(".")[0]
        if module in ("jcmspl", "jcmspl.methods"):
            missing.append(name)
        else:
            found.setdefault(module, []).append(name)
    if missing:
        raise ValueError(f"public names that no group of docs/reference.py has: {', '.join(missing)}")
    twice = sorted({name for name in listed if listed.count(name) > 1})
    if twice:
        raise ValueError(f"names that are in several groups of docs/reference.py: {', '.join(twice)}")
    return found


def member(name: str) -> Any:
    """Return the object with a full name."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def write(folder: Path) -> None:
    """Write the pages, and remove those of names that no longer exist."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"index": _index()}
    for title, names in groups().items():
        pages[_stem(title)] = "\n".join([*_table(title, names, "="), ""])
        pages |= {name: _page(name) for name in names}
    for file in folder.glob("*.rst"):
        if file.stem not in pages:
            file.unlink()
    for stem, text in pages.items():
        file = folder / f"{stem}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:  # Sphinx builds only pages that have changed
            file.write_text(text, encoding="utf-8")


def _names_of(module: str) -> list[str]:
    """Return the public names of a module, without those that have their page elsewhere."""
    content = importlib.import_module(module)
    if hasattr(content, "__all__"):
        elsewhere = {"jcmspl": (), "jcmspl.exceptions": jcmspl.__all__}.get(
            module, (*jcmspl.__all__, *jcmspl.exceptions.__all__)
        )
        return [name for name in content.__all__ if name not in elsewhere]
    return [name for name, value in vars(content).items() if not name.startswith("_") and inspect.isclass(value)]


def _methods() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"statistics": [], "posteriors": [], "samples": []}
    for name, method in registry.methods().items():
        if method.__module__.startswith("jcmspl.") and method is not jcmspl.JCMSPL:
            kind = "posteriors" if issubclass(method, PosteriorMethod) else method.NEEDS
            found[kind].append(f"jcmspl.methods.{name}")
    return {kind: sorted(names, key=str.lower) for kind, names in found.items()}


def _index() -> str:
    """Return the page with the tables of all groups; the navigation lists the names below their group."""
    lines = ["API reference", "=============", "", "The public names of ``jcmspl``, by purpose.", ""]
    lines += [".. toctree::", "   :hidden:", "", *(f"   {_stem(title)}" for title in groups()), ""]
    for title, names in groups().items():
        lines += [line for line in _table(title, names, "-") if ":toctree:" not in line]
    return "\n".join(lines)


def summary(thing: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _stem(title: str) -> str:
    return "group-" + title.lower().replace(" ", "-")


def _table(title: str, names: list[str], underline: str) -> list[str]:
    """Return a heading, the text of the group, and a table of its names."""
    options = ["   :toctree: .", "   :nosignatures:"]
    rows = [f"   {name}" for name in names]
    said = GROUPS[title][0] if title in GROUPS else summary(importlib.import_module(title))
    return [title, underline * len(title), "", said, "", ".. autosummary::", *options, "", *rows, ""]


def _page(name: str) -> str:
    module, _, last = name.rpartition(".")
    lines = [last, "=" * len(last), "", f".. currentmodule:: {module}", ""]
    thing = member(name)
    if inspect.isclass(thing):
        lines += [*_first_parameters(thing), f".. autoclass:: {last}", "", *_methods_of(thing)]
    elif name in CONSTANTS:
        lines += [f".. py:data:: {last}", f"   :value: {thing!r}", "", f"   {CONSTANTS[name]}", ""]
    else:
        lines += [f".. autofunction:: {last}", ""]
    return "\n".join(
        [*lines, f".. minigallery:: {name}", "   :add-heading: Examples of its use", "   :heading-level: -"]
    )


def _first_parameters(thing: type[Any]) -> list[str]:
    """Return the parameters of a method that matter most: those that a search tries, then those that suit the data."""
    if thing not in registry.methods().values():
        return []
    first = ["space", "class_kernel", "cosine_share"] if thing is jcmspl.JCMSPL else list(thing.GRID)
    known = inspect.signature(thing).parameters
    names = [name for name in dict.fromkeys([*first, "class_kernel", "feature_normalisation"]) if name in known][:3]
    lines = [".. rubric:: The parameters that matter most", ""]
    for name in names:
        described = re.search(
            rf"^(?:\w+, )*{name}(?:, \w+)* : (.*)\n((?:    .*\n|\n)*)", inspect.getdoc(thing) or "", re.M
        )
        if described:
            text = re.match(r".{0,20}.*?(?=[.:;](\s|$)|$)", " ".join(described[2].split()))
            lines.append(f"- ``{name}`` ({described[1]}): {text[0].rstrip('.') if text else ''}.")
    return [*lines, ""]


def _methods_of(thing: type[Any]) -> list[str]:
    """Return the methods and properties of a class; those that all models share link to the page of JCMSPL."""
    names = sorted(vars_of(thing))
    is_another_model = thing in registry.methods().values() and thing is not jcmspl.JCMSPL
    shared = [name for name in names if is_another_model and _same(thing, name)]
    lines: list[str] = []
    for name in names:
        if name not in shared:
            kind = "method" if callable(getattr(thing, name)) else "property"
            lines += [f"   .. auto{kind}:: {name}", ""]
    if shared:
        links = ", ".join(f":meth:`~jcmspl.JCMSPL.{name}`" for name in shared if callable(getattr(thing, name)))
        lines += ["   .. rubric:: Methods of every model", "", f"   {links}.", ""]
    return lines


def vars_of(thing: type[Any]) -> list[str]:
    """Return the names of the public methods and documented properties of a class."""
    if issubclass(thing, Exception):
        return []
    attributes = inspect.getdoc(thing) or ""
    found = []
    for name in dir(thing):
        static = inspect.getattr_static(thing, name)
        is_property = isinstance(static, property) or type(static).__name__ == "cached_property"
        if name.startswith("_") or name in _NOT_SHOWN or name.endswith("_request"):
            continue
        if is_property and f"\n{name} :" in attributes:
            continue  # documented by the class
        if is_property or (callable(getattr(thing, name)) and not inspect.isclass(static)):
            found.append(name)
    return found


def _same(thing: type[Any], name: str) -> bool:
    """Whether a method has the docstring of the same method of JCMSPL."""
    return inspect.getdoc(getattr(thing, name)) == inspect.getdoc(getattr(jcmspl.JCMSPL, name, None))
