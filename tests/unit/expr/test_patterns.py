from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.expr.patterns import in_any_case, simplify_like
from indextables.expr.regexes import translate_regex

PARTS = st.lists(st.sampled_from(list("ab%_\\!é\n")), max_size=6).map("".join)
TEXTS = st.text(alphabet="ab%_\\!é\n", max_size=6)


def like(text, pattern, escape):
    """LIKE by its definition; None if the pattern is invalid."""
    out, chars = [], iter(pattern)
    for char in chars:
        if char == escape:
            following = next(chars, "")
            if following not in ("%", "_", escape) or not following:
                return None
            out.append(re.escape(following))
        else:
            out.append({"%": ".*", "_": "."}.get(char, re.escape(char)))
    return re.fullmatch("".join(out), text, re.DOTALL) is not None


def simple(kind, pattern, text):
    if kind == "like":
        return like(text, pattern, "\\")
    return {
        "equals": text == pattern,
        "prefix": text.startswith(pattern),
        "suffix": text.endswith(pattern),
        "contains": pattern in text,
    }[kind]


@given(PARTS, TEXTS, st.sampled_from(["\\", "!", "%", "_"]))
def test_simplified_pattern_matches_the_same_texts(pattern, text, escape):
    expected = like(text, pattern, escape)
    found = simplify_like(pattern, escape)
    assert (found is None) == (expected is None)
    if found is not None:
        assert simple(*found, text) == expected


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [("abc", "equals"), ("abc%", "prefix"), ("%abc", "suffix"), ("%abc%", "contains"),
     ("%%", "contains"), ("a%b", "like"), ("a_", "like"), ("a\\%%", "prefix"), ("", "equals")],
)  # fmt: skip
def test_kind_of_pattern(pattern, kind):
    assert simplify_like(pattern, "\\")[0] == kind


def java_find(pattern, text):
    """Python's search with Java's meaning of dot, dollar and character classes."""
    ends = "\n\r\u0085\u2028\u2029"
    out, at, in_class = [], 0, False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            out.append(pattern[at : at + 2])
            at += 2
            continue
        if char in "[]":
            in_class = char == "["
        if char == "." and not in_class:
            out.append(f"[^{ends}]")
        elif char == "$" and not in_class:
            out.append(f"(?=(?:\r\n|[{ends}])?\\Z)")
        else:
            out.append(char)
        at += 1
    return re.search("".join(out), text, re.ASCII) is not None


REGEX_PARTS = st.lists(
    st.sampled_from(
        ["a", "b", "é", ".", "a*", "b+?", "(?:ab|c)", "(a|b)", "[a-c]", "[^ab]", "\\d", "\\W",
         "\\s",          "a{1,2}", "\\.", "[\\d_]", "\n", " ", "x?", "[.$]"]
    ),
    max_size=5,
).map("".join)  # fmt: skip


@given(
    st.sampled_from(["", "^"]),
    REGEX_PARTS,
    st.sampled_from(["", "$"]),
    st.text(alphabet="abcé1 ._$\n\r\u0085\u2028x", max_size=6),
)
def test_translated_regex_finds_what_java_finds(start, middle, end, text):
    pattern = start + middle + end
    translated = translate_regex(pattern)
    assert translated is not None
    # the engine's syntax equals RE2's for all patterns here
    found = pc.match_substring_regex(pa.array([text]), translated)[0].as_py()
    assert found == java_find(pattern, text)


@pytest.mark.parametrize(
    "pattern",
    ["(?i)a", "(?=a)", "a(?!b)", "(a)\\1", "\\bword\\b", "a++", "[a&&b]", "[[a]b]", "\\p{L}",
     "a$b",      "(", "[", "a)", "*a", "{2}", "a{2",
     "\\Qa\\E", "(^a)", "x{99999}", "\\x41", "\\u0041", "[z-a]"],
)  # fmt: skip
def test_what_may_differ_is_left_to_spark(pattern):
    assert translate_regex(pattern) is None


CASES = {"prefix": str.startswith, "suffix": str.endswith, "contains": str.__contains__}


@given(
    st.sampled_from(sorted(CASES)),
    st.text(alphabet="aiks.( \n", min_size=1, max_size=3),
    st.text(alphabet="aAiIkKsS\u0130\u212a\u017f\u0307.( ß\n", max_size=6),
)
def test_ascii_is_found_in_what_lower_makes(kind, part, text):
    expression = in_any_case(kind, part)
    found = pc.match_substring_regex(pa.array([text]), expression)[0].as_py()
    assert found == CASES[kind](text.lower(), part)


@given(
    st.text(alphabet="aik%\n.", max_size=5),
    st.text(alphabet="aAiIkK\u0130\u212a\u0307.\n", max_size=6),
)
def test_patterns_fit_what_lower_makes(pattern, text):
    kind, part = simplify_like(pattern, "\\")
    expression = in_any_case(kind, part)
    if not part.replace("%", ""):
        assert expression is None
        return
    found = pc.match_substring_regex(pa.array([text]), expression)[0].as_py()
    assert found == like(text.lower(), pattern, "\\")


def test_a_place_for_one_character_is_left_to_spark():
    assert in_any_case("like", "a_") is None
    assert in_any_case("like", "a\\_%b") == r"(?s)\A[aA]_.*[bB]\z"


@pytest.mark.parametrize("part", ["", "A", "é", "k\u212a"])
def test_case_beyond_ascii_is_left_to_spark(part):
    assert in_any_case("contains", part) is None
