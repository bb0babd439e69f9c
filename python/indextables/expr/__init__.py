"""Predicates as frozen values: read from the hooks' JSON, bound to a schema, evaluated on Arrow."""
