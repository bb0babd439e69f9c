"""The page: tables in a browser, read-only, on loopback, without Spark."""
