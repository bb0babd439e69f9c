"""Save to a table: create, alter, append, overwrite."""
