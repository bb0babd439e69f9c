"""The bucket of a split, from its entry in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from indextables.model import kernels as pc

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

_TAG = "bucket="
NO_BUCKET = -1


def bucket_tag(bucket: int) -> tuple[str, ...]:
    """The tags of a split of this bucket."""
    return (f"{_TAG}{bucket}",)


def buckets_of(files: pa.Table) -> NDArray[np.int64]:
    """The bucket of each split, NO_BUCKET where it has none."""
    tags = files.column("splitTags").combine_chunks()
    texts, owners = pc.list_flatten(tags), pc.list_parent_indices(tags)
    is_bucket = pc.fill_null(pc.starts_with(texts, _TAG), False)  # noqa: FBT003
    found = np.full(files.num_rows, NO_BUCKET, dtype=np.int64)
    numbers = pc.utf8_slice_codeunits(texts.filter(is_bucket), len(_TAG)).cast(pa.int64())
    found[owners.filter(is_bucket).to_numpy()] = numbers.to_numpy()
    return found


def splits_in(
    files: pa.Table, wanted: Collection[tuple[tuple[tuple[str, str], ...], int]]
) -> dict[tuple[Any, int], pa.Table]:
    """The splits of buckets of partitions, by partition and bucket."""
    buckets = buckets_of(files)
    near = np.isin(buckets, np.array(sorted({bucket for _, bucket in wanted}), dtype=np.int64))
    files, buckets = files.filter(pa.array(near)), buckets[near]
    places: dict[tuple[Any, int], list[int]] = {}
    values = files.column("partitionValues").to_pylist()
    for at, (value, bucket) in enumerate(zip(values, buckets.tolist(), strict=True)):
        place = (tuple(sorted(value or ())), bucket)
        if place in wanted:
            places.setdefault(place, []).append(at)
    return {place: files.take(pa.array(rows)) for place, rows in places.items()}
