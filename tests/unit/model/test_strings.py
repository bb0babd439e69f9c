"""Strings of any bytes, in Python, in Arrow and in the log."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables.expr.values import decode, encode, order_key
from indextables.model.strings import (
    decoded,
    from_bytes,
    parse_string,
    parse_strings,
    render_string,
    string_array,
    strings_of,
    to_bytes,
    valid_start,
)
from indextables.model.types import Atomic

STRING = Atomic("string")
ANY = st.one_of(st.binary(max_size=12), st.text(max_size=8).map(str.encode))


@given(data=ANY)
def test_a_string_of_any_bytes_comes_back_everywhere(data):
    text = from_bytes(data)
    assert to_bytes(text) == data
    assert parse_string(render_string(text)) == text
    render_string(text).encode()
    assert decode(encode(text, STRING), STRING) == text
    assert strings_of(string_array([text, None])) == [text, None]
    assert strings_of(parse_strings(pa.array([render_string(text), None]))) == [text, None]


def test_valid_text_is_written_as_it_is():
    assert render_string("a%b é") == "a%b é"
    assert encode("é", STRING) == "é"
    assert render_string("\x01bytes:x") == "\x01bytes:\x01bytes:x"


@given(left=ANY, right=ANY)
def test_strings_sort_by_their_bytes(left, right):
    one, other = order_key(from_bytes(left)), order_key(from_bytes(right))
    assert (one < other) == (left < right)


def test_patterns_see_replacement_characters():
    assert decoded(string_array(["a", from_bytes(b"\x80b"), None])).to_pylist() == [
        "a", "\ufffdb", None,
    ]  # fmt: skip
    assert valid_start(from_bytes(b"ab\x80c")) == "ab"
