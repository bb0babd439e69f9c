from __future__ import annotations

import pytest

from indextables.errors import IndexTablesError
from indextables.model.types import Array, Atomic, Decimal, Field, Struct
from indextables.plan.schemas import check_widened, fit_schema

TABLE = Struct(
    (
        Field("id", Atomic("integer")),
        Field("Name", Atomic("string")),
        Field("cost", Decimal(10, 2)),
        Field("tags", Array(Atomic("integer"))),
        Field("user", Struct((Field("age", Atomic("integer")),))),
    )
)


def data(**kinds):
    return Struct(tuple(Field(name, kind) for name, kind in kinds.items()))


def test_columns_are_found_in_any_order_and_case():
    assert fit_schema(data(name=Atomic("string"), ID=Atomic("integer")), TABLE) == TABLE


def test_narrower_values_fit_without_changing_the_table():
    narrow = data(id=Atomic("short"), cost=Decimal(5, 1), tags=Array(Atomic("byte")))
    assert fit_schema(narrow, TABLE) == TABLE


def test_wider_types_are_named_with_both_types():
    with pytest.raises(IndexTablesError, match="SCHEMA_MISMATCH") as caught:
        fit_schema(data(id=Atomic("long"), extra=Atomic("date")), TABLE)
    text = str(caught.value)
    assert "column `id` is integer in the table and long in the data" in text
    assert "no column `extra`" in text


def test_merging_adds_columns_and_members_and_widens_types():
    wide = data(
        id=Atomic("long"),
        extra=Atomic("date"),
        user=Struct((Field("Age", Atomic("long")), Field("city", Atomic("string")))),
    )
    merged = fit_schema(wide, TABLE, merge=True)
    assert merged.names == ["id", "Name", "cost", "tags", "user", "extra"]
    assert merged.get("id").type == Atomic("long")
    user = merged.get("user").type
    assert [(f.name, f.type.name) for f in user.fields] == [("age", "long"), ("city", "string")]


@pytest.mark.parametrize(
    "kind", [Atomic("string"), Atomic("float"), Decimal(9, 0), Array(Atomic("integer"))]
)
def test_types_that_lose_values_are_refused_even_when_merging(kind):
    with pytest.raises(IndexTablesError, match="column `id` is integer"):
        fit_schema(data(id=kind), TABLE, merge=True)


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        (Atomic("byte"), Atomic("short"), Atomic("short")),
        (Atomic("integer"), Decimal(12, 2), Decimal(12, 2)),
        (Atomic("date"), Atomic("timestamp_ntz"), Atomic("timestamp_ntz")),
        (Decimal(10, 2), Decimal(8, 4), Decimal(12, 4)),
        (Array(Atomic("float")), Array(Atomic("double")), Array(Atomic("double"))),
    ],
)
def test_merging_takes_the_least_type_that_holds_both(old, new, merged):
    assert fit_schema(data(a=new), data(a=old), merge=True) == data(a=merged)


def test_decimals_without_a_common_type_are_refused():
    with pytest.raises(IndexTablesError, match="SCHEMA_MISMATCH"):
        fit_schema(data(a=Decimal(38, 0)), data(a=Decimal(38, 10)), merge=True)


def test_keys_and_most_partition_columns_keep_their_types():
    integer, long, double = (data(p=Atomic(k)) for k in ("integer", "long", "double"))
    check_widened(integer, long, ["p"], ())
    for columns, key in (["p"], ()), ([], ("P",)):
        with pytest.raises(IndexTablesError, match="SCHEMA_TYPE_CHANGE"):
            check_widened(integer, double, columns, key)


def test_names_that_differ_in_case_only_are_refused():
    with pytest.raises(IndexTablesError, match="SCHEMA_DUPLICATE_COLUMN"):
        fit_schema(data(a=Atomic("long"), A=Atomic("long")), TABLE, merge=True)
