"""Tables of other formats that companions index: a version, its files, its deleted rows."""
