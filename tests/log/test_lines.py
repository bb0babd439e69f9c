"""The engine decodes lines of version files exactly as the decoder in Python does."""

from __future__ import annotations

import json
import random
import tracemalloc
from itertools import product

import pytest
from tests.log.tables import add

from indextables.errors import IndexTablesError
from indextables.log import codec, entries
from indextables.log.actions import AddFile, CommitInfo, DeletionVector, RemoveFile, Txn
from indextables.log.lines import OTHER, LogActions
from indextables.log.replay import Change, Commit, replay

TEXTS = ["", "a", "ü", '"', "\\", "\n", "\x00", "😀", "__HIVE_DEFAULT_PARTITION__", "a" * 300]
PATHS = [
    "a", "a.split", "k=v/splits/s.split", "k=%3A/x", "a/", "/a", "a//b", "../a", "a/../b", ".",
    "..", "./a", "s3:/x", "s3://b/x", "file:/x", "a:/b", "a b:/c", "1:/x", ":/x", "a:b", "a\tb", "",
    "...", "a/...", "x.y+z-1:/q",
]  # fmt: skip
NUMBERS = [0, 1, -1, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30]
NUMBERS += [253_402_300_799_999, 253_402_300_800_000, -62_135_596_800_000, -62_135_596_800_001]
ODD = [None, True, False, 1.0, 1e3, 0.1, [], {}, [1], ["a", None], {"a": 1}, {"a": None}, "1", [[]]]
RAW = ["-0", "1E5", "1e400", "NaN", "Infinity", "01", '"\\ud800"', '"\\ud83d\\ude00"', "9" * 5000]


def _map(rng):
    return {rng.choice(TEXTS): rng.choice([*TEXTS, *TEXTS, None]) for _ in range(rng.randrange(40))}


def _vector(rng):
    vector = {"file": _MAKERS["path"](rng), "offset": 1, "length": 2, "cardinality": 3}
    if rng.random() < 0.1:
        vector.pop(rng.choice(list(vector)))
    if rng.random() < 0.1:
        vector[rng.choice([*vector, "more"])] = rng.choice([*ODD, *NUMBERS])
    return vector


_MAKERS = {
    "path": lambda rng: rng.choice(PATHS[: rng.choice([4, 4, len(PATHS)])]),
    "partitionValues": _map,
    "minValues": _map,
    "maxValues": _map,
    "splitTags": lambda rng: [rng.choice(TEXTS) for _ in range(rng.randrange(3))],
    "companionSourceFiles": lambda rng: [rng.choice(TEXTS)],
    "deletionVector": _vector,
    "dataChange": lambda rng: rng.random() < 0.5,
    "hasFooterOffsets": lambda rng: rng.random() < 0.5,
}
_LONGS = ("size", "modificationTime", "numRecords", "footerStartOffset", "footerEndOffset",
          "deleteOpstamp", "numMergeOps", "uncompressedSizeBytes", "deletionTimestamp",
          "companionDeltaVersion", "addedAtVersion")  # fmt: skip
_NAMES = (*_MAKERS, *_LONGS, "stats", "docMappingJson", "docMappingRef", "timeRangeStart",
          "timeRangeEnd", "companionFastFieldMode", "tags", "novel", "extra")  # fmt: skip


def _value(rng, name, odd):
    if rng.random() < odd:
        return rng.choice([*ODD, *NUMBERS, *TEXTS])
    if name in _MAKERS:
        return _MAKERS[name](rng)
    return rng.choice(NUMBERS[:3] if name in _LONGS else TEXTS)


def _line(rng) -> bytes:
    """A line that adds or removes a split: mostly valid, sometimes unusual, sometimes broken."""
    odd = rng.choice([0, 0, 0.1])
    names = ["path", "size", "modificationTime"] if rng.random() < 0.95 else []
    names += rng.sample(_NAMES, rng.randrange(len(_NAMES)))
    pairs = [(name, json.dumps(_value(rng, name, odd), ensure_ascii=rng.random() < 0.5))
             for name in names]  # fmt: skip
    if rng.random() < odd:
        pairs.append((rng.choice(_NAMES), rng.choice(RAW)))
    if rng.random() < 0.95:
        pairs = list(dict(pairs).items())
    kind = rng.choice(["add", "add", "remove"])
    blank = rng.choice(["", "", " "])
    body = ",".join(f'"{name}":{blank}{text}' for name, text in pairs)
    line = f'{{{blank}"{kind}":{{{body}}}{blank}}}'
    if rng.random() < 0.05:
        at = rng.randrange(len(line))
        line = line[:at] + rng.choice(["", "}", '"', ",", "x"]) + line[at + 1 :]
    return line.replace("\n", "").encode()


@pytest.fixture
def by_engine(monkeypatch):
    """Send even short files to the engine."""
    monkeypatch.setattr(codec, "_LONG_TEXT", 0)


def decoded(line: bytes):
    try:
        return codec._decode_line(line)
    except (IndexTablesError, ValueError, KeyError, TypeError, RecursionError):
        return None


def test_the_engine_reads_lines_as_python_does(by_engine):
    rng = random.Random(34)
    taken = 0
    for _ in range(3000):
        line = _line(rng)
        wanted = decoded(line)
        try:
            (found,) = codec.decode_actions(line, "f")
        except IndexTablesError:
            assert wanted is None, line
            continue
        assert found == wanted, line
        taken += codec.decode_lines(line, 9).kinds[0] != OTHER
    # the engine decodes most of the valid lines
    assert taken > 1000


def test_every_usual_member_is_read_by_the_engine(by_engine):
    usual = add(
        "a", stats="s", min_values={"a": "b"}, max_values={"a": "c"}, num_records=3,
        footer_start_offset=4, footer_end_offset=5, has_footer_offsets=True, delete_opstamp=6,
        split_tags=("t",), num_merge_ops=7, doc_mapping_json="[]", doc_mapping_ref="r",
        uncompressed_size_bytes=8, time_range_start="x", time_range_end="y",
        companion_source_files=("f",), companion_delta_version=9, companion_fast_field_mode="m",
        deletion_vector=DeletionVector("index/i", 1, 2, 3), extra={"novel": [1, {"a": None}]},
    )  # fmt: skip
    gone = RemoveFile("a", 1, False, {"n": "1"}, 7, {"tags": {"a": "b"}})
    text = codec.encode_actions([usual, gone])
    lines = codec.decode_lines(text, 9)
    assert (lines.kinds, lines.adds.schema) == (b"\x00\x01", entries.SCHEMA)
    assert lines.removes.schema == entries.REMOVES
    assert list(codec.decode_actions(text, "f")) == [usual, gone]


def test_an_unusual_line_does_not_change_the_order(by_engine):
    odd = add("odd", extra={"ratio": 0.1})
    actions = [
        CommitInfo("i", 1, "APPEND"),
        add("a"),
        odd,
        RemoveFile(add("a").path),
        Txn("q", 1),
        add("b"),
    ]
    found = codec.decode_actions(codec.encode_actions(actions), "f")
    assert list(found) == actions
    assert [type(a) for a in Commit(3, found).facts] == [CommitInfo, Txn]
    assert set(replay(Change(), [Commit(3, found)]).adds.paths) == {odd.path, add("b").path}


def test_replay_counts_the_last_word_about_a_path(by_engine):
    first = [add("a"), add("b"), RemoveFile(add("a").path), add("c")]
    then = [RemoveFile(add("b").path, size=9), add("b", num_records=2), add("a", num_records=7)]
    logged = [codec.decode_actions(codec.encode_actions(part), "f") for part in (first, then)]
    assert all(isinstance(part, LogActions) for part in logged)
    for one, two in product((first, logged[0]), (then, logged[1])):
        change = replay(Change(), [Commit(1, one), Commit(2, two)])
        rows = {row["path"]: row["numRecords"] for row in change.adds.entries.to_pylist()}
        assert rows == {add("a").path: 7, add("b").path: 2, add("c").path: 1}
        assert change.removes == {add("a").path: None, add("b").path: 9}


def test_many_versions_become_few_tables():
    change = Change()
    for version in range(200):
        change = replay(change, [Commit(version, [add(str(version)), RemoveFile(add("0").path)])])
    assert len(change.adds.tables) < 100
    assert len(change.adds.paths) == change.adds.entries.num_rows == 199


@pytest.mark.parametrize("count", [20_000])
def test_actions_take_less_than_three_times_their_text(count):
    one = add("a", min_values={"id": "1"}, max_values={"id": "9"}, num_records=5)
    text = b"".join(
        codec.encode_actions([one]).replace(b"a.split", b"%012d.split" % n) for n in range(count)
    )
    tracemalloc.start()
    actions = codec.decode_actions(text, "f")
    change = replay(Change(), [Commit(1, actions)])
    python = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(change.adds.paths) == count
    assert isinstance(next(iter(actions)), AddFile)
    assert len(text) + python + change.adds.entries.nbytes < 3 * len(text)
