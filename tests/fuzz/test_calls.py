import pytest

from fuzz.calls import SUBJECTS


@pytest.mark.parametrize("subject", SUBJECTS)
def test_random_calls_equal_extended_precision(subject):
    for seed in range(300):
        try:
            SUBJECTS[subject](seed)
        except Exception as error:
            raise AssertionError(f"{subject}, seed {seed}: {error}") from error
