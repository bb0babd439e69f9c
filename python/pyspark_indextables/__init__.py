"""The module Spark discovers by its name; `DefaultSource` is the format `indextables`.

With the jar on the class path the hooks take over and use `planner` only. Without it this class
alone is the data source.
"""

from indextables.spark.source import DefaultSource

__all__ = ["DefaultSource"]
