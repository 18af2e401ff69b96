import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import normalize

from jcmspl.core import Statistics
from jcmspl.data.normalisation import NORMALISATIONS, Normalisation, parse_normalisation
from support.normalised import explicit
from support.samples import make_samples


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_statistics_equal_those_of_normalised_samples(name):
    X, labels, _ = make_samples(scale=3.0)
    raw = Statistics.from_samples(X, labels, unit_rows=name.startswith("sample_l2"))
    normalisation = Normalisation.of_training(name, raw)[0]
    expected = explicit(name, X)
    assert normalisation.of_statistics(raw).allclose(Statistics.from_samples(expected, labels), rtol=1e-10)
    assert_allclose(normalisation.of_rows(X), expected, rtol=1e-9, atol=1e-12)
    assert normalisation.of_rows(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_rows(name):
    X = make_samples().X
    normalisation = Normalisation.from_rows(name, X)
    z = normalisation.of_rows(X)
    assert_allclose(z, explicit(name, X), rtol=1e-9, atol=1e-12)
    units = normalize(X) if name.startswith("sample_l2") else X
    assert_allclose(normalisation.undone(z), units, rtol=1e-10)
    rng = np.random.default_rng(0)
    weights, bias = rng.standard_normal((3, X.shape[1])), rng.standard_normal(3)
    folded, offset = normalisation.folded(weights, bias)
    assert_allclose(units @ folded.T + offset, z @ weights.T + bias, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ["zscore", "center", "feature_l2"])
def test_constant_and_zero_features_give_no_signal(name):
    X, labels, _ = make_samples()
    X[:, 3], X[:, 5] = 0.1 + 1e3, 0
    raw = Statistics.from_samples(X, labels)
    normalisation = Normalisation.of_training(name, raw)[0]
    gram = normalisation.of_statistics(raw).gram
    assert np.all(normalisation.scale > 0)
    assert not gram[5].any()
    assert np.isfinite(gram).all()
    if name != "feature_l2":
        assert not gram[3].any()
        assert not gram[:, 3].any()


def test_samples_of_zeros_stay_zero():
    rows = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert_array_equal(Normalisation.from_rows("sample_l2", rows).of_rows(rows), [[0, 0], [0.6, 0.8]])


@given(st.integers(-300, 300))
def test_lengths_of_huge_and_tiny_rows(exponent):
    rows = np.array([[3.0, 4.0]]) * 10.0**exponent
    assert_allclose(Normalisation.from_rows("sample_l2", rows).of_rows(rows), [[0.6, 0.8]], rtol=1e-12)


def test_spaces_in_names_do_not_matter():
    assert parse_normalisation("sample_l2 + center", "p") == (True, "center")
    assert parse_normalisation("none", "p") == (False, "none")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("center+sample_l2", ValueError, "write 'sample_l2\\+center'"),
        ("l2", ValueError, "p must be one of 'none', 'sample_l2'"),
        ("sample_l2+", ValueError, "p must be one of"),
        (None, TypeError, "p must be one of"),
    ],
)
def test_bad_names(name, error, message):
    with pytest.raises(error, match=message):
        parse_normalisation(name, "p")


def test_statistics_must_be_scaled_as_the_name_says():
    X, labels, _ = make_samples()
    with pytest.raises(ValueError, match="unit_rows=True"):
        Normalisation.of_training("sample_l2", Statistics.from_samples(X, labels))[0]
    with pytest.raises(ValueError, match="unit_rows=False"):
        Normalisation.of_training("center", Statistics.from_samples(X, labels, unit_rows=True))[0]
