import pytest

from jcmspl.methods import ALE
from support.linear import ZOOS, assert_map, explicit_data, fit
from support.ranking import textbook_fit


@ZOOS
@pytest.mark.parametrize("average", [True, False])
def test_oracle_one_sample_after_the_other(zoo, average):
    X, _, S, codes = explicit_data(zoo)
    model = fit(ALE(2.0, margin=0.3, average=average, max_iter=3, validation_fraction=0.0, random_state=5), zoo)
    assert_map(model, textbook_fit(model, X.T, S.T, codes)[0])
