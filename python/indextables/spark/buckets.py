"""Check the arguments of bucket functions for the hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.expr.predicate import read_type
from indextables.expr.values import decode
from indextables.plan.bucket_calls import NOT_CONSTANT, check_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.spark.request import Request


def bucket(request: Request) -> dict[str, Any]:
    """The normalized arguments of a call after its column; an error if they are invalid."""
    column, *others = request.body["arguments"] or [None]
    kind = None if column is None else read_type(column["type"])
    found = check_call(request.body["function"], kind, [_value(each) for each in others])
    return {"arguments": list(found.arguments), "min_doc_count": found.min_doc_count}


def _value(argument: Mapping[str, Any]) -> Any:
    if "lit" not in argument:
        return NOT_CONSTANT
    return decode(argument["lit"], read_type(argument["type"]))
