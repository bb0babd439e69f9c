"""Generated schemas, rows and predicates for the planner's property tests."""

from __future__ import annotations

import base64
import math
from decimal import Decimal as Number

from hypothesis import strategies as st

from indextables.expr.values import kind_of, to_float32
from indextables.model.types import Array, Atomic, Decimal, Field, Struct

NAMES = ("boolean", "byte", "short", "integer", "long", "float", "double", "string", "binary",
         "date", "timestamp", "timestamp_ntz")  # fmt: skip
SCHEMA = Struct(
    (
        *(Field(f"c_{name}", Atomic(name)) for name in NAMES),
        Field("c_decimal", Decimal(6, 2)),
        Field("c_wide", Decimal(30, 4)),
        Field("c_array", Array(Atomic("string"))),
        Field("c_full_array", Array(Atomic("long"), contains_null=False)),
        Field("c_struct", Struct((Field("name", Atomic("string")), Field("n", Atomic("integer")),
                                  Field("d", Atomic("double")), Field("at", Atomic("timestamp")),
                                  Field("cost", Decimal(8, 3)), Field("a.b", Atomic("string")),
                                  Field("tags", Array(Atomic("string")))))),
        Field("p_string", Atomic("string")),
        Field("p_int", Atomic("integer")),
        Field("p_date", Atomic("date")),
        Field("p_time", Atomic("timestamp")),
        Field("p_double", Atomic("double")),
    )
)  # fmt: skip
PARTITIONS = ("p_string", "p_int", "p_date", "p_time", "p_double")
BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}

TEXTS = st.one_of(
    st.sampled_from(
        ["", "a", "ab", "abc", "b", "A", "a%b", "a_b", "é", "𐀀", "\uffff", "a\n", "10", "2"]
    ),
    st.text(max_size=4),
)
FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.5, 0.1, math.nan, math.inf, -math.inf]),
    st.floats(width=32),
)


def whole(low, high):
    near = [n for n in (low, low + 1, -1, 0, 1, 2, 100, high - 1, high) if low <= n <= high]
    return st.one_of(st.sampled_from(near), st.integers(low, high))


def unscaled(number, scale):
    digits = tuple(int(d) for d in str(abs(number)))
    return Number((int(number < 0), digits, -scale))


def values(kind):
    """Python values of a type, as in rows."""
    name = kind_of(kind)
    if name in BITS:
        return whole(-(1 << (BITS[name] - 1)), (1 << (BITS[name] - 1)) - 1)
    if name == "decimal":
        most = 10**kind.precision - 1
        return whole(-most, most).map(lambda n: unscaled(n, kind.scale))
    if name == "float":
        return FLOATS.map(to_float32)
    if name == "double":
        return st.one_of(FLOATS, st.floats())
    if name == "string":
        return TEXTS
    if name == "array":
        element = values(kind.element)
        return st.lists(
            st.one_of(st.none(), element) if kind.contains_null else element, max_size=3
        )
    if name == "struct":
        return st.fixed_dictionaries({f.name: nullable(f.type) for f in kind.fields})
    return {
        "boolean": st.booleans(),
        "binary": st.binary(max_size=3),
        "date": whole(-1000, 40000),
        "timestamp": whole(-(10**12), 10**16),
        "timestamp_ntz": whole(-(10**12), 10**16),
    }[name]


def nullable(kind):
    return st.one_of(st.none(), values(kind), values(kind), values(kind))


def rows(schema=SCHEMA, names=None):
    """Rows with values in the named columns and null in the others."""
    return st.fixed_dictionaries(
        {
            f.name: nullable(f.type) if names is None or f.name in names else st.none()
            for f in schema.fields
        }
    )


def columns_in(node):
    if "col" in node:
        return {node["col"][0]}
    return set().union(*(columns_in(arg) for arg in node.get("args", [])))


@st.composite
def cases(draw, schema=SCHEMA, most=6):
    """A predicate, and rows that vary in its columns."""
    predicate = draw(predicates(schema))
    names = columns_in(predicate)
    return predicate, draw(st.lists(rows(schema, names), min_size=1, max_size=most))


def to_json(value, kind):
    if value is None:
        return None
    name = kind_of(kind)
    if name in ("float", "double"):
        if math.isnan(value):
            return "NaN"
        return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
    if name == "decimal":
        return format(value, "f")
    if name == "binary":
        return base64.b64encode(value).decode()
    return value


def literal(kind):
    text = kind.to_json()
    return nullable(kind).map(lambda v: {"lit": to_json(v, kind), "type": text})


CASTS = {
    "byte": ("short", "integer", "long", "double", "float", "decimal(20,2)"),
    "short": ("long", "double", "float"),
    "integer": ("long", "double", "float", "decimal(12,2)", "decimal(10,0)"),
    "long": ("double", "decimal(20,0)"),
    "float": ("double",),
    "date": ("timestamp_ntz", "timestamp"),
    "timestamp_ntz": ("date", "timestamp"),
    "timestamp": ("date", "timestamp_ntz"),
    "decimal": ("decimal(32,5)",),
}


@st.composite
def subject(draw, paths):
    """A column, sometimes cast to a wider type, and the type to compare with."""
    path, kind = draw(st.sampled_from(paths))
    expr = {"col": list(path)}
    targets = CASTS.get(kind_of(kind), ())
    if targets and draw(st.integers(0, 3)) == 0:
        text = draw(st.sampled_from(targets))
        from indextables.model.types import parse_type

        expr, kind = {"op": "CAST", "args": [expr], "type": text}, parse_type(text)
    return expr, kind


def scalar_paths(schema):
    found = []
    for field in schema.fields:
        if isinstance(field.type, Struct):
            inside = [inner for inner in field.type.fields if not isinstance(inner.type, Array)]
            found += [((field.name, inner.name), inner.type) for inner in inside]
        elif not isinstance(field.type, Array):
            found.append(((field.name,), field.type))
    return found


PATTERNS = st.lists(
    st.sampled_from(["a", "b", "%", "_", "\\%", "\\_", "\\\\", "é", "\n", ""]), max_size=5
).map("".join)
REGEXES = st.sampled_from(
    ["a", "^a", "b$", "a.b", "[ab]+", "^(?:a|b)c?$", "\\d+", "[^a-c]", "a{2}", "\\w\\s", "a|b", ""]
)


@st.composite
def leaves(draw, schema=SCHEMA):
    paths = scalar_paths(schema)
    choice = draw(st.integers(0, 9))
    if choice < 5:
        expr, kind = draw(subject(paths))
        op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"]))
        args = [expr, draw(literal(kind))]
        if draw(st.booleans()):
            return {"op": op, "args": args}
        flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
        return {"op": flipped, "args": args[::-1]}
    if choice == 5:
        expr, kind = draw(subject(paths))
        return {"op": "IN", "args": [expr, *draw(st.lists(literal(kind), max_size=4))]}
    if choice == 6:
        top = [((f.name,), f.type) for f in schema.fields]
        top += [((f.name, "tags"), None) for f in schema.fields if isinstance(f.type, Struct)]
        path, _ = draw(st.sampled_from([*paths, *top]))
        return {
            "op": draw(st.sampled_from(["IS_NULL", "IS_NOT_NULL"])),
            "args": [{"col": list(path)}],
        }
    if choice == 7 and any(isinstance(f.type, Array) for f in schema.fields):
        arrays = [((f.name,), f.type) for f in schema.fields if isinstance(f.type, Array)]
        arrays += [(("c_struct", "tags"), Array(Atomic("string")))]
        path, kind = draw(st.sampled_from(arrays))
        return {"op": "ARRAY_CONTAINS", "args": [{"col": list(path)}, draw(literal(kind.element))]}
    texts = [path for path, kind in paths if kind_of(kind) == "string"]
    column = {"col": list(draw(st.sampled_from(texts)))}
    if draw(st.integers(0, 5)) == 0:
        length = {"op": "CHAR_LENGTH", "args": [column]}
        op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
        return {"op": op, "args": [length, {"lit": draw(st.integers(-1, 5)), "type": "integer"}]}
    op = draw(st.sampled_from(["STARTS_WITH", "ENDS_WITH", "CONTAINS", "LIKE", "RLIKE"]))
    pattern = draw({"LIKE": PATTERNS, "RLIKE": REGEXES}.get(op, TEXTS))
    return {"op": op, "args": [column, {"lit": pattern, "type": "string"}]}


def predicates(schema=SCHEMA):
    return st.recursive(
        leaves(schema),
        lambda inner: st.one_of(
            st.builds(lambda a: {"op": "NOT", "args": [a]}, inner),
            st.builds(
                lambda op, args: {"op": op, "args": args},
                st.sampled_from(["AND", "OR"]),
                st.lists(inner, min_size=2, max_size=3),
            ),
        ),
        max_leaves=6,
    )
