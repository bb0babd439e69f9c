from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from indextables.errors import CorruptError, InvalidError
from indextables.index import hash_index


def test_files_of_paimon_are_read_and_written(fixtures):
    folder = fixtures / "paimon"
    cases = json.loads((folder / "vectors.json").read_text())["hash_index"]
    assert len(cases) == 3
    for case in cases:
        data = (folder / case["file_name"]).read_bytes()
        found = hash_index.decode(data, case["row_count"])
        if isinstance(case["ints"], list):
            assert list(found) == case["ints"]
        else:
            ordered = np.sort(found).astype(">i4").tobytes()
            assert hashlib.sha256(ordered).hexdigest() == case["sorted_sha256_i32be"]
        assert hash_index.encode(found) == data


def test_cut_file_is_named():
    with pytest.raises(CorruptError, match="not a whole number of hashes"):
        hash_index.decode(b"\0\0\0\1\0", path="index/x")


def test_wrong_count_is_named():
    with pytest.raises(CorruptError, match="holds 1 hashes where the log says 2"):
        hash_index.decode(b"\0\0\0\1", 2)


@pytest.mark.parametrize("hashes", [[2**31], [0.5], [-(2**31) - 1]])
def test_value_that_is_no_hash_is_refused(hashes):
    with pytest.raises(InvalidError, match="HASH_INDEX_VALUE"):
        hash_index.encode(hashes)
