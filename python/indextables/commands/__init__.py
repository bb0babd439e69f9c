"""One file per SQL verb."""
