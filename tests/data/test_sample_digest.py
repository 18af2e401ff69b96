"""Digests of samples: the same for the same values, however they come, and different for others."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from jcmspl.data import sample_digest
from jcmspl.data.sample_digest import Overlap, SampleDigest, row_hashes, sum_if_known

RNG = np.random.default_rng(0)
FOR_EVER = ["0000000000000000", "ad868328421d02c8", "0f7155817b465a8d"]


@pytest.fixture
def few(monkeypatch):
    """Let digests hold few hashes."""
    monkeypatch.setattr(sample_digest, "MOST", 40)


class TestHashes:
    @pytest.mark.parametrize("n_features", [1, 2, 7, 64, 1281])
    def test_type_layout_and_chunks_change_nothing(self, n_features, tmp_path):
        X = RNG.standard_normal((300, n_features)).astype(np.float32)
        hashes = row_hashes(X)
        assert len(np.unique(hashes)) == 300
        np.save(tmp_path / "X.npy", X)
        for same in (X.astype(np.float64), np.asfortranarray(X), X[::-1][::-1], np.load(tmp_path / "X.npy", "r")):
            assert_array_equal(row_hashes(same), hashes)
        assert_array_equal(np.concatenate([row_hashes(part) for part in np.split(X, [1, 2, 150])]), hashes)

    def test_are_the_same_for_ever(self):
        """Model files hold them."""
        X = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [-1.5, 1e30, 1e-30]])
        assert [f"{one:016x}" for one in row_hashes(X).tolist()] == FOR_EVER

    @pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float16])
    def test_of_other_numbers(self, dtype):
        X = RNG.integers(0, 2, (50, 9)).astype(dtype)
        assert_array_equal(row_hashes(X), row_hashes(X.astype(np.float64)))

    def test_both_zeros_are_one_number(self):
        assert row_hashes(np.array([[0.0, 1.0]])) == row_hashes(np.array([[-0.0, 1.0]]))

    @pytest.mark.filterwarnings("error")
    def test_what_float32_cannot_hold(self):
        assert row_hashes(np.array([[1e300, 1.0]])) == row_hashes(np.array([[np.inf, 1.0]]))

    @pytest.mark.parametrize("values", [(0.0, 1.0), (-1.0, 1.0), (0.0, 255.0), (1.0, 2.0)])
    def test_of_rows_that_differ_in_two_places(self, values):
        """Numbers with few digits have most bits in common."""
        low, high = values
        X = np.full((64 * 63 // 2, 64), low)
        for places in np.triu_indices(64, 1):
            X[np.arange(len(X)), places] = high
        assert len(np.unique(row_hashes(X))) == len(X)

    def test_neither_order_of_features_nor_signs_are_lost(self):
        x = RNG.standard_normal(16)
        others = [x[::-1], -x, np.roll(x, 1), np.r_[x[1], x[0], x[2:]], np.r_[x[2:4], x[:2], x[4:]], np.abs(x)]
        assert len(set(row_hashes(np.array([x, *others])).tolist())) == 7

    def test_are_spread_evenly(self):
        """The smallest are a random part of all."""
        hashes = row_hashes(RNG.integers(0, 3, (20_000, 12)).astype(float) @ np.diag(np.arange(1.0, 13)))
        shares = np.bincount((np.unique(hashes) >> np.uint64(60)).astype(int), minlength=16) / len(np.unique(hashes))
        assert np.abs(shares - 1 / 16).max() < 0.01

    def test_of_nothing(self):
        assert row_hashes(np.empty((0, 5))).shape == (0,)


class TestDigest:
    def test_sums_hold_both(self):
        X = RNG.standard_normal((100, 5))
        whole = SampleDigest.of(X)
        for cut in (0, 1, 50, 100):
            parts = SampleDigest.of(X[cut:]) + SampleDigest.of(X[:cut])
            assert_array_equal(parts.hashes, whole.hashes)
        assert_array_equal((whole + SampleDigest.of(X[:30])).hashes, whole.hashes)  # repeated rows count once
        assert Overlap.of(*whole.has(np.vstack([X[:7], X + 1]))) == Overlap(107, 107, 7)

    def test_what_weighs_nothing_is_not_in_it(self):
        X = RNG.standard_normal((10, 5))
        found, _ = SampleDigest.of(X, np.arange(10.0) % 2).has(X)
        assert_array_equal(found, np.arange(10) % 2 == 1)

    def test_of_nothing_has_nothing(self):
        found, decided = SampleDigest.of(np.empty((0, 5))).has(np.ones((3, 5)))
        assert not found.any()
        assert decided.all()

    @pytest.mark.usefixtures("few")
    def test_of_many_rows_keeps_the_smallest(self):
        X = RNG.standard_normal((1000, 5))
        whole = SampleDigest.of(X)
        assert len(whole) == 40
        assert not whole.is_complete
        for parts in (np.split(X, 10), np.split(X, [5, 10, 20, 990]), [X[600:], X[:700]]):
            total = SampleDigest.of(parts[0])
            for part in parts[1:]:
                total += SampleDigest.of(part)
            assert_array_equal(total.hashes, whole.hashes)
            assert not total.is_complete

    @pytest.mark.usefixtures("few")
    def test_of_many_rows_tells_of_a_part_what_is_certain(self):
        X, others = RNG.standard_normal((1000, 5)), RNG.standard_normal((500, 5))
        digest = SampleDigest.of(X)
        found, decided = digest.has(np.vstack([X, others]))
        assert found.sum() == 40
        assert_array_equal(found[:1000], decided[:1000])
        assert not found[1000:].any()
        assert decided[1000:].any()
        overlap = Overlap.of(*digest.has(np.vstack([X, others])))
        assert not overlap.is_exact
        assert overlap.n_estimated == pytest.approx(1000, rel=0.3)

    @pytest.mark.usefixtures("few")
    def test_of_forty_rows_is_whole(self):
        assert SampleDigest.of(RNG.standard_normal((40, 5))).is_complete

    def test_what_is_not_known_stays_so(self):
        digest = SampleDigest.of(np.eye(3))
        assert sum_if_known(None, digest) is sum_if_known(digest, None) is sum_if_known(None, None) is None
