"""Brute-force evaluation, row by row, of the hooks' JSON predicates by the rules of SQL, and of the
engine's query trees. Written from the rules, not from the code under test."""

from __future__ import annotations

import base64
import math
import re
from decimal import Decimal as Number
from fractions import Fraction

from indextables.expr.predicate import read_type
from indextables.expr.values import kind_of
from indextables.model.types import Array

DAY = 86_400_000_000


def key(value):
    """A sort key in Spark's order: NaN is the greatest, zeros are equal, strings by UTF-8 bytes."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return (
            (1, 0) if math.isnan(value) else (0, Fraction(value) if math.isfinite(value) else value)
        )
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, Number):
        return Fraction(value)
    return value


def from_json(value, kind):
    if value is None:
        return None
    name = kind_of(kind)
    if name == "float":
        import struct

        try:
            return struct.unpack("f", struct.pack("f", float(value)))[0]
        except OverflowError:
            return math.copysign(math.inf, float(value))
    if name == "double":
        return float(value)
    if name == "decimal":
        return Number(value)
    if name == "binary":
        return base64.b64decode(value)
    return value


def reach(row, path):
    for part in path:
        if row is None:
            return None
        row = row.get(part)
    return row


def value_of(expr, row, schema):
    """The value and type of an expression."""
    if "col" in expr:
        path = tuple(expr["col"])
        return reach(row, path), schema.find(path).type
    if "lit" in expr:
        kind = read_type(expr["type"])
        return from_json(expr["lit"], kind), kind
    if expr["op"] == "CHAR_LENGTH":
        text = value_of(expr["args"][0], row, schema)[0]
        return (None if text is None else len(text)), read_type("integer")
    assert expr["op"] == "CAST"
    inner, source = value_of(expr["args"][0], row, schema)
    target = read_type(expr["type"])
    return (None if inner is None else cast(inner, source, target)), target


def cast(value, source, target):
    names = kind_of(source), kind_of(target)
    # as in Asia/Kolkata, 5:30 ahead of UTC
    zone = 19_800_000_000
    if names[0] == "date":
        return value * DAY - (zone if names[1] == "timestamp" else 0)
    if names[1] == "date":
        return (value + (zone if names[0] == "timestamp" else 0)) // DAY
    if names == ("timestamp", "timestamp_ntz"):
        return value + zone
    if names == ("timestamp_ntz", "timestamp"):
        return value - zone
    if names[1] == "double":
        return float(value)
    if names[1] == "float":
        return from_json(value, target)
    if names[1] == "decimal":
        return Number(value)
    return value


def compare(op, left, right):
    if op == "<=>":
        if left is None or right is None:
            return left is None and right is None
        return key(left) == key(right)
    if left is None or right is None:
        return None
    a, b = key(left), key(right)
    return {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def like(text, pattern, escape="\\"):
    out, chars = [], iter(pattern)
    for char in chars:
        if char == escape:
            out.append(re.escape(next(chars)))
        else:
            out.append({"%": ".*", "_": "."}.get(char, re.escape(char)))
    return re.fullmatch("".join(out), text, re.DOTALL) is not None


def both(parts):
    return False if False in parts else None if None in parts else True


def either(parts):
    return True if True in parts else None if None in parts else False


def negate(value):
    return None if value is None else not value


def truth(node, row, schema):
    """True, False or None (unknown)."""
    op = node.get("op")
    if op is None:
        return value_of(node, row, schema)[0]
    args = node.get("args", [])
    if op in ("AND", "OR"):
        parts = [truth(arg, row, schema) for arg in args]
        return both(parts) if op == "AND" else either(parts)
    if op == "NOT":
        return negate(truth(args[0], row, schema))
    if op in ("ALWAYS_TRUE", "ALWAYS_FALSE"):
        return op == "ALWAYS_TRUE"
    if op == "BOOLEAN_EXPRESSION":
        return truth(args[0], row, schema)
    values = [value_of(arg, row, schema)[0] for arg in args]
    if op in ("=", "<>", "<", "<=", ">", ">=", "<=>"):
        return compare(op, *values)
    if op == "IN":
        return either([compare("=", values[0], item) for item in values[1:]])
    if op in ("IS_NULL", "IS_NOT_NULL"):
        return (values[0] is None) == (op == "IS_NULL")
    if op == "ARRAY_CONTAINS":
        array, item = values
        if array is None or item is None:
            return None
        return either([compare("=", element, item) for element in array])
    if None in values:
        return None
    text, pattern = values[:2]
    return {
        "STARTS_WITH": lambda: text.startswith(pattern),
        "ENDS_WITH": lambda: text.endswith(pattern),
        "CONTAINS": lambda: pattern in text,
        "LIKE": lambda: like(text, pattern, *values[2:]),
        "RLIKE": lambda: re.search(pattern, text, re.ASCII) is not None,
    }[op]()


def engine(tree, row, schema):
    """Whether the engine's query tree matches a row."""
    kind = tree["type"]
    if kind in ("all", "none"):
        return kind == "all"
    if kind in ("and", "or"):
        parts = [engine(arg, row, schema) for arg in tree["args"]]
        return all(parts) if kind == "and" else any(parts)
    if kind == "not":
        return not engine(tree["arg"], row, schema)
    path = tuple(p.replace("\\.", ".") for p in re.split(r"(?<!\\)\.", tree["field"]))
    column = schema.find(path).type
    value = reach(row, path)
    if kind == "exists":
        return value is not None
    if value is None:
        return False
    if isinstance(column, Array):
        assert kind == "term"
        return any(
            element is not None and key(element) == key(from_json(tree["value"], column.element))
            for element in value
        )
    if kind in ("term", "set"):
        wanted = tree["values"] if kind == "set" else [tree["value"]]
        return any(key(value) == key(from_json(item, column)) for item in wanted)
    if kind == "range":
        low, high = tree["lower"], tree["upper"]
        return (low is None or inside(low, column, value, 1)) and (
            high is None or inside(high, column, value, -1)
        )
    return {
        "prefix": lambda: value.startswith(tree["value"]),
        "suffix": lambda: value.endswith(tree["value"]),
        "contains": lambda: tree["value"] in value,
        "like": lambda: like(value, tree["pattern"], tree["escape"]),
        "regex": lambda: rust_regex(tree["pattern"]).search(value) is not None,
    }[kind]()


def rust_regex(pattern):
    """Convert the regular expressions of the translator from the engine's syntax to Python's."""
    pattern = re.sub(r"\\x\{([0-9a-f]+)\}", lambda m: f"\\u{int(m[1], 16):04x}", pattern)
    return re.compile(pattern.replace("\\z", "\\Z"))


def inside(bound, column, value, direction):
    limit = key(from_json(bound["value"], column))
    actual = key(value)
    if actual == limit:
        return bound["inclusive"]
    return actual > limit if direction > 0 else actual < limit
