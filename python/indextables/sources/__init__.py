"""Tables of other formats as companions see them: a version, its files, its deleted rows."""
