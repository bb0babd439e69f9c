"""The format as a plain Python data source: what Spark uses when the jar is not there."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource


class DefaultSource(DataSource):
    """Reads and writes tables; search, push-down of limits and row-level changes need the jar."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "indextables"
