from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from indextables.errors import CorruptError, InvalidError
from indextables.index import deletion_vectors as dv


def splitmix64(seed, count):
    """The random number generator that the vectors were made with."""
    z = np.arange(count, dtype=np.uint64) + np.uint64(seed)
    with np.errstate(over="ignore"):
        z = z + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def positions_of(row):
    if "list" in row:
        return np.array(row["list"], dtype=np.uint64)
    found = re.match(r"random seed=(\d+) n=(\d+) bound=(\d+)$", row["positions"])
    if found:
        return np.unique(splitmix64(int(found[1]), int(found[2])) % np.uint64(int(found[3])))
    parts = []
    for text in row["positions"].split(" plus "):
        if text.isdigit():
            parts.append(np.array([int(text)], dtype=np.uint64))
            continue
        low, high = map(int, re.search(r"\[(\d+), (\d+)\)", text).groups())
        step = re.match(r"every (\d+)", text)
        parts.append(np.arange(low, high, int(step[1]) if step else 1, dtype=np.uint64))
    return np.unique(np.concatenate(parts))


@pytest.fixture(scope="session")
def paimon(fixtures):
    return fixtures / "paimon"


@pytest.fixture(scope="session")
def vectors(paimon):
    return json.loads((paimon / "vectors.json").read_text())


def _sha(positions):
    return hashlib.sha256(np.asarray(positions, dtype="<u8").tobytes()).hexdigest()


def _decode(data, offset, length, cardinality=None, path="an index file"):
    """The positions of a record in ascending order."""
    found = []
    for key, bitmap in dv.decode_bitmaps(data, offset, length, cardinality, path):
        found += [position + (key << 32) for position in bitmap]
    return found


def test_all_vectors_of_paimon_are_read(paimon, vectors):
    count = 0
    for case in vectors["deletion_vectors"]:
        for file in case["files"]:
            data = (paimon / file["file_name"]).read_bytes()
            for row in file["dv_ranges"]:
                found = _decode(data, row["offset"], row["length"], row["cardinality"])
                assert _sha(found) == row["positions_sha256_u64le"], row["data_file"]
                count += 1
    assert count == 40


def test_files_are_byte_identical_to_paimons_when_written_from_the_same_positions(paimon, vectors):
    for case in vectors["deletion_vectors"]:
        target = re.search(r"target (\d+)", case["writer"])
        names = iter([file["file_name"] for file in case["files"]])
        rows = [row for file in case["files"] for row in file["dv_ranges"]]
        written = list(
            dv.write_files(
                [(row["data_file"], positions_of(row)) for row in rows],
                lambda names=names: next(names),
                bitmap64=case["bitmap64"],
                target_bytes=int(target[1]) if target else None,
            )
        )
        assert [file.name for file in written] == [f["file_name"] for f in case["files"]]
        for ours, theirs in zip(written, case["files"], strict=True):
            assert hashlib.sha256(ours.data).hexdigest() == theirs["sha256"], case["name"]
            assert {
                name: (at.offset, at.length, at.cardinality) for name, at in ours.ranges.items()
            } == {
                row["data_file"]: (row["offset"], row["length"], row["cardinality"])
                for row in theirs["dv_ranges"]
            }


@pytest.mark.parametrize(
    ("positions", "bitmap64", "wanted"),
    [
        ([3, 9], False, "000000185e43f2d03a300000010000000000010010000000030009008acb79d2"),
        (
            [9, 3, 9],
            True,
            (
                "00000024d1d339640100000000000000000000003a300000010000000000010010000000"
                "0300090038d2b7a8"
            ),
        ),
        ([], False, "0000000c5e43f2d03a300000000000005de5c7e9"),
        ([], True, "0000000cd1d339640000000000000000bf18480c"),
    ],
)
def test_record_has_paimons_bytes(positions, bitmap64, wanted):
    assert dv.encode(positions, bitmap64).hex() == wanted


@given(
    st.sets(st.integers(0, dv.MAX_POSITION_32), max_size=200),
    st.booleans(),
    st.integers(0, 20),
)
def test_positions_come_back_when_encoded(positions, bitmap64, offset):
    record = dv.encode(positions, bitmap64)
    length = len(record) if bitmap64 else len(record) - 8
    data = b"x" * offset + record + b"tail"
    assert _decode(data, offset, length, len(positions)) == sorted(positions)
    assert dv.decode_bitmap(data, offset, length) == BitMap(positions)
    assert dv.encode(BitMap(positions), bitmap64) == record
    assert dv.encode(np.array(sorted(positions), dtype=np.int64), bitmap64) == record


def test_empty_bitmaps_fill_missing_keys_when_64_bit():
    record = dv.encode([2**33], bitmap64=True)
    assert struct.unpack_from("<q", record, 8)[0] == 3
    assert _decode(record, 0, len(record), 1) == [2**33]
    with pytest.raises(CorruptError, match="beyond the rows a split can have"):
        dv.decode_bitmap(record, 0, len(record))


@pytest.mark.parametrize(
    ("positions", "bitmap64"),
    [
        ([-1], False),
        ([2**31], False),
        ([1.5], False),
        ([2**63], True),
        (["1"], True),
        ([2**70], True),
    ],
)
def test_bad_position_is_refused(positions, bitmap64):
    with pytest.raises(InvalidError, match="DELETION_VECTOR_POSITION"):
        dv.encode(positions, bitmap64)


def test_largest_position_fits_when_32_bit():
    record = dv.encode([dv.MAX_POSITION_32])
    assert _decode(record, 0, len(record) - 8) == [dv.MAX_POSITION_32]


def _record(data, size=None, crc=None):
    size = len(data) if size is None else size
    crc = zlib.crc32(data) if crc is None else crc
    return struct.pack(">i", size) + data + struct.pack(">I", crc)


GOOD = dv.encode(range(1000))
GOOD64 = dv.encode(range(1000), bitmap64=True)
MAGIC64 = bytes.fromhex("d1d33964")
EMPTY = BitMap().serialize()


@pytest.mark.parametrize(
    ("data", "length", "cardinality", "rule"),
    [
        (GOOD[:-1] + bytes([GOOD[-1] ^ 1]), len(GOOD) - 8, None, "checksum"),
        (GOOD[:20] + bytes([GOOD[20] ^ 1]) + GOOD[21:], len(GOOD) - 8, None, "checksum"),
        (GOOD, len(GOOD) - 8, 999, "holds 1000 positions where the log says 999"),
        (GOOD, len(GOOD), None, "where the log has length"),
        (GOOD64, len(GOOD64) - 8, None, "where the log has length"),
        (GOOD[:-5], len(GOOD) - 8, None, "does not fit the file"),
        (GOOD[:6], len(GOOD) - 8, None, "the file ends at 6"),
        (b"", 12, None, "the file ends at 0"),
        (_record(b"\0\0\0\0" + EMPTY), 12, None, "magic number is 00000000"),
        (_record(b"\0\0"), 2, None, "its size 2 does not fit"),
        (_record(GOOD[4:-4], size=-1), -1, None, "its size -1 does not fit"),
        (_record(GOOD[4:-4], size=2**31 - 1), 2**31 - 1, None, "does not fit"),
        (_record(GOOD[4:8] + b"junk"), 8, None, "bitmap cannot be read"),
        (_record(GOOD[4:8] + EMPTY + b"more"), 16, None, "4 bytes follow the bitmap"),
        (_record(MAGIC64), 12, None, "ends before its bitmap count"),
        (_record(MAGIC64 + struct.pack("<q", 2**40)), 20, None, "do not fit"),
        (_record(MAGIC64 + struct.pack("<q", -1)), 20, None, "-1 bitmaps"),
        (
            _record(MAGIC64 + struct.pack("<qi", 2, 5) + EMPTY + struct.pack("<i", 5) + EMPTY),
            44,
            None,
            "key 5 follows key 5",
        ),
        (_record(MAGIC64 + struct.pack("<qi", 1, 0) + EMPTY + b"zz"), 34, None, "2 bytes follow"),
    ],
)
def test_damage_is_named(data, length, cardinality, rule):
    with pytest.raises(CorruptError, match=re.escape(rule)) as caught:
        _decode(data, 0, length, cardinality, path="index/index-x-0")
    assert caught.value.code == "FILE_CORRUPT"
    assert "index/index-x-0" in str(caught.value)


def test_offset_outside_the_file_is_named():
    for offset in (-1, len(GOOD), 10**9):
        with pytest.raises(CorruptError, match="the file ends at"):
            _decode(GOOD, offset, 12)


@given(st.data())
def test_no_flipped_bit_goes_unnoticed(data):
    record = bytearray(dv.encode([1, 5, 70_000]))
    at = data.draw(st.integers(0, len(record) * 8 - 1))
    record[at // 8] ^= 1 << at % 8
    with pytest.raises(CorruptError):
        _decode(bytes(record), 0, len(record) - 8, 3)


def test_file_holds_at_least_one_vector_when_target_is_tiny():
    names = iter(range(9))
    files = list(
        dv.write_files([("a", [1]), ("b", [2])], lambda: f"f{next(names)}", target_bytes=1)
    )
    assert [(f.name, list(f.ranges)) for f in files] == [("f0", ["a"]), ("f1", ["b"])]
    assert list(dv.write_files([], lambda: "f")) == []
    assert [f.data for f in dv.write_files([], lambda: "f", target_bytes=None)] == [b"\x01"]
