"""Random valid commands."""

from __future__ import annotations

from hypothesis import strategies as st

from indextables.commands import grammar as g
from indextables.commands.grammar import Clause, Flag, MaybeTarget, Part, Span
from indextables.commands.registry import RULES
from indextables.commands.target import Target
from indextables.errors import SqlSyntaxError

_text = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12
).filter(str.strip)
_names = st.sampled_from(
    ["a", "Table_1", "state", "for", "order by", "where", "x`y", "LIMIT", "job"]
)
_roots = st.sampled_from(["a", "b-1", "C_2"])
_targets = st.one_of(
    _text.map(lambda text: Target(path=text)),
    st.lists(_names, min_size=1, max_size=2).map(lambda parts: Target(name=tuple(parts))),
)
_predicates = st.sampled_from(
    ["year = 2024", "a IN ('x', 'AT LOCATION') AND (b > 1 OR c < 2)", "`p q` IS NULL"]
)


def _values(value, field):
    if isinstance(value, g.TargetKind):
        return _targets
    if isinstance(value, g.TextKind):
        return _roots if field == "name" else _text
    if isinstance(value, g.NumberKind):
        return st.integers(2, 10**6)
    if isinstance(value, g.SizeKind):
        return st.sampled_from([1 << 20, 5 << 30, 3_000_001])
    if isinstance(value, g.WordKind):
        return st.sampled_from(value.words)
    if isinstance(value, g.SpanKind):
        return st.builds(Span, st.integers(1, 999), st.sampled_from(value.units))
    if isinstance(value, g.PredicateKind):
        return _predicates
    if field == "segments":
        item = st.sampled_from(["TERM", "store", "POSTING_LISTS"])
    elif value.separator:
        item = st.tuples(_roots, _text)
    else:
        item = _names if value.names else _text
    return st.lists(item, min_size=1, max_size=3).map(tuple)


@st.composite
def commands(draw):
    rule = draw(st.sampled_from(RULES))
    given = {}
    for part in rule.parts:
        if isinstance(part, Flag):
            given[part.field] = draw(st.booleans())
        elif isinstance(part, Clause):
            if draw(st.booleans()):
                given[part.field] = draw(_values(part.kind, part.field))
        elif isinstance(part, MaybeTarget):
            given[part.field] = draw(_targets)
        elif isinstance(part, Part):
            given[part.field] = draw(_values(part.kind, part.field))
    try:
        return rule.command(**given)
    except SqlSyntaxError:
        # mutually exclusive clauses
        required = {
            p.field: given[p.field] for p in rule.parts if isinstance(p, Part | MaybeTarget)
        }
        if rule.start.startswith("RESTORE"):
            required["version"] = 3
        if rule.start.startswith("REINDEX"):
            required["tokenizers"] = (("a", "raw"),)
        return rule.command(**required)
