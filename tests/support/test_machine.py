"""Cores and threads that a process may use."""

import pytest
from threadpoolctl import threadpool_info

from jcmspl.support import machine
from jcmspl.support.machine import _cores_of_this_container, blas_threads, one_blas_thread_each


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "100000 100000\n"}, 1),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "250000 100000\n"}, 3),
        ({"cpu.max": "damaged"}, None),
        ({"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_the_limit_of_a_container_counts(files, cores, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert _cores_of_this_container(tmp_path) == cores


def blas_limits():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_has_one_thread_where_the_core_has_several(monkeypatch):
    before = blas_limits()
    monkeypatch.setattr(machine, "blas_threads", lambda: 3)
    with one_blas_thread_each(2**40) as n_threads:
        assert (n_threads, blas_limits()) == (3, {1})
    with one_blas_thread_each(1000) as n_threads:
        assert (n_threads, blas_limits()) == (1, {1})
    assert blas_limits() == before


@pytest.mark.parametrize("cores", [1, 2])
def test_blas_threads_are_at_most_the_usable_cores(cores, monkeypatch):
    monkeypatch.setattr(machine, "usable_cores", lambda: cores)
    assert 1 <= blas_threads() <= cores
