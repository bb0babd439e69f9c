"""Values of the format: column types and schemas. No I/O, no Spark."""
