"""The constraints of a table: its primary key, and conditions that Spark checks on every write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from indextables.config import rows
from indextables.errors import error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# the member of a table's configuration that holds the conditions, by name
CHECKS_KEY = "indextables.checks"


def constraint_properties(constraints: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the table properties for the constraints of a CREATE TABLE statement."""
    properties: dict[str, str] = {}
    checks: dict[str, str] = {}
    for constraint in constraints:
        if constraint["kind"] == "check":
            checks[constraint["name"]] = constraint["sql"]
        elif constraint["kind"] == "primary_key":
            properties[rows.PRIMARY_KEY.key] = ",".join(constraint["columns"])
        else:
            raise error("CONSTRAINT_UNSUPPORTED", constraint=constraint["sql"])
    return {**properties, **remember_checks(checks)}


def checks_of(configuration: Mapping[str, str]) -> dict[str, str]:
    """The conditions of a table: name to SQL."""
    found: dict[str, str] = json.loads(configuration.get(CHECKS_KEY, "{}"))
    return found


def remember_checks(checks: Mapping[str, str]) -> dict[str, str]:
    """The conditions as stored in a table's configuration."""
    return {CHECKS_KEY: json.dumps(dict(checks), ensure_ascii=False)} if checks else {}


def add_check(configuration: Mapping[str, str], constraint: Mapping[str, Any]) -> dict[str, str]:
    """The property with one more condition; other constraints are only set by CREATE TABLE."""
    if constraint["kind"] != "check":
        raise error("CONSTRAINT_UNSUPPORTED", constraint=constraint["sql"])
    checks = checks_of(configuration)
    if constraint["name"] in checks:
        raise error("CONSTRAINT_EXISTS", name=constraint["name"])
    return remember_checks({**checks, constraint["name"]: constraint["sql"]})


def drop_check(configuration: Mapping[str, str], name: str, *, missing_ok: bool) -> dict[str, str]:
    """The property without a condition; None if it was the last."""
    checks = checks_of(configuration)
    if checks.pop(name, None) is None and not missing_ok:
        raise error("CONSTRAINT_UNKNOWN", name=name, available=", ".join(sorted(checks)) or "none")
    return remember_checks(checks)


def require_no_checks(configuration: Mapping[str, str], path: str) -> None:
    """Reject a write without Spark, because the conditions are SQL."""
    checks = checks_of(configuration)
    if checks:
        raise error("CONSTRAINT_UNCHECKED", path=path, names=", ".join(sorted(checks)))
