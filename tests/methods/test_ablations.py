import pytest
from numpy.testing import assert_array_equal

from jcmspl import JCMSPL
from jcmspl.methods import IPL, JCMSPL0, JCMSPL1
from support.linear import fit


@pytest.mark.parametrize(
    ("preset", "zero"),
    [
        (IPL, ("class_match", "visual_reconstruction", "semantic_reconstruction")),
        (JCMSPL0, ("visual_reconstruction", "semantic_reconstruction")),
        (JCMSPL1, ("class_match",)),
    ],
)
def test_presets_are_settings_of_the_full_model(preset, zero):
    given = {"semantic_match": 0.3, "max_iter": 20, "tol": 0}
    model, full = fit(preset(**given)), fit(JCMSPL(**given, **dict.fromkeys(zero, 0.0)))
    assert_array_equal(model.visual_projection_, full.visual_projection_)
    assert_array_equal(model.semantic_projection_, full.semantic_projection_)
    assert type(model) is JCMSPL
    others = {"semantic_match", "class_match", "visual_reconstruction", "semantic_reconstruction"} - set(zero)
    assert all(getattr(preset(), name) == getattr(JCMSPL(), name) for name in others)
    with pytest.raises(TypeError, match=f"{zero[0]} is 0 in this preset"):
        preset(**{zero[0]: 1.0})
