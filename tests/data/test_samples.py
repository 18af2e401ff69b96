import numpy as np
import pytest

from jcmspl.data.collect import Collector
from jcmspl.data.samples import SampleChunks, SamplesInMemory

X = np.array([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]])


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 3.0])])
def test_chosen_samples_decide_about_negatives_alone(weights):
    samples = SamplesInMemory(X, ["a", "b", "c"], weights)
    assert not samples.is_without_negatives()
    assert samples.only(np.array([0, 2])).is_without_negatives()
    assert not samples.only(np.array([1, 2])).is_without_negatives()


def test_samples_that_weigh_nothing_do_not_decide_about_negatives():
    samples = SamplesInMemory(X, ["a", "b", "c"], np.array([1.0, 0.0, 3.0]))
    assert samples.is_without_negatives()
    assert samples.only(np.array([0, 1])).is_without_negatives()


def test_chunks_name_the_model_that_reads_them_twice():
    chunks = SampleChunks(iter([X]), 2, np.asarray)
    with pytest.raises(TypeError, match="SJE reads samples more than once"):
        chunks.require_rereadable("SJE")


def test_sums_over_chunks():
    chunks = SampleChunks(iter([X, X[:2]]), 2, np.asarray)
    assert chunks.reduce(lambda part: sum(block.X.sum() for block in part.blocks())) == X.sum() + X[:2].sum()


@pytest.mark.parametrize("chunk", [(X,), X, (X, [1, 2, 3], None, None), 7])
def test_chunks_are_pairs_or_triples(chunk):
    with pytest.raises(TypeError, match="chunk 0 is not a pair"):
        SampleChunks(iter([chunk]), 2, np.asarray).collected(Collector(None, False, None, progress=False))
