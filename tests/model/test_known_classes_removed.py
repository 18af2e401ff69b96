"""Classes that a fitted model forgets again."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from jcmspl import JCMSPL, ClassSearchCV, load
from support.animals import make_zoo
from support.threads import in_threads

ZOO = make_zoo(n_seen=8, n_unseen=4)
GONE, *REST = ZOO.unseen


def fitted(**parameters):
    return JCMSPL(progress=False, **parameters).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def scores(model, candidates=REST):
    return model.decision_function(ZOO.X_new, candidates=candidates)


def test_it_is_as_if_the_class_had_never_been_there():
    model = fitted().remove_classes([GONE])
    assert model.unseen_classes_.tolist() == REST
    assert GONE not in model.predict(ZOO.X_new, candidates="unseen")
    with pytest.raises(ValueError, match="no class vectors for 1"):
        model.predict(ZOO.X_new, candidates=[GONE, *REST])
    never = JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table.without([GONE]))
    assert_array_equal(scores(model), scores(never))
    assert model.class_table_ == never.class_table_


def test_adding_it_again_restores_it():
    model, before = fitted(), scores(fitted(), ZOO.unseen)
    model.remove_classes({GONE}).add_classes({GONE: ZOO.table[GONE]})
    assert_array_equal(scores(model, ZOO.unseen), before)
    assert model.unseen_classes_.tolist() == [*REST, GONE]


def test_its_samples_are_forgotten():
    own = ZOO.y_new == GONE
    model = fitted().add_classes(X=ZOO.X_new[own], y=ZOO.y_new[own])
    assert not np.array_equal(scores(model, ZOO.unseen), scores(fitted(), ZOO.unseen))
    model.remove_classes([GONE])
    with pytest.raises(ValueError, match="with a class that was removed"):
        model.partial_fit(ZOO.X, ZOO.y)
    with pytest.raises(AttributeError, match="with a class that was removed"):
        _ = model.statistics_
    model.add_classes({GONE: ZOO.table[GONE]})
    assert_array_equal(scores(model, ZOO.unseen), scores(fitted(), ZOO.unseen))


def test_without_samples_of_it_the_model_can_learn_on():
    model = fitted().remove_classes([GONE]).partial_fit(ZOO.X, ZOO.y)
    assert model.unseen_classes_.tolist() == REST
    assert GONE not in model.class_table_


def test_what_was_calibrated_and_adapted_stays():
    model = fitted().calibrate(ZOO.X, ZOO.y).calibrate_rejection(ZOO.X, ZOO.y)
    model.adapt(ZOO.X_new, candidates="unseen")
    kept = model.calibration_, model.rejection_, model.adapted_
    before = scores(model)
    model.remove_classes([GONE])
    assert (model.calibration_, model.rejection_, model.adapted_) == kept
    assert_array_equal(scores(model), before)


def test_files_and_pickles(tmp_path):
    own = ZOO.y_new == REST[0]
    model = fitted().add_classes(X=ZOO.X_new[own], y=ZOO.y_new[own]).remove_classes([GONE])
    model.save(tmp_path / "m")
    for again in (load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert again.unseen_classes_.tolist() == REST
        assert_array_equal(scores(again), scores(model))
        assert again.remove_classes(REST).unseen_classes_.tolist() == []


def test_a_search_hands_it_on():
    grid = {"class_match": [1.0, 100.0]}
    search = ClassSearchCV(JCMSPL(progress=False), grid, cv=2, extend=0).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert search.remove_classes([GONE]) is search
    assert search.unseen_classes_.tolist() == REST


def test_several_threads():
    model = fitted()
    in_threads(*[lambda label=label: model.remove_classes([label]) for label in ZOO.unseen])
    assert model.unseen_classes_.tolist() == []


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["yeti"], "does not know 'yeti': those that can be removed are"),
        ([GONE, ZOO.seen[0]], "was trained on 'animal .*' and cannot forget that"),
        ([[GONE]], "cannot be a label"),
        ([None], "missing label"),
    ],
)
def test_what_is_refused_changes_nothing(labels, message):
    model = fitted()
    with pytest.raises((ValueError, TypeError), match=message):
        model.remove_classes(labels)
    assert model.unseen_classes_.tolist() == ZOO.unseen


def test_a_text_is_no_list_of_labels():
    with pytest.raises(TypeError, match="pass \\['" + GONE):
        fitted().remove_classes(GONE)


def test_nothing_to_remove():
    model = fitted()
    table = model.class_table_
    assert model.remove_classes([]).class_table_ is table
