"""Several threads and one model: nothing is lost, and each reader sees one state of it."""

import copy
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from jcmspl import JCMSPL, ClassSearchCV
from jcmspl.methods import RidgeVS
from jcmspl.support.calls import lock_of
from support.animals import make_zoo
from support.threads import in_threads

ZOO = make_zoo(n_seen=6, noise=0.5)


@pytest.fixture(params=["model", "search"])
def model(request):
    made = RidgeVS() if request.param == "model" else ClassSearchCV(RidgeVS(), {"alpha": (0.1, 1.0)}, cv=2)
    return made.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def test_no_samples_are_lost(model):
    before = model.statistics_.n_samples

    def work():
        for _ in range(20):
            model.partial_fit(ZOO.X[:20], ZOO.y[:20])

    in_threads(*[work] * 4)
    assert model.statistics_.n_samples == before + 4 * 20 * 20


def test_no_classes_are_lost(model):
    def work(number):
        for i in range(20):
            model.add_classes({f"class {number}.{i}": np.full(8, 1 + number + i / 20)})

    in_threads(*(lambda number=number: work(number) for number in range(4)))
    assert {f"class {number}.{i}" for number in range(4) for i in range(20)} <= set(model.unseen_classes_.tolist())


def test_readers_see_a_whole_state(model):
    """Fits to few and to many features and classes in turn: a mixture of the two would fail, or give other scores."""
    few = ZOO.seen[:4]
    chosen = np.isin(ZOO.y, few)
    small = (ZOO.X[chosen], ZOO.y[chosen], ZOO.table.select([*few, *ZOO.unseen]))
    large = (ZOO.X, ZOO.y, ZOO.table)
    expected = []
    for X, y, table in (small, large):
        model.fit(X, y, class_vectors=table)
        expected.append(model.decision_function(ZOO.X_new, seen_penalty=0.0))
    done = threading.Event()

    def fit():
        for number in range(30):
            X, y, table = (small, large)[number % 2]
            model.fit(X, y, class_vectors=table)
        done.set()

    def read():
        while not done.is_set():
            scores = model.decision_function(ZOO.X_new, seen_penalty=0.0)
            assert any(scores.shape == one.shape and np.allclose(scores, one) for one in expected)

    in_threads(fit, read, read)


def test_readers_do_not_wait_for_a_fit():
    model = JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    read = threading.Event()

    def chunks():
        """Give the second chunk only when another thread has read the model as it was before this fit."""
        yield ZOO.X, ZOO.y
        assert read.wait(60)
        yield ZOO.X + 1, ZOO.y

    before = model.decision_function(ZOO.X_new, candidates="unseen")

    def look():
        assert_array_equal(model.decision_function(ZOO.X_new, candidates="unseen"), before)
        read.set()

    in_threads(lambda: model.fit(chunks(), class_vectors=ZOO.table), look)
    assert not np.array_equal(model.decision_function(ZOO.X_new, candidates="unseen"), before)


def test_what_is_set_during_a_fit_is_kept():
    model = JCMSPL()

    def chunks():
        model.space = "visual"
        yield ZOO.X, ZOO.y

    model.fit(chunks(), class_vectors=ZOO.table)
    assert model.space == "visual"


def test_locks_are_not_part_of_the_model():
    model = JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert not any(
        "lock" in name.lower() or "lock" in type(value).__name__.lower() for name, value in vars(model).items()
    )
    twins = [copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), clone(model)]
    locks = {id(lock_of(one)) for one in (model, *twins)}
    assert len(locks) == 5
    assert lock_of(model) is lock_of(model)
    for twin in twins[:3]:
        twin.partial_fit(ZOO.X, ZOO.y)
        assert twin.statistics_.n_samples == 2 * len(ZOO.X)
    assert model.statistics_.n_samples == len(ZOO.X)


def test_a_lock_goes_with_its_object():
    from jcmspl.support.calls import _locks

    before = set(_locks)
    model = RidgeVS()
    lock_of(model)
    assert set(_locks) - before == {id(model)}
    del model
    assert set(_locks) <= before


def _add_and_interrupt(model):
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    model.add_classes({"yeti": np.ones(8)})
    time.sleep(60)  # never reached: the fit waits until this is interrupted


def test_ctrl_c_while_waiting():
    """As Ctrl-C does, a signal ends the wait of the main thread for another one's fit."""
    model, reading, interrupted = RidgeVS(), threading.Event(), threading.Event()

    def chunks():
        yield ZOO.X, ZOO.y
        reading.set()
        assert interrupted.wait(60)

    fit = threading.Thread(target=lambda: model.fit(chunks(), class_vectors=ZOO.table))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        fit.start()
        assert reading.wait(60)
        with pytest.raises(KeyboardInterrupt):
            _add_and_interrupt(model)
    finally:
        signal.signal(signal.SIGINT, handler)
        interrupted.set()
        fit.join()
    assert model.class_means_.shape == (6, 20)
    assert "yeti" not in model.class_table_


def test_too_many_arguments_by_position(model):
    kind = type(model).__name__
    with pytest.raises(TypeError, match=rf"^{kind}.fit takes only X, y by position: .* class_vectors=\.\.\."):
        model.fit(ZOO.X, ZOO.y, ZOO.table)
    with pytest.raises(TypeError, match=r"predict takes only X by position: .* class_vectors=\.\.\."):
        model.predict(ZOO.X, ZOO.table)


def test_a_change_within_a_change_is_refused(model):
    before = model.statistics_.n_samples

    def chunks():
        yield ZOO.X, ZOO.y
        model.add_classes({"new": np.ones(8)})

    with pytest.raises(RuntimeError, match="add_classes was called from within another call"):
        model.partial_fit(chunks())
    assert model.statistics_.n_samples == before
    assert "new" in model.add_classes({"new": np.ones(8)}).unseen_classes_


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_in_the_midst_of_a_change(model):
    forked = threading.Event()
    changing = threading.Event()

    def chunks():
        yield ZOO.X, ZOO.y
        changing.set()
        assert forked.wait(60)

    thread = threading.Thread(target=lambda: model.partial_fit(chunks()))
    thread.start()
    try:
        assert changing.wait(60)
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # ends a child that waits for a thread it does not have
            model.add_classes({"new": np.ones(8)})
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        forked.set()
        thread.join()
