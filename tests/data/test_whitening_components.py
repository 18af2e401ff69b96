"""Leading directions of whitened samples: eigenvectors of samples and class means, in every place that meets them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jcmspl import JCMSPL, ClassSearchCV, load
from jcmspl.core import Statistics
from jcmspl.data.normalisation import Normalisation
from jcmspl.methods import EXEM, GDA, RPL, SemanticSoftmax
from support.animals import make_zoo
from support.samples import make_samples

NAME, ZOO = "center+whiten", make_zoo(noise=1.0)


def reduced(X, labels, n_components, **options):
    return Normalisation.of_training(NAME, Statistics.from_samples(X, labels), n_components=n_components, **options)


@pytest.mark.parametrize("symmetric", [False, True])
def test_they_are_the_leading_eigenvectors(symmetric):
    X, labels, _ = make_samples()
    raw = Statistics.from_samples(X, labels)
    all_of_them, _ = Normalisation.of_training(NAME, raw, symmetric=symmetric)
    found, statistics = reduced(X, labels, 3, symmetric=symmetric)
    W, Z = all_of_them.of_rows(X), found.of_rows(X)
    means = np.stack([W[labels == label].mean(axis=0) for label in np.unique(labels)])
    _, vectors = np.linalg.eigh(W.T @ W / len(W) + 2 * means.T @ means / len(means))
    leading = W @ vectors[:, ::-1][:, :3]
    leading /= np.sqrt(np.mean(np.sum(leading**2, axis=1)))
    assert_allclose(np.abs(Z), np.abs(leading), atol=1e-9)
    assert found.n_outputs == statistics.n_features == 3
    assert statistics.allclose(Statistics.from_samples(Z, labels), rtol=1e-9)
    assert found.of_statistics(raw).allclose(statistics, rtol=1e-9)
    assert_allclose(found.of_sums(raw.class_sums, raw.counts), statistics.class_sums, atol=1e-9)


def test_folded_and_undone():
    X, labels, _ = make_samples()
    found, _ = reduced(X, labels, 3)
    Z, rng = found.of_rows(X), np.random.default_rng(0)
    weights = rng.standard_normal((2, 3))
    folded, offsets = found.folded(weights, np.ones(2))
    assert_allclose(X @ folded.T + offsets, Z @ weights.T + 1, atol=1e-9)
    assert_allclose(found.of_rows(found.undone(Z)), Z, atol=1e-8)


def test_directions_in_which_there_is_nothing_are_left_out():
    X, labels, _ = make_samples()
    X = np.hstack([X[:, :2], X[:, :2] @ np.ones((2, 3))])
    found, statistics = reduced(X, labels, 4)
    assert found.n_outputs == statistics.n_features == 2
    everything, _ = reduced(X, labels, 5)
    assert everything.n_outputs == 5


@pytest.mark.parametrize("model", [JCMSPL(), RPL(), GDA(), EXEM(), SemanticSoftmax()], ids=lambda m: type(m).__name__)
def test_every_kind_of_method(model, tmp_path):
    options = {"feature_normalisation": NAME, "whitening_components": 6, "progress": False}
    model.set_params(**options).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    scores = model.decision_function(ZOO.X_new, candidates="unseen")
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert again.feature_normalisation_.n_outputs == 6
    assert_array_equal(again.decision_function(ZOO.X_new, candidates="unseen"), scores)
    again.add_classes(X=ZOO.X_new[::4], y=ZOO.y_new[::4])
    assert again.predict(ZOO.X_new, candidates="unseen").shape == ZOO.y_new.shape


def test_adaptation_and_reconstruction(tmp_path):
    model = JCMSPL(space="visual", feature_normalisation=NAME, whitening_components=6, progress=False)
    model.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).adapt(ZOO.X_new, candidates="unseen")
    model.save(tmp_path / "model.safetensors")
    scores = [
        m.decision_function(ZOO.X_new, candidates="unseen") for m in (model, load(tmp_path / "model.safetensors"))
    ]
    assert_array_equal(*scores)
    assert model.reconstruct_visual().shape == (len(list(ZOO.table)), ZOO.X.shape[1])


def test_a_search_tries_numbers_of_them():
    grid = {"whitening_components": [2, None]}
    search = ClassSearchCV(RPL(feature_normalisation=NAME, progress=False), grid, cv=3, extend=0)
    search.fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    two, all_of_them = search.cv_results_["mean_test_score"]
    assert two < all_of_them


def test_without_whitening_features_stay():
    model = RPL(whitening_components=2, progress=False).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    assert model.feature_normalisation_.n_outputs == ZOO.X.shape[1]
    with pytest.raises(ValueError, match="whitening_components"):
        RPL(whitening_components=0).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
