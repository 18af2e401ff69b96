import numpy as np

from jcmspl import FPL
from support.linear import ZOOS, assert_map, explicit_data, fit, refuses


@ZOOS
def test_oracle_least_squares_of_numpy(zoo):
    X, Y, *_ = explicit_data(zoo)
    assert_map(fit(FPL(), zoo), np.linalg.lstsq(X.T, Y.T, rcond=None)[0].T)


def test_bad_parameters():
    refuses(FPL(space="audio"), "space must be one of")
