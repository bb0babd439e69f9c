"""Change rows: delete, update, upsert, and rebase onto commits that moved rows."""
