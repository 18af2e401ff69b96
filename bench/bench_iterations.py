"""Iterations on many samples against iterations on few: they should take the same time."""

from functools import partial

import numpy as np

from jcmspl.core import Spectrum, Statistics, solve
from question import Contestants, Question, Target
from samples import assert_equal, labelled_samples, reference

COPIES = 16


def prepare() -> Contestants:
    X, labels, class_vectors = labelled_samples(2000, 512, 85, 40)
    few = Spectrum(Statistics.from_samples(X, labels), class_vectors)
    many = Spectrum(Statistics.from_samples(np.tile(X, (COPIES, 1)), np.tile(labels, COPIES)), class_vectors)
    weights = dict(zip(("l1", "l2", "l3", "l4"), reference.PAPER_SETTINGS["CUB"], strict=True))
    run = partial(solve, **weights, start="codes", max_iter=35, tol=0)

    def check():
        # Every term of the objective is a sum over samples: copies of all of them leave the minimiser where it is.
        one, other = run(few), run(many)
        assert_equal("A", one.visual_projection, other.visual_projection, 1e-8)
        assert_equal("B", one.semantic_projection, other.semantic_projection, 1e-8)
        assert_equal("objective", COPIES * one.objective, other.objective, 1e-8)

    return Contestants(ours=partial(run, many), peer=partial(run, few), check=check)


QUESTIONS = [
    Question(
        "iterations-samples", "35 iterations, 32,000 samples / 2,000 samples", Target("time", 1.3), prepare, rounds=20
    )
]


def test_iterations(time_side):
    time_side()
