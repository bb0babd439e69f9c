"""The Spark entry point: everything that imports pyspark."""
