"""What EXPLAIN shows of a scan: everything that was pushed down, as short SQL."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from indextables.plan.filters import EXACT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.plan.scan import ScanPlan

_INFIX = {
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "<=>",
    "LIKE",
    "RLIKE",
    "indexquery",
    "textsearch",
    "fieldmatch",
}
# searches of all columns: their first argument only tells of which table
_EVERYWHERE = {"indexqueryall", "textsearchall", "fieldmatchall"}
_TESTS = {"IS_NULL": "IS NULL", "IS_NOT_NULL": "IS NOT NULL"}
_LONGEST = 200


def describe_scan(body: Mapping[str, Any], plan: ScanPlan, *, local: bool) -> str:
    """One line for the plan."""
    counters = plan.counters
    parts = [f"columns: [{', '.join(f['name'] for f in body['schema']['fields'])}]"]
    if body.get("predicates"):
        parts.append(f"pushed filters: [{_joined(body['predicates'])}]")
        grades = zip(body["predicates"], plan.filters.pushed, strict=False)
        if checked := [predicate for predicate, grade in grades if grade != EXACT]:
            parts.append(f"checked by Spark: [{_joined(checked)}]")
    if body.get("runtime"):
        parts.append(f"runtime filters: [{_joined(body['runtime'])}]")
    aggregation = body.get("aggregation")
    if aggregation:
        keys = f" group by [{_joined(aggregation['group_by'])}]" if aggregation["group_by"] else ""
        parts.append(f"pushed aggregates: [{_joined(aggregation['functions'])}]{keys}")
    if body.get("order"):
        parts.append(f"pushed order: [{_joined(body['order'])}]")
    numbers = [key for key in ("limit", "offset") if body.get(key) is not None]
    parts.extend(f"pushed {key}: {body[key]}" for key in numbers)
    parts.append(f"splits: {counters.kept} of {counters.considered}")
    parts.append(f"answered by: {_answerer(plan, local=local)}")
    return ", ".join(parts)


def _answerer(plan: ScanPlan, *, local: bool) -> str:
    if plan.answered_by_log:
        return "log"
    return "planner" if local else "tasks"


def _joined(values: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(render(value) for value in values)


def render(value: Mapping[str, Any]) -> str:
    """An expression of the hooks as short SQL."""
    if "col" in value:
        return ".".join(value["col"])
    if "lit" in value:
        return _literal(value)
    if "expr" in value:
        nulls = "FIRST" if value["nulls_first"] else "LAST"
        return f"{render(value['expr'])} {'ASC' if value['asc'] else 'DESC'} NULLS {nulls}"
    if "agg" in value:
        return _aggregate(value)
    if "keys" in value:
        return _keys(value)
    return _call(value)


def _call(value: Mapping[str, Any]) -> str:  # noqa: PLR0911 (one line per kind of call)
    name, args = str(value["op"]), [render(arg) for arg in value.get("args", [])]
    if name in ("AND", "OR"):
        return f"({f' {name} '.join(args)})"
    if name in _INFIX:
        return f"{args[0]} {name} {args[1]}"
    if name in _TESTS:
        return f"{args[0]} {_TESTS[name]}"
    if name in _EVERYWHERE:
        return f"{name}({args[-1]})"
    if name == "CAST":
        return f"CAST({args[0]} AS {value['type']})"
    if name == "IN":
        return f"{args[0]} IN ({', '.join(args[1:])})"
    # what follows the first arguments of date_trunc are the rules of a time zone
    shown = args[:2] if name == "date_trunc" else args
    return f"{name}{' ' if name == 'NOT' else ''}({', '.join(shown)})"


def _keys(value: Mapping[str, Any]) -> str:
    """The keys of a join, of which there may be many."""
    used = "" if "values" in value else ", too many for the index"
    return f"{render(value['args'][0])} IN ({value['keys']} keys{used})"


def _literal(value: Mapping[str, Any]) -> str:
    literal = value["lit"]
    if literal is None:
        return "NULL"
    if isinstance(literal, dict):
        return f"x'{base64.b64decode(literal['base64']).hex()}'"
    text = f"'{literal}'" if value.get("type") == "string" else str(literal)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _aggregate(value: Mapping[str, Any]) -> str:
    if value["agg"] == "COUNT_STAR":
        return "COUNT(*)"
    distinct = "DISTINCT " if value.get("distinct") else ""
    return f"{value['agg']}({distinct}{_joined(value['args'])})"
