"""Writers: columns, options, and values that do not fit."""

from __future__ import annotations

import datetime as dt
import json
import math
import signal
import zlib
from decimal import Decimal

import pyarrow as pa
import pytest

from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.engine.writer import SplitWriter
from indextables.errors import ConfigError, InvalidError, UnsupportedError
from rows import open_rows, some_rows

LAYOUTS = ["compatible", "lean"]


def finish(folder, rows, fields=(), **options):
    store = open_store(str(folder))
    writer = SplitWriter(rows.schema, fields, options)
    for batch in rows.to_batches():
        writer.write(batch)
    info = writer.finish(store, "a.split")
    return Split(store, "a.split", (info.footer_start, info.footer_end), schema=rows.schema), info


def tokens(split, field, *words):
    return [split.count({"type": "token_term", "field": field, "text": word}) for word in words]


NESTED = pa.struct(
    [
        ("flag", pa.bool_()),
        ("tiny", pa.int8()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("price", pa.decimal128(20, 3)),
        ("blob", pa.binary()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("span", pa.duration("us")),
        ("many", pa.list_(pa.struct([("k", pa.map_(pa.int32(), pa.list_(pa.float64())))]))),
    ]
)
DEEP = {
    "flag": True,
    "tiny": -128,
    "single": 0.1,
    "double": -0.0,
    "price": Decimal("-12.300"),
    "blob": b"\x00\xff",
    "day": dt.date(9999, 12, 31),
    "at": dt.datetime(1, 1, 1, 0, 0, 0, 1, dt.UTC),
    "local": dt.datetime(2024, 5, 6, 7, 8, 9, 10),  # noqa: DTZ001
    "span": dt.timedelta(days=-3, microseconds=7),
    "many": [{"k": [(-1, [math.inf, None, math.nan]), (7, None), (8, [])]}, None, {"k": None}],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nested_values_come_back_exactly_when_types_nest(tmp_path, layout):
    values = [DEEP, None, dict.fromkeys(DEEP), {**DEEP, "many": []}]
    rows = pa.table({"s": pa.array(values, NESTED), "id": [1, 2, 3, 4]})
    split, _ = finish(tmp_path, rows, layout=layout)
    found = split.table(None, rows.schema)
    # NaN does not equal itself, but its text does
    assert repr(found["s"].to_pylist()) == repr(rows["s"].to_pylist())


@pytest.mark.parametrize(
    ("key", "keys"),
    [
        (pa.string(), ["a", "", "ä.b"]),
        (pa.int64(), [2**63 - 1, -(2**63), 0]),
        (pa.bool_(), [True, False]),
        (pa.float64(), [1.5, -math.inf, 1e-300]),
        (pa.decimal128(10, 2), [Decimal("1.00"), Decimal("-0.01")]),
        (pa.date32(), [dt.date(1, 1, 1), dt.date(2024, 2, 29)]),
        (pa.timestamp("us"), [dt.datetime(2024, 1, 1, 0, 0, 0, 1)]),  # noqa: DTZ001
        (pa.binary(), [b"\x00", b""]),
        (pa.struct([("x", pa.int32())]), [{"x": 1}, {"x": None}]),
    ],
)
def test_maps_come_back_exactly_when_keys_are_of_any_type(tmp_path, key, keys):
    column = pa.array([[(k, i) for i, k in enumerate(keys)], [], None], pa.map_(key, pa.int32()))
    rows = pa.table({"m": column, "inside": pa.StructArray.from_arrays([column], ["m"])})
    split, _ = finish(tmp_path, rows)
    assert split.table(None, rows.schema).to_pylist() == rows.to_pylist()


def test_json_and_addresses_come_back_as_text_when_written_unusually(tmp_path):
    texts = [
        '{"b":1,"a":[1.0,null]}',
        '{ "a" : 1e3 }',
        None,
        '{"n":123456789012345678901234567890}',
    ]
    addresses = ["10.0.0.1", "2001:DB8::1", "::ffff:1.2.3.4", None]
    rows = pa.table({"j": texts, "ip": addresses})
    fields = [{"name": "j", "role": "json"}, {"name": "ip", "role": "ip"}]
    for layout in LAYOUTS:
        split, _ = finish(tmp_path / layout, rows, fields, layout=layout)
        assert split.table(None, rows.schema).to_pylist() == rows.to_pylist()
        assert split.count({"type": "exists", "field": "j"}) == 3
        assert split.count({"type": "term", "field": "ip", "value": "2001:db8::1"}) == 1


def test_a_later_batch_is_not_accepted_when_its_texts_need_exactness(tmp_path):
    plain, odd = (pa.table({"j": [text]}).to_batches()[0] for text in ('{"a":1}', '{"a": 1}'))
    fields = [{"name": "j", "role": "json"}]
    writer = SplitWriter(plain.schema, fields)
    writer.write(plain)
    assert not writer.accepts(odd)
    writer.finish(open_store(str(tmp_path)), "a.split")
    assert writer.accepts(odd)
    writer.write(odd)
    assert writer.accepts(plain)


def test_long_strings_are_stored_when_lean_would_not_store_them(tmp_path):
    short, long = (pa.table({"s": [text]}).to_batches()[0] for text in ("a", "x" * 70_000))
    writer = SplitWriter(short.schema, (), {"layout": "lean"})
    writer.write(short)
    assert not writer.accepts(long)
    split, info = finish(tmp_path, pa.Table.from_batches([long, short]), layout="lean")
    assert info.doc_mapping[0]["stored"]
    assert split.table(None, short.schema)["s"].to_pylist() == ["x" * 70_000, "a"]


@pytest.mark.parametrize(
    ("role", "value"), [("json", "[1]"), ("json", "{"), ("ip", "10.0.0"), ("ip", "")]
)
def test_a_value_is_refused_when_it_does_not_fit_the_role(role, value):
    rows = pa.table({"c": ["ok" if value is None else value]}).to_batches()[0]
    writer = SplitWriter(rows.schema, [{"name": "c", "role": role}])
    with pytest.raises(InvalidError, match=r"\[DATA_BAD_VALUE\] column `c`"):
        writer.write(rows)


def test_a_column_is_refused_when_its_type_has_no_place():
    with pytest.raises(UnsupportedError, match="Time64"):
        SplitWriter(pa.schema([("t", pa.time64("us"))]))


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"name": "nope"}, "one of c"),
        ({"name": "c", "role": "text", "tokenizer": "klingon_stem"}, "klingon_stem"),
        ({"name": "c", "role": "text", "token_length": 0}, "from 1 to 65530"),
        ({"name": "c", "role": "wrong"}, "role|variant"),
        ({"name": "c", "colour": "red"}, "colour"),
    ],
)
def test_a_choice_is_refused_when_it_is_unknown(field, message):
    with pytest.raises(ConfigError, match=message):
        SplitWriter(pa.schema([("c", pa.string())]), [field])


def test_a_role_is_refused_when_the_column_is_no_string():
    with pytest.raises(ConfigError, match=r"typemap\.n"):
        SplitWriter(pa.schema([("n", pa.int64())]), [{"name": "n", "role": "text"}])


def test_words_are_cut_as_the_tokenizer_says(tmp_path):
    text = "The Connections of parseHTTPHeader 0xBEEF " + "x" * 60
    rows = pa.table({"t": [text]})

    def words(number, *wanted, **choices):
        fields = [{"name": "t", "role": "text", **choices}]
        return tokens(finish(tmp_path / str(number), rows, fields)[0], "t", *wanted)

    assert words(1, "connections", "Connections", "x" * 60) == [1, 1, 1]
    assert words(2, "connect", tokenizer="en_stem") == [1]
    assert words(3, "parseHTTPHeader", "parsehttpheader", tokenizer="whitespace") == [1, 0]
    assert words(4, "header", "http", tokenizer="source_code_default") == [1, 1]
    assert words(5, "0xbeef", tokenizer="source_code_with_hex") == [1]
    assert words(6, "x" * 60, "parsehttpheader", token_length=20) == [0, 1]
    assert words(7, text, "connections", tokenizer="raw") == [1, 0]
    assert words(8, "ion", "zzz", tokenizer="ngram(3,3)") == [1, 0]


def test_phrases_need_positions_when_the_record_option_leaves_them_out(tmp_path):
    rows = pa.table({"t": ["connection reset by peer"]})
    phrase = {"type": "phrase", "field": "t", "text": "reset by", "slop": 0}
    split, _ = finish(tmp_path / "a", rows, [{"name": "t", "role": "text"}])
    assert split.count(phrase) == 1
    split, _ = finish(tmp_path / "b", rows, [{"name": "t", "role": "text", "record": "freq"}])
    with pytest.raises(InvalidError, match="position"):
        split.count(phrase)


def test_columns_are_fast_stored_and_indexed_as_the_layout_and_the_table_say(tmp_path):
    rows = some_rows(50)
    store_only = {"name": "name", "indexed": False, "fast": False}
    index_only = {"name": "message", "role": "text", "stored": False}
    fields = [store_only, index_only, {"name": "number", "fast": False}]
    fields.append({"name": "person", "json_mode": "minimal"})
    _, info = finish(tmp_path, rows, fields)
    kinds = {c["name"]: (c["stored"], c["indexed"], c["fast"]) for c in info.doc_mapping}
    assert kinds["name"] == (True, False, False)
    assert kinds["message"] == (False, True, False)
    assert kinds["number"] == (True, True, False)
    assert kinds["person"] == (True, True, False)
    assert kinds["big"] == (True, True, True)
    _, info = finish(tmp_path, rows, [{"name": "message", "role": "text"}], layout="lean")
    kinds = {c["name"]: (c["stored"], c["indexed"], c["fast"]) for c in info.doc_mapping}
    assert kinds["name"] == (False, True, True)
    assert kinds["message"] == (True, True, False)
    assert kinds["at"] == kinds["big"] == (False, False, True)
    assert kinds["blob"] == (True, True, False)


def test_bounds_and_null_counts_are_typed_and_hold_every_value(tmp_path):
    rows = pa.table(
        {
            "n": pa.array([5, None, -3], pa.int32()),
            "f": [math.nan, 1.0, -math.inf],
            "d": pa.array([Decimal("9.50"), Decimal("-10.00"), None], pa.decimal128(38, 2)),
            "s": ["b" * 40, None, "a" * 40],
            "t": pa.array([0, 1, None], pa.timestamp("us")),
            "day": pa.array([dt.date(1, 1, 1), None, dt.date(2024, 1, 1)]),
            "none": pa.array([None, None, None], pa.string()),
            "left": [1, 2, 3],
        }
    )
    _, info = finish(tmp_path, rows, [{"name": "left", "stats": False}])
    bounds = {name: (c.min, c.max, c.null_count) for name, c in info.columns.items()}
    assert bounds == {
        "n": (-3, 5, 1),
        "f": ("-Infinity", "NaN", 0),
        "d": ("-10.00", "9.50", 1),
        "s": ("a" * 32, "b" * 31 + "c", 1),
        "t": (0, 1, 1),
        "day": (-719162, 19723, 1),
        "none": (None, None, 3),
        "left": (None, None, 0),
    }


def test_memory_stays_bounded_when_the_heap_is_small(tmp_path):
    rows = some_rows(20_000, nulls=0.0)
    store = open_store(str(tmp_path))
    fields = [{"name": "message", "role": "text"}]
    writer = SplitWriter(rows.schema, fields, {"heap_bytes": 16 << 20, "temp_dir": str(tmp_path)})
    most = 0
    for batch in rows.to_batches(max_chunksize=1000):
        writer.write(batch)
        most = max(most, writer.memory_bytes)
    assert most < 24 << 20
    estimate = writer.estimated_bytes
    info = writer.finish(store, "a.split")
    assert info.num_records == 20_000
    assert 0.3 < estimate / info.size < 3
    split = Split(store, "a.split", schema=rows.schema)
    assert split.table(None, pa.schema([("big", pa.int64())]))["big"] == rows["big"]
    assert [p.name for p in tmp_path.iterdir()] == ["a.split"]


def test_nothing_is_left_when_a_writer_is_aborted(tmp_path):
    rows = some_rows(100)
    writer = SplitWriter(rows.schema, (), {"temp_dir": str(tmp_path)})
    writer.write(rows.to_batches()[0])
    assert list(tmp_path.iterdir())
    writer.abort()
    assert not list(tmp_path.iterdir())
    assert writer.rows == 0


def test_types_of_large_and_view_arrays_are_taken_as_their_plain_ones(tmp_path):
    rows = pa.table(
        {
            "s": pa.array(["a", None], pa.large_string()),
            "v": pa.array(["x", "y"], pa.string_view()),
            "b": pa.array([b"1", None], pa.large_binary()),
            "d": pa.array(["p", None]).dictionary_encode(),
        }
    )
    plain = pa.schema([(n, pa.string() if n != "b" else pa.binary()) for n in rows.schema.names])
    with pytest.raises(UnsupportedError, match="Dictionary"):
        finish(tmp_path, rows)
    split, _ = finish(tmp_path, rows.drop(["d"]))
    found = split.table(None, plain.remove(3))
    assert found.to_pylist() == rows.drop(["d"]).to_pylist()


def test_the_sidecar_lists_checksums_of_every_other_file(tmp_path):
    finish(tmp_path, some_rows(10))
    data = (tmp_path / "a.split").read_bytes()
    begin = data.rindex(b'{"version":2,')
    sidecar = json.JSONDecoder().raw_decode(data[begin:].decode("utf-8", "replace"))[0]
    table = data[data.rindex(b'{"files":') :]
    files = json.JSONDecoder().raw_decode(table.decode("utf-8", "replace"))[0]["files"]
    assert set(sidecar["checksums"]) == set(files) - {"_indextables.json", "_indextables.crc"}
    assert sidecar["blocks"].keys() == sidecar["checksums"].keys()
    span = files["_indextables.crc"]
    written = int.from_bytes(data[span["start"] : span["end"]], "little")
    span = files["_indextables.json"]
    assert zlib.crc32(data[span["start"] : span["end"]]) == written


def test_splits_open_the_same_when_read_with_and_without_footer_offsets(tmp_path):
    rows = some_rows(300)
    assert open_rows(tmp_path, rows).count() == 300
    split, _ = finish(tmp_path, rows)
    assert split.count() == 300


def test_finishing_stops_when_a_signal_raises(tmp_path):
    class StopError(Exception):
        pass

    def stop(*_):
        raise StopError

    words = pa.array([f"word{n % 50_000} word{n * 7 % 90_000}" for n in range(150_000)])
    rows = pa.table({"t": words})
    fields = [{"name": "t", "role": "text"}]
    writer = SplitWriter(rows.schema, fields, {"temp_dir": str(tmp_path)})
    for batch in rows.to_batches(max_chunksize=10_000):
        writer.write(batch)
    store = open_store(str(tmp_path))
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(StopError):
            writer.finish(store, "a.split")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not list(tmp_path.iterdir())
