"""Find companions of source tables for the hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.config import companion as keys
from indextables.errors import error
from indextables.log.open_logs import log_at
from indextables.read.source_relation import (
    SourceRelation,
    companion_locations,
    index_location,
    judge,
)

if TYPE_CHECKING:
    from indextables.spark.request import Request


def companion(request: Request) -> dict[str, Any]:
    """The companion that answers for a source table in a query, or why none does."""
    body, settings = request.body, request.settings
    answers = settings.get(keys.ANSWERS)
    locations = companion_locations(body["source"]["properties"], settings)
    if answers == "none" or not locations:
        return {"found": False, "reason": ""}
    relation = _relation(request)
    reasons = []
    for location in locations:
        path = request.qualify(location)
        log = log_at(path, settings)
        snapshot = log.snapshot()
        verdict = judge(relation, snapshot, request.settings_for(snapshot.metadata.configuration))
        if not verdict.reason:
            found = {"found": True, "path": path, "all": answers == "all"}
            return found if verdict.version is None else found | {"version": verdict.version}
        reasons.append(verdict.reason)
    return {"found": False, "reason": "; ".join(reasons)}


def _relation(request: Request) -> SourceRelation:
    source = request.body["source"]
    files = source.get("files")
    return SourceRelation(
        format=source["format"],
        location=request.qualify(source["location"]),
        version=source.get("version"),
        files=None if files is None else tuple((path, size, at) for path, size, at in files),
        time_zone=request.time_zone,
    )


def companion_path(request: Request) -> dict[str, Any]:
    """The location of a source table's companion, and how long a catalog may cache it."""
    settings = request.settings
    found = index_location(request.body["source"]["properties"], settings)
    if found is None:
        raise error("COMPANION_UNNAMED", name=request.body["name"])
    minutes = settings.get(keys.CATALOG_TTL_MINUTES)
    return {"path": request.qualify(found), "minutes": minutes}
