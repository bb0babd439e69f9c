"""The query of each split: the pushed query with the split's partition values filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.expr.evaluate import evaluate_leaf
from indextables.expr.predicate import Missing, OneOf, Predicate, Range, TextMatch, walk
from indextables.model import kernels as pc
from indextables.model.arrays import small_scalar
from indextables.plan.filters import FilterPlan, query_for
from indextables.plan.partitions import partition_arrays

if TYPE_CHECKING:
    from indextables.plan.columns import Columns
    from indextables.plan.tree import Tree

_UNKNOWN = 2


def split_queries(
    plan: FilterPlan, files: pa.Table, columns: Columns
) -> tuple[list[Tree], list[int]]:
    """The distinct queries, and for every split the number of its own.

    Splits differ only in the truth of the tests on partition columns, so there are few queries
    however many splits there are.
    """
    tests = _partition_tests(plan, columns) if columns.partition_names else []
    if not tests:
        return [plan.query], [0] * files.num_rows
    values = partition_arrays(files, columns.schema, columns.partition_names)
    # predicates that cannot be evaluated here (some regular expressions) are not pushed either
    evaluated = [(test, evaluate_leaf(test, values)) for test in tests]
    truths = {test: truth for test, truth in evaluated if truth is not None}
    code = pa.repeat(small_scalar(0, pa.int64()), files.num_rows)
    for truth in truths.values():
        digit = pc.fill_null(truth.cast(pa.int64()), small_scalar(_UNKNOWN, pa.int64()))
        # numbered from zero each time, so that the number of predicates is unlimited
        code = pc.add(pc.multiply(code, 3), digit).dictionary_encode().indices.cast(pa.int64())
    kinds = pc.unique(code)
    firsts = [pc.index(code, kind).as_py() for kind in kinds]
    queries = [
        query_for(plan, columns, {test: truth[row].as_py() for test, truth in truths.items()})
        for row in firsts
    ]
    return queries, pc.index_in(code, kinds).to_pylist()


def _partition_tests(plan: FilterPlan, columns: Columns) -> list[Predicate]:
    found: dict[Predicate, None] = {}
    for predicate in plan.bound:
        for node in walk(predicate):
            if isinstance(node, Range | OneOf | TextMatch | Missing):
                info = columns.at(node.path)
                if info is not None and info.partition and columns.comparable(node.path):
                    found[node] = None
    return list(found)
