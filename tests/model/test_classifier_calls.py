"""A call of the classifier crosses few modules, and a method derives from few classes."""

import sys
from pathlib import Path

import pytest

import jcmspl
from jcmspl import JCMSPL
from jcmspl.model import registry
from support.animals import make_zoo

ROOT = str(Path(jcmspl.__file__).parent)
ZOO = make_zoo(n_seen=8, n_unseen=4, per_class=10, noise=0.8)


def crossed(call):
    """The modules of this package whose functions begin in a call, in order, each time another one takes over.

    Only beginnings count, not returns: a function that calls two of another module takes over once.
    """
    files = []

    def note(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(ROOT) and (not files or files[-1] != path):
            files.append(path)

    call()  # what is imported or made once
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [Path(path).relative_to(ROOT).as_posix() for path in files]


def test_a_fit_crosses_few_modules():
    path = crossed(lambda: JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table))
    assert len(set(path)) <= 20, sorted(set(path))
    assert len(path) - 1 <= 80, path


def test_a_second_prediction_crosses_six_modules():
    model = JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    path = crossed(lambda: model.predict(ZOO.X_new, candidates="unseen"))
    assert len(set(path)) <= 6, sorted(set(path))
    assert len(path) - 1 <= 13, path


def depth(cls):
    """The number of classes of this package from a class to the root, along the longest way."""
    return 0 if not cls.__module__.startswith("jcmspl.") else 1 + max(map(depth, cls.__bases__))


@pytest.mark.parametrize("method", [one for one in registry.methods().values() if registry.is_own(one)])
def test_a_method_is_at_most_four_classes_from_the_root(method):
    assert depth(method) <= 4
