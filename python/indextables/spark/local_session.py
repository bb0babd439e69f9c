"""A local Spark session for the demo, `indextables sql` and `doctor`."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from indextables.spark.session import configure

if TYPE_CHECKING:
    from collections.abc import Mapping

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
}
_STDERR = 2


def local_session(name: str, conf: Mapping[str, str], master: str = "local[*]") -> Any:
    """Start a session that prints nothing unless it fails to start."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(f"indextables {name}")
    for key, value in {**_QUIET, **conf}.items():
        builder = builder.config(key, value)
    builder = configure(builder)
    with quiet_children():
        return builder.getOrCreate()


@contextlib.contextmanager
def quiet_children() -> Iterator[None]:
    """Redirect the standard error of processes started inside to a file.

    The JVM prints notices before any log level applies, and inherits the file for its lifetime. If
    the start fails, what it has printed is shown.
    """
    with tempfile.TemporaryFile() as printed:
        sys.stderr.flush()
        kept = os.dup(_STDERR)
        os.dup2(printed.fileno(), _STDERR)
        try:
            yield
        except BaseException:
            os.dup2(kept, _STDERR)
            printed.seek(0)
            sys.stderr.write(printed.read().decode(errors="replace"))
            raise
        finally:
            os.dup2(kept, _STDERR)
            os.close(kept)
