from __future__ import annotations

import datetime as dt
import decimal
import json
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import UnsupportedError
from indextables.index import key_hash

_TYPES = {
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.int32(),
    "BYTES": pa.binary(),
    "TIMESTAMP(6)": pa.timestamp("us"),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": pa.timestamp("us", tz="UTC"),
}


def _column(type_text, value):
    name = type_text.removesuffix(" NOT NULL")
    found = re.match(r"DECIMAL\((\d+), (\d+)\)", name)
    if found:
        return pa.array([decimal.Decimal(value)], pa.decimal128(int(found[1]), int(found[2])))
    kind = _TYPES[name]
    if value is None:
        return pa.array([None], kind)
    if pa.types.is_floating(kind):
        value = float(value)
    elif pa.types.is_timestamp(kind):
        value = dt.datetime.fromisoformat(value)
    elif pa.types.is_binary(kind):
        value = bytes.fromhex(value.removeprefix("hex:"))
    return pa.array([value], kind)


@pytest.fixture(scope="session")
def paimon(fixtures):
    return json.loads((fixtures / "paimon" / "vectors.json").read_text())


def test_rows_and_hashes_are_paimons(paimon):
    assert len(paimon["binary_row_hash"]) >= 36
    for case in paimon["binary_row_hash"]:
        columns = [_column(t, v) for t, v in zip(case["types"], case["values"], strict=True)]
        rows, starts = key_hash.binary_rows(columns)
        assert rows.tobytes().hex() == case["row_hex"], case
        assert list(starts) == [0, len(rows)]
        assert list(key_hash.hash_keys(columns)) == [case["hash"]], case


def test_key_without_columns_hashes_as_the_empty_partition(paimon):
    assert list(key_hash.hash_keys([])) == [paimon["empty_partition_hash"]]


@given(st.lists(st.tuples(st.none() | st.text(max_size=20), st.none() | st.integers(-9, 9))))
def test_rows_hash_the_same_alone_and_in_a_batch(keys):
    text = pa.array([key[0] for key in keys], pa.string())
    number = pa.array([key[1] for key in keys], pa.int64())
    together = key_hash.hash_keys([text, number])
    alone = [
        int(key_hash.hash_keys([text[i : i + 1], number[i : i + 1]])[0]) for i in range(len(keys))
    ]
    assert list(together) == alone


def test_chunks_slices_and_dictionaries_make_no_difference():
    plain = pa.array(["alpha", "a much longer text than seven", "", "beta"] * 3)
    wanted = key_hash.hash_keys([plain])
    chunked = pa.chunked_array([plain[:5], plain[5:]])
    assert (key_hash.hash_keys([chunked]) == wanted).all()
    assert (key_hash.hash_keys([plain.dictionary_encode()]) == wanted).all()
    assert (key_hash.hash_keys([pa.concat_arrays([plain, plain])[12:]]) == wanted).all()


def test_dates_hash_as_their_days():
    days = pa.array([19723], pa.int32())
    assert list(key_hash.hash_keys([days.cast(pa.date32())])) == list(key_hash.hash_keys([days]))


def test_nested_column_is_refused():
    with pytest.raises(UnsupportedError, match="KEY_TYPE"):
        key_hash.hash_keys([pa.array([[1]])])


def test_many_keys_are_hashed_without_a_loop():
    hashes = key_hash.hash_keys([pa.array(np.arange(200_000))])
    assert len(np.unique(hashes)) > 199_000


@pytest.mark.parametrize(("precision", "room"), [(5, 0), (18, 0), (19, 16), (38, 16)])
def test_a_null_decimal_has_no_value_whatever_its_precision(precision, room):
    column = pa.array([decimal.Decimal("1.00"), None], pa.decimal128(precision, 2))
    rows, starts = key_hash.binary_rows([column])
    null = rows[starts[1] :].tobytes()
    assert null[:8] == bytes([0, 1, 0, 0, 0, 0, 0, 0])  # the null bit of the first column
    assert null[8:] == ((16 << 32) if room else 0).to_bytes(8, "little") + bytes(room)
