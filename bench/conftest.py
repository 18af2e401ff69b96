"""Runs the questions of each bench_*.py with pytest-benchmark: one group per question, one test per side."""

import time

import pytest

from question import REST_SECONDS, Unavailable


def pytest_generate_tests(metafunc):
    if "side" in metafunc.fixturenames:
        timed = [question for question in metafunc.module.QUESTIONS if question.target.kind != "memory"]
        metafunc.parametrize("contest", timed, ids=lambda question: question.name, indirect=True, scope="module")
        metafunc.parametrize("side", ["ours", "peer"])


@pytest.fixture(scope="module")
def contest(request):
    question = request.param
    try:
        with question.contest() as contestants:
            yield question.name, contestants
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def time_side(benchmark, contest, side):
    name, contestants = contest
    benchmark.group = name

    def run():
        time.sleep(REST_SECONDS)
        benchmark.extra_info["share_of_the_work"] = contestants.peer_share if side == "peer" else 1
        benchmark(getattr(contestants, side))

    return run
