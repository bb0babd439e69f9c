"""The query of a view: its condition, and its SQL and Python code to copy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from indextables.errors import error
from indextables.expr.calendar import parse_timestamp, render_date, render_timestamp
from indextables.expr.values import FLOATING, INTEGRAL_BITS, kind_of
from indextables.page.view import SCORE
from indextables.sql.values import quote, quote_name

if TYPE_CHECKING:
    from indextables.model.types import Struct
    from indextables.page.view import Narrowing, View

TIMES = ("timestamp", "timestamp_ntz", "date")
NUMBERS = (*INTEGRAL_BITS, *FLOATING, "decimal")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_DAY_MICROS = 86_400_000_000


def condition(view: View, schema: Struct) -> str:
    """The filters and the time range as an SQL condition; empty if there are none."""
    parts = [
        part
        for name, narrowing in view.narrowed.items()
        for part in _column(name, narrowing, schema)
    ]
    if view.time and (view.start or view.end):
        kind = _kind(view.time, schema)
        ends = ((">=", view.start), ("<", view.end))
        parts += [
            f"{quote_name(view.time)} {op} {time_literal(end, kind)}" for op, end in ends if end
        ]
    return " AND ".join(parts)


def time_literal(given: str, kind: str) -> str:
    """A timestamp of the page as a literal for a column of this kind."""
    try:
        micros = parse_timestamp(given)
    except ValueError:
        raise error("TIMESTAMP_INVALID", timestamp=given) from None
    if kind == "date":
        # the first day that begins at or after it, so that ranges stay half open
        return quote(render_date(-(-micros // _DAY_MICROS)))
    return quote(render_timestamp(micros) + ("Z" if kind == "timestamp" else ""))


def sql(view: View, path: str, schema: Struct, limit: int) -> str:
    """The statement that shows these rows through Spark."""
    where = [f"indexqueryall({quote(view.query)})"] if view.query else []
    narrowed = condition(view, schema)
    where += [narrowed] if narrowed else []
    of = "" if view.version is None else f" VERSION AS OF {view.version}"
    lines = [
        f"SELECT *{', _score' if view.query else ''}",
        f"FROM indextables.{quote_name(path)}{of}",
    ]
    lines += ["WHERE " + "\n  AND ".join(where)] if where else []
    lines += [f"ORDER BY {sort_key(view)}"] if sort_key(view) else []
    lines.append(f"LIMIT {limit}")
    lines += [f"OFFSET {(view.page - 1) * limit}"] if view.page > 1 else []
    return "\n".join(lines)


def python(view: View, path: str, schema: Struct, limit: int) -> str:
    """The call that returns these rows as Arrow, without Spark."""
    given = [] if view.version is None else [f"version={view.version}"]
    opened = f"indextables.open({', '.join([repr(path), *given])})"
    arguments = [f"query={view.query!r}"] if view.query else []
    narrowed = condition(view, schema)
    arguments += [f"where={narrowed!r}"] if narrowed else []
    arguments += [f"order_by=[{sort_key(view)!r}]"] if sort_key(view) else []
    arguments.append(f"limit={limit}")
    arguments += [f"offset={(view.page - 1) * limit}"] if view.page > 1 else []
    inner = "".join(f"    {each},\n" for each in arguments)
    return f"import indextables\n\ntable = {opened}\nrows = table.scan(\n{inner})"


def sort_key(view: View) -> str:
    """The order of the rows: as chosen, best first for a search, otherwise unsorted."""
    sort = view.sort or (SCORE if view.query else "")
    if not sort or (sort == SCORE and not view.query):
        return ""
    return f"{sort if sort == SCORE else quote_name(sort)} {'ASC' if view.ascending else 'DESC'}"


def _column(name: str, narrowing: Narrowing, schema: Struct) -> list[str]:
    kind, shown, parts = _kind(name, schema), quote_name(name), []
    present = [value for value in narrowing.values if value is not None]
    chosen = [_literal(value, kind, name) for value in present]
    tests = [f"{shown} IN ({', '.join(chosen)})"] if len(chosen) > 1 else []
    tests += [f"{shown} = {chosen[0]}"] if len(chosen) == 1 else []
    tests += [f"{shown} IS NULL"] if None in narrowing.values else []
    if tests:
        parts.append(tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})")
    for sign, end in ((">=", narrowing.low), ("<", narrowing.high)):
        parts += [f"{shown} {sign} {_literal(end, kind, name)}"] if end else []
    return parts


def _literal(value: str, kind: str, name: str) -> str:
    if kind in NUMBERS:
        if not _NUMBER.fullmatch(value):
            raise error("PAGE_NUMBER", column=name, value=value)
        return value
    if kind == "boolean":
        return "true" if value == "true" else "false"
    return time_literal(value, kind) if kind in TIMES else quote(value)


def _kind(name: str, schema: Struct) -> str:
    found = schema.get(name)
    if found is None:
        raise error("COLUMN_UNKNOWN", columns=name, available=", ".join(schema.names))
    return kind_of(found.type)
