"""The page: tables in a browser, read-only, on this machine, without Spark."""
