"""Planning: pure functions from a snapshot, predicates and settings to plan values."""
