"""Changing rows: delete, update, upsert, and following rows that other commits moved."""
