"""The Spark door: everything that imports pyspark."""
