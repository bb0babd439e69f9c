from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import UnsupportedError
from indextables.index.buckets import BucketAssigner, assigner_of


@pytest.fixture(scope="session")
def paimon(fixtures):
    return json.loads((fixtures / "paimon" / "vectors.json").read_text())


def test_channels_are_paimons(paimon):
    for case in paimon["compute_assigner"]:
        found = assigner_of(
            case["partition_hash"],
            np.array([case["key_hash"]], dtype=np.int32),
            case["channels"],
            case["assigners"],
        )
        assert list(found) == [case["assigner"]]


def _ints(values):
    return np.array(values, dtype=np.int32)


@pytest.mark.parametrize("step", [1, 3, 100])
def test_buckets_are_paimons_whatever_the_batches(paimon, step):
    trace = paimon["simple_assigner_trace"]
    assigner = BucketAssigner(trace["target"], trace["max"], trace["assigners"], trace["assign_id"])
    hashes = _ints([pair[0] for pair in trace["hash_bucket"]])
    found = np.concatenate([assigner.assign(hashes[i : i + step]) for i in range(0, 14, step)])
    assert list(found) == [pair[1] for pair in trace["hash_bucket"]]


def test_known_hashes_keep_their_bucket_when_loaded():
    assigner = BucketAssigner(target_rows=3)
    assigner.load({0: _ints([5, 6, 7]), 2: _ints([1])})
    assert list(assigner.assign(_ints([7, 1, 9, 10, 11, 5]))) == [0, 2, 2, 2, 1, 0]
    assert sorted(assigner.hashes_of(2)) == [1, 9, 10]


def test_full_buckets_take_more_when_no_more_may_be_opened():
    assigner = BucketAssigner(target_rows=2, max_buckets=2)
    found = assigner.assign(_ints(range(10)))
    assert set(found) == {0, 1}
    assert sum(assigner.counts.values()) == 10


def test_bucket_numbers_have_an_end():
    assigner = BucketAssigner(target_rows=1)
    assigner.counts = dict.fromkeys(range(32_768), 1)
    with pytest.raises(UnsupportedError, match="TOO_MANY_BUCKETS"):
        assigner.assign(_ints([1]))


@given(st.lists(st.lists(st.integers(-50, 50), max_size=20), max_size=8), st.integers(1, 5))
def test_a_key_has_one_bucket_for_ever(batches, target):
    assigner = BucketAssigner(target_rows=target)
    seen = {}
    for batch in batches:
        for key, bucket in zip(batch, assigner.assign(_ints(batch)), strict=True):
            assert seen.setdefault(key, bucket) == bucket
    for bucket, count in assigner.counts.items():
        assert count == len(assigner.hashes_of(bucket)) <= target
