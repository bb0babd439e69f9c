"""BUILD COMPANION WITH STREAMING: repeat the sync with pauses."""

from __future__ import annotations

import logging
from time import sleep
from typing import TYPE_CHECKING

from indextables.commands.companion_build import BuildRequest, build
from indextables.config import companion as keys
from indextables.errors import IndexTablesError
from indextables.runtime.steps import Steps

if TYPE_CHECKING:
    from indextables.read.table import Row
    from indextables.runtime.context import Context

_log = logging.getLogger("indextables.companion")
# the maximum pause after failures, in intervals
_LONGEST = 10


def follow(
    request: BuildRequest, context: Context, seconds: float, cycles: int | None = None
) -> Steps[Row]:
    """Sync at intervals until interrupted; return the row of the last sync that did something.

    After a failure the pause grows; too many consecutive failures end it. `cycles` limits syncs.
    """
    settings = context.settings({})
    most, factor = settings.get(keys.STREAM_MAX_ERRORS), settings.get(keys.STREAM_BACKOFF)
    quiet_after = settings.get(keys.STREAM_QUIET_POLLS)
    failures = quiet = done = 0
    last: Row | None = None
    while True:
        try:
            row = yield from build(request, context)
        except KeyboardInterrupt:
            break
        except IndexTablesError as failure:
            failures += 1
            _log.warning("sync of `%s` failed (%d): %s", request.destination, failures, failure)
            if failures >= most:
                raise
        else:
            failures = 0
            quiet = quiet + 1 if row["status"] == "no_action" else 0
            if quiet == 0 or quiet % quiet_after == 0:
                _log.info("sync of `%s`: %s", request.destination, row["message"])
            last = row if last is None or quiet == 0 else last
        done += 1
        if cycles is not None and done >= cycles:
            break
        try:
            sleep(seconds * min(factor**failures, _LONGEST))
        except KeyboardInterrupt:
            break
    return last or {"table_path": request.destination, "status": "no_action"}
