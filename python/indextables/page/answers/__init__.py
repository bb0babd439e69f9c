"""What the page asks of tables: each answer is a value, made in the query process."""
