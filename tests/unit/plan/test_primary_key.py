"""Valid primary keys, and the table properties that record them."""

from __future__ import annotations

import pytest

from indextables.config.settings import resolve
from indextables.errors import IndexTablesError
from indextables.model.types import Atomic, Field, Struct
from indextables.plan.fields import plan_fields
from indextables.plan.keys import check_same_key, plan_key, remember_key

SCHEMA = Struct(
    (
        Field("id", Atomic("long")),
        Field("Tenant", Atomic("string")),
        Field("at", Atomic("double")),
        Field("text", Atomic("string")),
    )
)


def test_columns_are_spelled_as_in_the_schema_when_the_key_is_not():
    spec = plan_key(SCHEMA, ("Tenant",), resolve({"primary-key": "TENANT, Id"}))
    assert spec is not None
    assert (spec.columns, spec.inside, spec.in_partition) == (("Tenant", "id"), ("id",), True)


def test_a_row_may_be_in_any_partition_when_its_key_does_not_name_one():
    spec = plan_key(SCHEMA, ("Tenant",), resolve({"primary-key": "id"}))
    assert spec is not None
    assert not spec.in_partition


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"primary-key": "other"}, "KEY_COLUMN_UNKNOWN"),
        ({"primary-key": "id", "sequence.field": "other"}, "KEY_COLUMN_UNKNOWN"),
        ({"primary-key": "id", "rowkind.field": "other"}, "KEY_COLUMN_UNKNOWN"),
        ({"primary-key": "at"}, "KEY_TYPE"),
        ({"primary-key": "Tenant"}, "PRIMARY_KEY_PARTITIONS"),
        ({"primary-key": "text", "indexing.typemap.text": "text"}, "PRIMARY_KEY_INDEXING"),
        ({"primary-key": "id", "merge-engine": "aggregation"}, "CONFIG_BAD_VALUE"),
    ],
)
def test_keys_that_cannot_be_kept_are_refused(options, code):
    with pytest.raises(IndexTablesError) as caught:
        plan_fields(SCHEMA, resolve(options), ("Tenant",))
    assert caught.value.code == code


def test_a_table_remembers_its_key_and_refuses_another():
    settings = resolve({"primary-key": "id", "sequence.field": "at", "ignore-delete": "true"})
    kept = remember_key(settings)
    assert kept == {"primary-key": "id", "sequence.field": "at", "ignore-delete": "true"}
    check_same_key(resolve(table=kept), kept)
    with pytest.raises(IndexTablesError) as caught:
        check_same_key(resolve({"primary-key": "text"}, table=kept), kept)
    assert caught.value.code == "PRIMARY_KEY_CHANGED"
