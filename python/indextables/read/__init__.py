"""Reading a table: what every door, and every verb that must read first, asks."""
