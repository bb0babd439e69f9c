"""IndexTables: full-text search tables for PySpark."""

__version__ = "0.1.0"
