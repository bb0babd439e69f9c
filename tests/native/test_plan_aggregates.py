"""Aggregations that are planned, run by the engine and merged equal SQL's answers."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native.generated_tables import to_table
from tests.unit.plan.aggregate_oracle import alike, answer_of, sql
from tests.unit.plan.generated import SCHEMA, rows

from indextables.expr.aggregation import parse_aggregation
from indextables.model.types import Struct
from indextables.plan.aggregates import plan_aggregation
from indextables.plan.columns import describe_columns
from indextables.plan.fields import remember_fields
from indextables.plan.finals import finish, plan_complete
from indextables.plan.partials import complete_partial, merge_partials
from rows import open_rows

INSIDE = Struct(
    tuple(
        f
        for f in SCHEMA.fields
        if f.name.startswith("c_") and not f.name.endswith(("array", "struct", "float"))
    )
)
NAMES = INSIDE.names
FIELDS = [{"name": name} for name in NAMES if name != "c_string"]
WORDS = [*FIELDS, {"name": "c_string", "role": "text", "fast": False}]
SUMMED = ("c_byte", "c_short", "c_integer", "c_double", "c_decimal", "c_wide")


def function(op, column=None, distinct=False):
    return {"agg": op} | ({"args": [{"col": [column]}], "distinct": distinct} if column else {})


FUNCTIONS = st.one_of(
    st.just(("COUNT_STAR", None, False)),
    st.tuples(st.just("COUNT"), st.sampled_from(NAMES), st.just(False)),
    st.tuples(st.just("SUM"), st.sampled_from(SUMMED[:-1]), st.just(False)),
    st.tuples(st.sampled_from(["MIN", "MAX"]), st.sampled_from(NAMES), st.just(False)),
)


@st.composite
def cases(draw):
    keys = draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
    functions = draw(st.lists(FUNCTIONS, min_size=1, max_size=4))
    used = {*keys, *(column for _, column, _ in functions if column)}
    groups = draw(st.lists(st.lists(rows(INSIDE, used), min_size=1, max_size=8), max_size=3))
    for row in (row for group in groups for row in group):
        price = row["c_double"]
        if price is not None:
            # sums that do not depend on the order
            small = float(round(math.fmod(price, 1000))) if math.isfinite(price) else math.nan
            row["c_double"] = small
    return keys, functions, groups, draw(st.booleans())


def partials(folder, groups, plan, fields):
    batches = []
    for group in groups:
        split = open_rows(folder, to_table(group, INSIDE), fields=fields)
        answer = split.aggregate(None, plan.request, plan.engine_schema)
        batches.extend(complete_partial(batch, plan, {}) for batch in answer.to_batches())
    return pa.Table.from_batches(batches, plan.schema)


def assert_same(table, keys, expected):
    found = answer_of(table, keys)
    assert found.keys() == expected.keys()
    for group, values in expected.items():
        assert all(alike(a, b) for a, b in zip(found[group], values, strict=True)), group


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("aggregates")


@settings(max_examples=60, deadline=None)
@given(cases())
def test_planned_aggregates_are_sqls(folder, case):
    keys, functions, groups, as_words = case
    fields = WORDS if as_words else FIELDS
    columns = describe_columns(INSIDE, configuration=remember_fields(fields))
    request = {
        "group_by": [{"col": [key]} for key in keys],
        "functions": [function(*f) for f in functions],
    }
    plan = plan_aggregation(parse_aggregation(request), columns)
    assert plan is not None
    merged = merge_partials(partials(folder, groups, plan, fields), plan)
    everything = [row for group in groups for row in group]
    expected = sql(everything, keys, functions) if everything or not keys else {}
    assert_same(merged, len(keys), expected)


def test_distinct_values_are_counted_across_splits(folder):
    data = [{"c_string": text, "c_long": n} for n, text in enumerate(["a", "b", "a", None, "c"])]
    data = [dict.fromkeys(NAMES) | row for row in data]
    columns = describe_columns(INSIDE, configuration=remember_fields(FIELDS))
    request = {"functions": [function("COUNT", "c_string", True), function("AVG", "c_long")]}
    plan = plan_complete(parse_aggregation(request), columns)
    found = finish(partials(folder, [data, data[:2]], plan.partial, FIELDS), plan)
    assert found.to_pylist() == [{"agg_func_0": 3, "agg_func_1": 11 / 7}]
