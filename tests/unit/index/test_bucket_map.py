from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import UnsupportedError
from indextables.index.bucket_map import MAX_BUCKETS, UNKNOWN, BucketMap, assigner_of, place_split


@pytest.fixture(scope="session")
def paimon(fixtures):
    return json.loads((fixtures / "paimon" / "vectors.json").read_text())


def _ints(values):
    return np.array(values, dtype=np.int32)


def test_assigners_are_paimons(paimon):
    """Paimon also rotates assigners by partition, which spreads its writers, not its keys."""
    cases = [
        case
        for case in paimon["compute_assigner"]
        if case["partition_hash"] == 0 and case["channels"] == case["assigners"]
    ]
    assert cases
    for case in cases:
        assert list(assigner_of(_ints([case["key_hash"]]), case["assigners"])) == [case["assigner"]]


def test_buckets_are_paimons_key_by_key(paimon):
    trace = paimon["simple_assigner_trace"]
    index: dict[int, list[int]] = {}
    for key_hash, wanted in trace["hash_bucket"]:
        known = BucketMap.of({bucket: _ints(hashes) for bucket, hashes in index.items()})
        bucket = int(known.first(_ints([key_hash]))[0])
        if bucket == UNKNOWN:
            bucket = place_split(
                known.counts,
                trace["assign_id"],
                assigners=trace["assigners"],
                target=trace["target"],
                most=trace["max"],
            )
            index.setdefault(bucket, []).append(key_hash)
        assert bucket == wanted


def test_full_buckets_take_more_when_no_more_may_be_opened():
    rule = {"assigners": 1, "target": 2, "most": 2}
    assert place_split({0: 2}, 0, **rule) == 1
    assert place_split({0: 3, 1: 2}, 0, **rule) == 1
    assert place_split({0: 3, 1: 3}, 0, **rule) == 0


def test_bucket_numbers_have_an_end():
    counts = dict.fromkeys(range(MAX_BUCKETS), 1)
    assert place_split(counts, 0, assigners=1, target=1, most=-1) == MAX_BUCKETS
    with pytest.raises(UnsupportedError, match="TOO_MANY_BUCKETS"):
        place_split(counts | {MAX_BUCKETS: 1}, 0, assigners=1, target=1, most=-1)


@given(
    st.lists(st.integers(1, 7), max_size=30),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(-1, 4),
)
def test_splits_fill_own_buckets_in_order(splits, assigners, target, most):
    for assigner in range(assigners):
        counts: dict[int, int] = {}
        for rows in splits:
            bucket = place_split(counts, assigner, assigners=assigners, target=target, most=most)
            assert bucket % assigners == assigner
            full = all(n >= target for n in counts.values())
            limited = bool(counts) and 0 <= most <= len(counts)
            assert (bucket not in counts) == (full and not limited)
            counts[bucket] = counts.get(bucket, 0) + rows
        assert sorted(counts) == [assigner + assigners * n for n in range(len(counts))]


@given(st.dictionaries(st.integers(0, 9), st.lists(st.integers(-9, 9), min_size=1), max_size=5))
def test_a_hash_is_found_in_every_bucket_that_has_it(index):
    known = BucketMap.of({bucket: _ints(sorted(hashes)) for bucket, hashes in index.items()})
    searched = _ints(range(-10, 11))
    positions, buckets = known.every(searched)
    found = sorted(zip(searched[positions].tolist(), buckets.tolist(), strict=True))
    assert found == sorted((h, bucket) for bucket, hashes in index.items() for h in hashes)
    for key_hash, bucket in zip(searched.tolist(), known.first(searched).tolist(), strict=True):
        holders = [number for number, hashes in index.items() if key_hash in hashes]
        assert bucket == UNKNOWN if not holders else bucket in holders
