"""The verbs: one file per command; the only layer that changes a table."""
