"""Entry of the planner process: Spark's daemon imports only modules named pyspark-something."""

from __future__ import annotations

from typing import IO

from indextables.spark.compat import settle, worker_run
from indextables.spark.planner import serve


def main(infile: IO[bytes], outfile: IO[bytes]) -> None:
    """Serve one call of the hooks; Spark keeps the process for the next one."""
    worker_run(serve, infile, outfile)
    outfile.flush()
    settle()


if __name__ == "__main__":
    from indextables.spark.compat import connection

    with connection() as (source, sink):
        main(source, sink)
