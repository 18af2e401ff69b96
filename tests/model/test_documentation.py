"""Docstrings of methods are whole: all parameters and attributes, with types, this method's defaults, and meanings."""

import inspect
from dataclasses import fields

import pytest
from numpydoc.docscrape import NumpyDocString

from jcmspl import JCMSPLCV
from jcmspl.model import registry
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.documentation import ADAPTATION, ATTRIBUTES, PARAMETERS, SOME_ATTRIBUTES, documented
from jcmspl.model.parameters import FittedArray, estimator
from jcmspl.support.calls import ATTRIBUTES as RENAMED
from support.animals import make_zoo

METHODS = [*registry.methods().values(), JCMSPLCV]
ZOO = make_zoo(n_seen=6, n_attributes=6, n_features=12, rectified=True)


def told(cls, section):
    """The entries of a section: names to type and text."""
    entries = NumpyDocString(inspect.getdoc(cls))[section]
    return {name: (entry.type, " ".join(entry.desc)) for entry in entries for name in entry.name.split(", ")}


@pytest.mark.parametrize("cls", METHODS, ids=lambda cls: cls.__name__)
class TestMethods:
    def test_each_parameter_is_described_once(self, cls):
        entries = NumpyDocString(inspect.getdoc(cls))["Parameters"]
        names = [name for entry in entries for name in entry.name.split(", ")]
        assert sorted(names) == sorted(inspect.signature(cls).parameters)
        for name, (kind, text) in told(cls, "Parameters").items():
            assert kind, name
            assert text, name

    def test_defaults_are_its_own(self, cls):
        described = told(cls, "Parameters")
        for field in fields(cls):
            kind = described[field.name][0]
            shown = f'"{field.default}"' if isinstance(field.default, str) else repr(field.default)
            if cls is not JCMSPLCV:  # which tells some of them in words
                assert f"default {shown}" in kind or " and " in kind or (field.default is None and "optional" in kind)

    def test_nothing_is_told_by_reference_to_another_method(self, cls):
        assert "As for" not in cls.__doc__


@pytest.mark.parametrize("cls", registry.methods().values(), ids=lambda cls: cls.__name__)
def test_attributes_are_there(cls):
    described = told(cls, "Attributes")
    for name in described:
        assert name.endswith("_")
    assert {"classes_", "class_table_", "timings_"} <= described.keys()
    assert ("adapted_" in described) == hasattr(cls, "adapt")
    properties = {
        name
        for name, value in inspect.getmembers(cls)
        if isinstance(value, (property, FittedArray)) and name[-1] == "_"
    }
    hidden = {*RENAMED}
    assert {name for name in properties if name[0] != "_"} - hidden <= described.keys()
    model = cls(**({"max_iter": 2, "tol": 0} if {"max_iter", "tol"} <= {f.name for f in fields(cls)} else {}))
    width = {"TextPrototypes": 12, "IdentityRidge": 12}.get(cls.__name__)
    zoo = make_zoo(n_seen=6, n_attributes=12, n_features=12) if width else ZOO
    model.set_params(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
    optional = {"adapted_", "adaptation_constants_", "feature_names_in_", "set_calibration_"}
    assert [name for name in described.keys() - optional if not hasattr(model, name)] == []


def test_a_class_needs_to_describe_only_its_own():
    @estimator
    class Own(ZeroShotClassifier):
        """A method.

        Parameters
        ----------
        strength : float
            How strong it is.
        tol
            Its own meaning.

        Examples
        --------
        >>> 1
        1
        """

        strength: float = 2.0
        tol: float = 0.5
        undescribed: str = "x"

    described = told(Own, "Parameters")
    assert described["strength"] == ("float, default 2.0", "How strong it is.")
    assert described["tol"] == ("float, default 0.5", "Its own meaning.")
    assert described["undescribed"] == ('default "x"', "")
    assert described["seen_penalty"][0] == "float, default 0.0"
    assert Own.__doc__.index("Parameters") < Own.__doc__.index("Attributes") < Own.__doc__.index("Examples")

    @estimator
    class Further(Own):
        """A method that derives from it."""

        strength: float = 3.0

    assert told(Further, "Parameters")["strength"] == ("float, default 3.0", "How strong it is.")


def test_the_tables_are_sections_of_numpydoc():
    for title, table in (("Parameters", PARAMETERS), ("Attributes", SOME_ATTRIBUTES + ATTRIBUTES + ADAPTATION)):
        for entry in NumpyDocString(f"x\n\n{title}\n{'-' * len(title)}\n{table.strip()}\n")[title]:
            assert entry.type, entry
            assert entry.desc, entry


def test_a_class_without_a_docstring_is_told_of_too():
    assert documented(registry.get("FPL")).startswith("Least squares")


def test_the_example_imports_a_method_from_where_it_is():
    @estimator
    class Elsewhere(ZeroShotClassifier):
        """A method of another package."""

        EXAMPLE = "tol=0.1"

    Elsewhere.__module__ = "my_package"
    Elsewhere.__doc__ = "A method of another package."
    assert ">>> from my_package import Elsewhere\n" in documented(Elsewhere)
    assert ">>> model = Elsewhere(tol=0.1).fit(" in documented(Elsewhere)
    assert ">>> from jcmspl.methods import ESZSL\n" in registry.get("ESZSL").__doc__


def test_arrays_of_the_solution_are_attributes_with_their_shapes():
    assert told(registry.get("LATEM"), "Attributes")["maps_"] == (
        "ndarray of shape (n_maps, n_attributes, n_features)",
        "W_k, for normalised samples and class vectors; those that were not dropped.",
    )
    assert told(registry.get("SSE"), "Attributes")["weights_"][0] == "ndarray of shape (n_features,)"


def test_one_map_is_described_as_one():
    assert told(registry.get("RPL"), "Attributes")["visual_projection_"][1] == "W, for normalised samples."
    assert told(registry.get("CCA"), "Attributes")["visual_projection_"][1] == "A."
    assert told(registry.get("RPL"), "Parameters")["space"][0].endswith('default "visual"')
