"""Arrow values as Python objects."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from indextables.expr.objects import to_rows


def strings(*values: bytes | None) -> pa.Array:
    """Strings of any bytes."""
    raw = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


def test_values_without_python_objects_are_strings():
    days = pa.array([0, -719_163, 2_932_897], pa.int32()).cast(pa.date32())
    micros = pa.array([0, -1, 253_402_300_800_000_000])
    texts = strings(b"caf\xc3\xa9", b"\xff!", None)
    zone = pa.timestamp("us", "Europe/Berlin")
    nested = pa.StructArray.from_arrays([texts, days], ["text", "day"])
    places = pa.array([0, 1, 1, 3], pa.int32())
    table = pa.table(
        {
            "text": texts,
            "day": days,
            "ntz": micros.cast(pa.timestamp("us")),
            "at": micros.cast(pa.timestamp("us", "UTC")).cast(zone),
            "list": pa.ListArray.from_arrays(places, nested),
            "map": pa.MapArray.from_arrays(places, pa.array(["a", "b", "c"]), texts),
        }
    )
    first, second, third = to_rows(table)
    assert (first["text"], first["day"]) == ("café", dt.date(1970, 1, 1))
    assert (second["text"], second["day"]) == ("�!", "0000-12-31")
    assert (third["text"], third["day"]) == (None, "+10000-01-01")
    assert third["ntz"] == "+10000-01-01T00:00:00"
    assert third["at"] == "+10000-01-01T00:00:00+00:00"
    assert first["list"] == [{"text": "café", "day": dt.date(1970, 1, 1)}]
    assert third["list"][0] == {"text": "�!", "day": "0000-12-31"}
    assert third["list"][1] == {"text": None, "day": third["day"]}
    assert third["map"] == [("b", "�!"), ("c", None)]
