import pytest

from fuzz.calls import SUBJECTS, wrong_answers


@pytest.mark.parametrize("subject", SUBJECTS)
def test_random_calls_equal_extended_precision(subject):
    assert list(wrong_answers(subject, range(300))) == []
