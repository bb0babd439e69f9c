"""Plans run by the engine: a planned query returns the rows that SQL finds.

Exactness depends on both planner and engine. Here both are checked against SQL's three-valued logic
over generated rows and predicates of every type.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native.generated_tables import to_table
from tests.unit.plan.generated import SCHEMA, columns_in, predicates, rows
from tests.unit.plan.sql_oracle import truth

from indextables.expr.predicate import parse_predicate
from indextables.expr.values import kind_of
from indextables.model.types import Array, Decimal, Field, Struct
from indextables.plan.columns import describe_columns
from indextables.plan.fields import remember_fields
from indextables.plan.filters import plan_filters
from rows import LAYOUTS, open_rows

INSIDE = Struct(tuple(f for f in SCHEMA.fields if f.name.startswith("c_")))
TEXT = [{"name": "c_string", "role": "text"}]
DOC = pa.schema([("_doc", pa.int64())])


@st.composite
def batches(draw):
    """A predicate, rows that vary in its columns, and how they are written."""
    predicate = draw(predicates(INSIDE))
    names = columns_in(predicate)
    data = draw(st.lists(rows(INSIDE, names), min_size=1, max_size=12))
    layout = draw(st.sampled_from(LAYOUTS))
    return predicate, data, layout, True


def check(folder, predicate, data, layout, as_words):
    fields = TEXT if as_words else []
    columns = describe_columns(INSIDE, configuration=remember_fields(fields))
    planned = plan_filters([parse_predicate(predicate)], columns)
    split = open_rows(folder, to_table(data, INSIDE), fields=fields, layout=layout)
    found = set(split.table(planned.query, DOC)["_doc"].to_pylist())
    expected = {n for n, row in enumerate(data) if truth(predicate, row, INSIDE) is True}
    assert split.count(planned.query) == len(found)
    if planned.pushed == ("exact",):
        assert found == expected, planned.query
    else:
        assert found >= expected, planned.query


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plans")


@settings(max_examples=100, deadline=None)
@given(batches())
def test_planned_queries_find_sqls_rows(folder, case):
    check(folder, *case)


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(batches())
def test_planned_queries_find_sqls_rows_in_thousands_of_cases(folder, case):
    check(folder, *case)


def test_every_scalar_type_takes_part():
    kinds = {kind_of(f.type) for f in INSIDE.fields}
    assert {"boolean", "byte", "long", "float", "double", "string", "binary", "date"} <= kinds
    assert any(isinstance(f.type, Decimal) for f in INSIDE.fields)
    assert any(isinstance(f.type, Array) for f in INSIDE.fields)
    assert any(isinstance(f, Field) and isinstance(f.type, Struct) for f in INSIDE.fields)
