"""Read a table, for every entry point and every verb that must read first."""
