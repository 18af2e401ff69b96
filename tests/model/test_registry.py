"""Facts of methods in the registry."""

import ast
from pathlib import Path
from typing import ClassVar

import pytest
from sklearn.base import clone

from jcmspl import JCMSPL
from jcmspl.methods import RPL, SAE, TextPrototypes
from jcmspl.model import registry
from jcmspl.model.classifier import ZeroShotClassifier
from jcmspl.model.recogniser import LinearRecogniser
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8)
ALIGNED = make_zoo(n_seen=8, n_attributes=20, aligned=True)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", registry.names())
def test_what_is_called_linear_is_one_linear_layer(name):
    method = registry.get(name)
    for zoo in (ZOO, ALIGNED):
        try:
            model = clone(method()).set_params(progress=False).fit(abs(zoo.X), zoo.y, class_vectors=zoo.table)
        except ValueError:
            continue  # it wants samples and class vectors of one encoder, say
        assert isinstance(model.recogniser(candidates="unseen"), LinearRecogniser) == method.LINEAR
        return
    pytest.fail(f"{name} took neither of the data sets")


class Costly(ZeroShotClassifier):
    """A method that is not registered, for it has no paper."""

    NEEDS: ClassVar = "samples"
    GRID: ClassVar = {"seen_penalty": (0.0, 1.0), "temperature": (1.0, 2.0, 3.0)}


def test_cost():
    assert registry.cost(RPL) == 6
    assert registry.cost(SAE) == 6  # one fit serves both spaces
    assert registry.cost(SAE, tuned=False) == 1
    assert registry.cost(JCMSPL) > registry.cost(JCMSPL, {"class_match": 0.0}) > registry.cost(JCMSPL, tuned=False)
    assert registry.cost(Costly) == 6 * registry.cost(Costly, tuned=False) > 6 * registry.cost(RPL, tuned=False)
    assert registry.cost(type("Measured", (Costly,), {"COST": 2.5})) == 15
    unheard_of = type("Other", (Costly,), {"NEEDS": property(lambda self: "samples")})
    assert registry.cost(unheard_of) == registry.cost(Costly)


def test_the_table_is_that_of_the_files():
    folder = Path(registry.__file__).parents[1] / "methods"
    named = {}
    for source in folder.glob("*.py"):
        for node in ast.parse(source.read_text("utf-8")).body:
            assigned = [part for part in getattr(node, "body", []) if isinstance(part, ast.Assign)]
            facts = [target.id for part in assigned for target in part.targets if isinstance(target, ast.Name)]
            if isinstance(node, ast.ClassDef) and "PAPER" in facts:
                named[node.name] = source.stem
    assert named == registry.MODULES
    first, *others = registry.MODULES
    assert first == "JCMSPL"
    assert others == sorted(others, key=str.lower)


def test_kind_and_year():
    assert registry.kind(RPL) == registry.kind(JCMSPL) == "Bilinear"
    assert registry.kind(TextPrototypes) == "ZeroShotClassifier"
    assert registry.kind(type("Named", (TextPrototypes,), {"KIND": "Prototype"})) == "Prototype"
    assert registry.kind(type("Other", (TextPrototypes,), {})) == "ZeroShotClassifier"  # and not another method
    assert (registry.year(RPL), registry.year(JCMSPL)) == (2015, None)
