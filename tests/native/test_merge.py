"""Merges of several splits into one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyroaring import BitMap

from indextables.engine.merge import MergeInput, merge_splits
from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.errors import CorruptError, InternalError
from rows import FIELDS, some_rows, write_split


def rows_of(split, schema):
    return repr(split.table(None, schema).to_pylist())


@pytest.mark.parametrize("layout", ["compatible", "lean"])
def test_rows_keep_their_order_and_values_when_splits_are_merged(tmp_path, layout):
    parts = [some_rows(700, seed) for seed in (1, 2, 3)]
    gone = BitMap(range(0, 700, 7))
    inputs = []
    for number, part in enumerate(parts):
        store, path = write_split(tmp_path, part, layout=layout)
        inputs.append(MergeInput(path, None, gone.serialize() if number == 1 else None))
    outcome = merge_splits(inputs, store, "merged.split")
    kept = parts[1].take([row for row in range(700) if row not in gone])
    expected = pa.concat_tables([parts[0], kept, parts[2]])
    assert outcome.skipped == {}
    assert outcome.split.num_records == len(expected)
    split = Split(store, "merged.split", schema=expected.schema)
    assert rows_of(split, expected.schema) == repr(expected.to_pylist())
    for name in expected.schema.names:
        nulls = expected[name].null_count
        assert outcome.split.columns[name].null_count == nulls, name
        assert split.count({"type": "exists", "field": name}) == len(expected) - nulls, name
    word = {"type": "token_term", "field": "message", "text": "timeout"}
    assert split.count(word) == sum("timeout" in (t or "") for t in expected["message"].to_pylist())


def test_bounds_are_folded_when_splits_are_merged(tmp_path):
    parts = [pa.table({"n": values}) for values in ([5, None], [None, None], [-2, 9])]
    parts = [part.cast(pa.schema([("n", pa.int64())])) for part in parts]
    paths = [write_split(tmp_path, part) for part in parts]
    inputs = [MergeInput(path) for _, path in paths]
    merged = merge_splits(inputs, paths[0][0], "m.split").split.columns["n"]
    assert (merged.min, merged.max, merged.null_count) == (-2, 9, 3)


def test_a_damaged_split_is_named_and_left_out_when_others_are_whole(tmp_path):
    parts = [some_rows(100, seed) for seed in (1, 2)]
    (store, whole), (_, damaged) = (write_split(tmp_path, part) for part in parts)
    data = bytearray((tmp_path / damaged).read_bytes())
    data[len(data) // 3] ^= 1
    (tmp_path / damaged).write_bytes(data)
    inputs = [MergeInput(damaged), MergeInput(whole), MergeInput("lost.split")]
    outcome = merge_splits(inputs, store, "m.split")
    assert outcome.split.num_records == 100
    assert list(outcome.skipped) == [damaged, "lost.split"]
    assert "checksum" in outcome.skipped[damaged]
    with pytest.raises(CorruptError, match=damaged):
        merge_splits([MergeInput(damaged)], store, "n.split")


def test_splits_are_written_again_when_they_are_indexed_differently(tmp_path):
    first, second = some_rows(200, 1), some_rows(200, 2)
    narrow = first.drop(["tags"])
    store, old = write_split(tmp_path, narrow)
    _, lean = write_split(tmp_path, second, layout="lean")
    gone = BitMap([0, 199]).serialize()
    inputs = [MergeInput(old), MergeInput(lean, None, gone)]
    with pytest.raises(InternalError, match="indexed differently"):
        merge_splits(inputs, store, "m.split")
    outcome = merge_splits(inputs, store, "m.split", schema=second.schema, fields=FIELDS)
    nothing = pa.nulls(200, second.schema.field("tags").type)
    at = second.schema.get_field_index("tags")
    expected = pa.concat_tables([narrow.add_column(at, "tags", nothing), second.slice(1, 198)])
    split = Split(store, "m.split", schema=second.schema)
    assert outcome.split.num_records == 398
    assert rows_of(split, second.schema) == repr(expected.to_pylist())


@pytest.mark.parametrize("version", ["0.5.3", "0.5.5"])
def test_splits_of_another_writer_merge_with_ours(tmp_path, fixtures, version):
    folder = fixtures / f"indextables-{version}" / "logs_small" / "table"
    theirs = sorted(folder.glob("**/*.split"))
    assert theirs
    store = open_store(str(tmp_path))
    for number, path in enumerate(theirs):
        (tmp_path / f"{number}.split").write_bytes(path.read_bytes())
    inputs = [MergeInput(f"{number}.split") for number in range(len(theirs))]
    schema = pa.schema([("message", pa.string())])
    alone = [Split(store, i.path, schema=schema).table(None, schema) for i in inputs]
    merged = merge_splits(inputs, store, "theirs.split")
    expected = pa.concat_tables(alone)
    found = Split(store, "theirs.split", schema=schema).table(None, schema)
    assert merged.split.num_records == len(expected)
    assert found.to_pylist() == expected.to_pylist()
    _, ours = write_split(tmp_path, alone[0])
    mixed = merge_splits([*inputs, MergeInput(ours)], store, "m.split", schema=schema)
    assert mixed.split.num_records == len(expected) + len(alone[0])
    texts = [*expected["message"].to_pylist(), *alone[0]["message"].to_pylist()]
    assert mixed.split.columns["message"].null_count == texts.count(None)


@pytest.mark.parametrize("layout", ["compatible", "lean"])
@pytest.mark.parametrize("gone", [BitMap(), BitMap(range(0, 1400, 3))], ids=["all", "some"])
def test_merged_rows_are_compressed_anew_when_asked(tmp_path, layout, gone):
    parts = [some_rows(1400, seed) for seed in (1, 2)]
    # enough blocks to be copied
    options = {"layout": layout, "store_block_bytes": 2048}
    written = [write_split(tmp_path, part, **options) for part in parts]
    store = written[0][0]
    inputs = [MergeInput(path, None, gone.serialize()) for _, path in written]
    requests: tuple[dict[str, str], ...] = (
        {},
        {"store_compression": "zstd:1"},
        {"store_compression": "zstd:19"},
    )
    kept = [row for row in range(1400) if row not in gone]
    expected = pa.concat_tables([part.take(kept) for part in parts])
    sizes = []
    for number, more in enumerate(requests):
        path = f"{number}.split"
        assert merge_splits(inputs, store, path, options={"layout": layout, **more}).skipped == {}
        assert Split.verify(store, path) == []
        split = Split(store, path, schema=expected.schema)
        assert rows_of(split, expected.schema) == repr(expected.to_pylist())
        [rows] = [part for part in split.components() if part["component_type"] == "store"]
        sizes.append(rows["size_bytes"])
    assert sizes[2] < sizes[1] <= sizes[0]
    # copied blocks and compressed ones merge again
    again = [MergeInput(f"{number}.split") for number in range(3)]
    merge_splits(again, store, "again.split")
    thrice = pa.concat_tables([expected] * 3)
    found = Split(store, "again.split", schema=expected.schema)
    assert rows_of(found, expected.schema) == repr(thrice.to_pylist())
