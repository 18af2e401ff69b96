"""A call of the classifier crosses few modules, and a method derives from few classes."""

import sys
from pathlib import Path

import pytest

import jcmspl
from jcmspl import JCMSPL
from jcmspl.model import registry
from support.animals import make_zoo

ROOT = Path(jcmspl.__file__).parent
ZOO = make_zoo(n_seen=8, n_unseen=4, per_class=10, noise=0.8)


def crossed(call):
    """The modules whose functions run in a call."""
    modules = set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and ROOT in path.parents:
            modules.add(path.relative_to(ROOT).as_posix())

    call()  # what is imported or made once
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return modules


def of_the_model(modules):
    return sorted(name for name in modules if name.startswith(("model/", "methods/")))


def test_a_fit_crosses_nine_modules_of_the_model():
    modules = crossed(lambda: JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table))
    assert len(of_the_model(modules)) <= 9, of_the_model(modules)


def test_a_second_prediction_crosses_two_modules_of_the_model():
    model = JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    modules = crossed(lambda: model.predict(ZOO.X_new, candidates="unseen"))
    assert of_the_model(modules) == ["model/classifier.py", "model/recogniser.py"]
    assert len(modules) <= 6, sorted(modules)


def depth(cls):
    """The number of classes of this package from a class to the root, along the longest way."""
    return 0 if not cls.__module__.startswith("jcmspl.") else 1 + max(map(depth, cls.__bases__))


@pytest.mark.parametrize("method", [one for one in registry.methods().values() if registry.is_own(one)])
def test_a_method_is_at_most_four_classes_from_the_root(method):
    assert depth(method) <= 4
