"""Plans of scans, cached between the calls of one query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.read.scan import Scan, plan_scan
from indextables.runtime.cache import Cache

if TYPE_CHECKING:
    from indextables.config.settings import Settings
    from indextables.read.request import ScanRequest
    from indextables.read.table import OpenTable

# table, version, state of a companion's source, settings (whose secrets compare but do not show)
# and what is wanted
_Key = tuple[str, str, int, str, "Settings", "ScanRequest"]
_plans: Cache[_Key, Scan] = Cache(32)


def planned(table: OpenTable, request: ScanRequest) -> Scan:
    """The plan of a scan, cached for the next calls of the same query."""
    snapshot = table.snapshot
    mark = "" if table.companion is None else table.companion.mark
    key = (table.store.url, snapshot.metadata.id, snapshot.version, mark, table.settings, request)
    return _plans.get_or(key, lambda: plan_scan(table, request))
