"""What users import: tables through Spark, and tables in plain Python."""
