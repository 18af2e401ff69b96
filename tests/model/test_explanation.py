"""Facts of a fitted model beside names: projections, reconstructions, explanations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from jcmspl import JCMSPL, ClassTable
from jcmspl.data.normalisation import NORMALISATIONS
from support.noisy_fits import METRICS, MODEL, SPACES, ZOO, fitted


def fitted_to(table):
    return JCMSPL(progress=False).fit(ZOO.X, ZOO.y, class_vectors=table)


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

    @pytest.mark.parametrize("names", [None, [f"dim_{i}" for i in range(20)]])
    def test_embeddings_show_the_nearest_classes(self, names):
        vectors = np.hstack([ZOO.table.vectors, np.ones((ZOO.table.n_classes, 20 - ZOO.table.n_attributes))])
        table = ClassTable(ZOO.table.labels, vectors, names)
        model = fitted_to(table)
        labels, scores = model.predict_topk(ZOO.X_new[:1], 5, return_scores=True)
        explanation = model.explain(ZOO.X_new[:1])[0]
        assert [label for label, _ in explanation.nearest] == labels[0].tolist()
        assert_allclose([score for _, score in explanation.nearest], scores[0])
        for text in (str(explanation), explanation._repr_html_()):
            assert all(str(label) in text for label in labels[0])
            assert "attribute " not in text
            assert "dim_" not in text
        assert len(explanation.top(20) + explanation.bottom(20)) == 20  # in Python the numbers stay

    def test_an_unnamed_source_is_one_part(self):
        text = {label: np.cos(np.arange(1, 6) * (i + 1)) for i, label in enumerate(ZOO.table)}
        model = fitted_to(ClassTable.joined(look=ZOO.table, text=text))
        explanation = model.explain(ZOO.X_new[:1])[0]
        parts = dict(explanation.parts())
        assert parts["text: 5 dimensions"] == pytest.approx(explanation.contributions[8:13].sum())
        assert sum(parts.values()) == pytest.approx(explanation.contributions.sum())
        assert len(parts) == len(explanation.attributes) - 4
        assert "attribute " not in str(explanation)
        unnamed = ClassTable.joined(look={label: ZOO.table[label] for label in ZOO.table}, text=text)
        assert "look: 8 dimensions" in str(fitted_to(unnamed).explain(ZOO.X_new[:1])[0])

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
