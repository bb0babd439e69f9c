"""The public API: tables through Spark, and tables in plain Python."""
