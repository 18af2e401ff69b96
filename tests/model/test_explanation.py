"""Facts of a fitted model beside names: projections, reconstructions, explanations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from jcmspl import ClassTable
from jcmspl.data.normalisation import NORMALISATIONS
from support.noisy_fits import METRICS, MODEL, SPACES, ZOO, fitted


class TestProjections:
    @pytest.mark.parametrize("normalisation", NORMALISATIONS)
    def test_equal_explicit_products(self, normalisation):
        model = fitted(feature_normalisation=normalisation, class_normalisation=normalisation, max_iter=500)
        A, B = model.visual_projection_, model.semantic_projection_
        x = model.feature_normalisation_.of_rows(ZOO.X_new)
        assert_allclose(model.transform(ZOO.X_new), x @ A.T, rtol=0, atol=1e-9 * np.abs(x @ A.T).max())
        read = model.class_normalisation_.undone(x @ A.T @ B)
        assert_allclose(model.reconstruct_semantic(ZOO.X_new), read, rtol=0, atol=1e-9 * np.abs(read).max())
        y = model.class_normalisation_.of_rows(ZOO.table.vectors)
        expected = model.feature_normalisation_.undone(y @ B.T @ A)
        assert_allclose(model.reconstruct_visual(ZOO.table), expected, rtol=0, atol=1e-9 * np.abs(expected).max())
        assert model.reconstruct_visual().shape == (9, 20)

    def test_reconstructions_resemble_what_they_stand_for(self):
        model = fitted(feature_normalisation="center", class_normalisation="center", max_iter=1000)
        means = np.array([ZOO.X_new[ZOO.y_new == name].mean(axis=0) for name in ZOO.unseen])
        expected = model.reconstruct_visual(ZOO.table.select(ZOO.unseen))
        assert np.corrcoef(means.ravel(), expected.ravel())[0, 1] > 0.7
        assert_array_equal(cdist(means, expected).argmin(axis=1), [0, 1, 2])

    def test_bad_vectors(self):
        with pytest.raises(ValueError, match="2 attributes, but those of the model have 8"):
            MODEL.reconstruct_visual([[1.0, 2.0]])


class TestExplain:
    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("space", SPACES)
    def test_parts_sum_up_to_the_scores(self, space, metric):
        model = fitted(space=space, metric=metric)
        labels, scores = model.predict_topk(ZOO.X_new[:5], 2, return_scores=True)
        for i, explanation in enumerate(model.explain(ZOO.X_new[:5])):
            assert (explanation.label, explanation.against) == tuple(labels[i])
            assert explanation.contributions.sum() == pytest.approx(scores[i, 0] - scores[i, 1], abs=1e-9)
        alone = model.explain(ZOO.X_new[:1], against=None)[0]
        assert alone.against is None
        assert alone.contributions.sum() == pytest.approx(scores[0, 0], abs=1e-9)

    def test_chosen_classes(self):
        a, b = ZOO.unseen[:2]
        scores = MODEL.decision_function(ZOO.X_new[:1], candidates=[a, b])[0]
        explanation = MODEL.explain(ZOO.X_new[:1], label=a, against=b)[0]
        assert explanation.contributions.sum() == pytest.approx(scores[0] - scores[1])
        only = MODEL.explain(ZOO.X_new[:1], candidates=[a])[0]
        assert only.against is None
        with pytest.raises(ValueError, match="'yeti'"):
            MODEL.explain(ZOO.X_new[:1], label="yeti")

    def test_what_it_tells(self):
        explanation = MODEL.explain(ZOO.X_new[:1])[0]
        top, bottom = explanation.top(3), explanation.bottom(3)
        assert all(value > 0 for _, value in top)
        assert all(value < 0 for _, value in bottom)
        assert top[0][1] == max(explanation.contributions)
        text = str(explanation)
        assert text.startswith(f"{explanation.label} (")
        assert top[0][0] in text
        assert bottom[0][0] in text
        assert top[0][0] in explanation._repr_html_()

    def test_an_attribute_that_decides_is_named(self):
        """Two classes that differ in one attribute alone."""
        vector = ZOO.table[ZOO.unseen[0]].copy()
        twin = vector.copy()
        twin[3] += 2
        given = ClassTable(["plain", "striped"], [vector, twin], ZOO.table.attributes)
        model = fitted(metric="dot", class_normalisation="none")
        explanation = model.explain(ZOO.X_new[:1], class_vectors=given)[0]
        assert np.abs(explanation.contributions).argmax() == 3
        assert_allclose(np.delete(explanation.contributions, 3), 0, atol=1e-12)
