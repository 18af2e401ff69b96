"""The map that scores classes outside the model: any class vector, as decision_function would."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jcmspl import JCMSPL
from jcmspl.methods import ESZSL, GDA, RidgeVS, SynC, TextPrototypes
from jcmspl.model import registry
from support.animals import make_zoo

ZOO = make_zoo(n_seen=8)
ALIGNED = make_zoo(n_seen=8, n_attributes=20, aligned=True)


def made_up(zoo):
    """Return vectors of classes that are between those of the zoo, and beyond them."""
    rng = np.random.default_rng(5)
    vectors = zoo.table.vectors
    return np.vstack([rng.dirichlet(np.ones(len(vectors)), 4) @ vectors, 1.5 * rng.standard_normal(vectors.shape[1])])


def scores_of(model, X, vectors):
    """Return scores by the map of a model."""
    found = model._class_map(model.own_space)
    Z = model.feature_normalisation_.of_rows(X)
    V = model.class_normalisation_.of_rows(vectors)
    products = (Z @ found.of_samples.T) @ (V if found.of_classes is None else V @ found.of_classes.T).T
    squares = ((V if found.lengths is None else V @ found.lengths.T) ** 2).sum(axis=1)
    if found.metric == "cosine":
        return products / np.sqrt(squares)
    return products - squares / 2 if found.metric == "euclidean" else products


def assert_maps(model, zoo):
    vectors = made_up(zoo)
    wanted = model.decision_function(zoo.X_new, class_vectors={f"new {i}": row for i, row in enumerate(vectors)})
    assert_allclose(scores_of(model, zoo.X_new, vectors), wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("space", ["visual", "semantic", "concept"])
@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_spaces_and_metrics(space, metric):
    for model in (JCMSPL(), RidgeVS(), JCMSPL(seen_mean_share=0.5, n_concepts=20), ESZSL()):
        model.set_params(progress=False, space=space, metric=metric)
        assert_maps(model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table), ZOO)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_method_that_has_one():
    methods = [method for method in registry.methods().values() if method.__module__.startswith("jcmspl.")]
    mapped = []
    for method in methods:
        if method._class_map is registry.get("SynC")._class_map:
            continue  # it has none
        zoo = ALIGNED if method.__name__ in ("TextPrototypes", "IdentityRidge") else ZOO
        model = method(progress=False).fit(zoo.X, zoo.y, class_vectors=zoo.table)
        if model.class_normalisation_.kernel is not None or getattr(model, "cosine_share", 0):
            model = method(progress=False, class_kernel="linear").fit(zoo.X, zoo.y, class_vectors=zoo.table)
        assert_maps(model, zoo)
        mapped.append(method.__name__)
    assert {"JCMSPL", "GDA", "TextPrototypes", "ALE", "SAE"} <= set(mapped)


@pytest.mark.parametrize("model", [JCMSPL(class_normalisation="zscore"), GDA(seen_mean_share=1.0)])
def test_normalisations(model):
    assert_maps(model.set_params(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table), ZOO)


@pytest.mark.filterwarnings("ignore::jcmspl.exceptions.AlignmentWarning")
def test_models_that_have_none():
    assert SynC().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)._class_map("own") is None
    model = JCMSPL(progress=False, space="visual", cosine_share=0.0).fit(
        ALIGNED.X, ALIGNED.y, class_vectors=ALIGNED.table
    )
    assert model._class_map("visual") is not None
    assert model.set_params(cosine_share=0.5)._class_map("visual") is None
    assert model.set_params(cosine_share=0.0, metric=lambda Z, P: Z @ P.T)._class_map("visual") is None


def test_few_numbers():
    """The smaller of two forms is taken."""
    few = JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)._class_map("semantic")
    assert few.size == 8 * 20 + 8 * 8  # eight concepts
    many = JCMSPL(progress=False, n_concepts=20).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)._class_map("semantic")
    assert many.size == 8 * 20  # eight attributes
    assert TextPrototypes().fit(ALIGNED.X, ALIGNED.y, class_vectors=ALIGNED.table)._class_map("own").size == 400
