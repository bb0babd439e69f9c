from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plan.generated import values
from tests.unit.plan.sql_oracle import key

from indextables.errors import IndexTablesError
from indextables.expr.literals import render_literal
from indextables.model.types import Atomic, Decimal
from indextables.plan.partitions import map_column, parse_value, typed_partition

TEXTS = pa.map_(pa.string(), pa.string())
KINDS = [
    *(Atomic(name) for name in ("boolean", "byte", "short", "integer", "long", "float", "double",
                                "string", "date", "timestamp", "timestamp_ntz", "binary")),
    Decimal(6, 2),
    Decimal(38, 10),
]  # fmt: skip


@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), values(kind))))
def test_partition_values_survive_their_text(case):
    kind, value = case
    again = parse_value(render_literal(value, kind), kind, "c")
    assert key(again) == key(value)


@pytest.mark.parametrize(
    ("days", "text"),
    [(0, "1970-01-01"), (-719_528, "0000-01-01"), (2_932_896, "9999-12-31"),
     (2_932_897, "+10000-01-01"), (-719_529, "-0001-12-31"), (2_147_483_647, "+5881580-07-11")],
)  # fmt: skip
def test_days_of_any_year_have_a_text(days, text):
    assert render_literal(days, Atomic("date")) == text
    assert parse_value(text, Atomic("date"), "d") == days


@pytest.mark.parametrize(
    "text",
    ["2024-01-02 03:04:05", "2024-01-02T03:04:05Z", "2024-01-02T03:04:05.000Z",
     "2024-01-02 03:04:05.000000", "2024-01-02T04:04:05+01:00", "1704164645000000"],
)  # fmt: skip
def test_times_are_read_in_every_spelling(text):
    assert parse_value(text, Atomic("timestamp"), "t") == 1_704_164_645_000_000


def test_null_has_three_spellings():
    maps = pa.array(
        [[("p", "1")], [], [("p", None)], [("p", "__HIVE_DEFAULT_PARTITION__")], None], TEXTS
    )
    assert typed_partition(maps, "p", Atomic("integer")).to_pylist() == [1, None, None, None, None]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("128", Atomic("byte")), ("99999999999", Atomic("integer")), ("-9" * 10, Atomic("long")),
     ("123456.5", Decimal(6, 2)), ("9223372036854775808", Atomic("long"))],
)  # fmt: skip
def test_a_number_that_does_not_fit_its_column_is_reported(text, kind):
    with pytest.raises(IndexTablesError, match=f"has the value `{text}`"):
        parse_value(text, kind, "n")


def test_text_that_is_no_value_is_reported_with_column_and_type():
    with pytest.raises(IndexTablesError, match="`month` of type `integer` has the value `may`"):
        parse_value("may", Atomic("integer"), "month")


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.dictionaries(st.sampled_from("abc"), st.one_of(st.none(), st.text(max_size=2))),
        ),
        max_size=20,
    ),
    st.integers(0, 5),
)
def test_key_of_maps_is_found_in_slices_and_chunks(maps, start):
    data = [None if m is None else list(m.items()) for m in maps]
    array = pa.array(data, TEXTS)
    expected = [None if m is None else m.get("b") for m in maps]
    assert map_column(array, "b").to_pylist() == expected
    assert map_column(array[start:], "b").to_pylist() == expected[start:]
    halves = pa.chunked_array([array[:start], array[start:]])
    assert map_column(halves, "b").to_pylist() == expected
