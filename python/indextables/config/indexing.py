"""Keys that say how a column is indexed. They are remembered with the table."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    NAMES,
    Option,
    Parser,
    Scope,
    choice,
    integer,
)

_GROUP = "Indexing"
_ALL = (Scope.OPTION, Scope.SESSION, Scope.TABLE)
_LENGTHS = {"tantivy_max": 65_530, "default": 255, "legacy": 40, "min": 1}


def _token_length(text: str) -> int:
    named = _LENGTHS.get(text.strip().lower())
    return named if named is not None else integer(1, 65_530).parse(text)


_TOKEN_LENGTH = Parser(
    _token_length, "a whole number from 1 to 65530, or " + ", ".join(f"`{n}`" for n in _LENGTHS)
)
_RECORD = choice("basic", "freq", "position")

LAYOUT = Option(
    "indexing.layout",
    choice("compatible", "lean"),
    "compatible",
    "`compatible` splits can be read by the existing implementation. `lean` splits store only what "
    "the index cannot give back; they are smaller and faster to write, and need protocol 5. "
    "A table keeps the layout it was made with, or overwritten with, for writes that do not say.",
    _GROUP,
    _ALL,
)
TYPEMAP = Option(
    "indexing.typemap",
    choice("string", "text", "json", "ip"),
    "string",
    "How a string column is indexed: `string` as one value, `text` as words, `json` as an object, "
    "`ip` as an address.",
    _GROUP,
    _ALL,
    per_field=True,
)
TOKENIZER = Option(
    "indexing.tokenizer",
    choice("default", "raw", "en_stem", "whitespace"),
    "default",
    "How the words of a text column are cut: `default` (letters and digits, lower-cased), "
    "`en_stem` (English word stems too), `whitespace`, `raw` (one word).",
    _GROUP,
    _ALL,
    per_field=True,
)
RECORD = Option(
    "indexing.text.indexRecordOption",
    _RECORD,
    "position",
    "What the index keeps of each word of text columns: that it occurs, how often, or where too. "
    "Phrases need `position`.",
    _GROUP,
    _ALL,
)
FIELD_RECORD = Option(
    "indexing.indexrecordoption",
    _RECORD,
    "position",
    "The same for one column.",
    _GROUP,
    _ALL,
    per_field=True,
)
TOKEN_LENGTH = Option(
    "indexing.text.maxTokenLength",
    _TOKEN_LENGTH,
    255,
    "Longest word in bytes that is indexed; longer ones cannot be found.",
    _GROUP,
    _ALL,
)
FIELD_TOKEN_LENGTH = Option(
    "indexing.tokenlength",
    _TOKEN_LENGTH,
    255,
    "The same for one column.",
    _GROUP,
    _ALL,
    per_field=True,
)
FAST = Option(
    "indexing.fastfields",
    NAMES,
    (),
    "Columns that also get a columnar copy, for sorting, ranges and aggregates.",
    _GROUP,
    _ALL,
)
NOT_FAST = Option(
    "indexing.nonfastfields",
    NAMES,
    (),
    "Columns without a columnar copy.",
    _GROUP,
    _ALL,
)
STORE_ONLY = Option(
    "indexing.storeonlyfields",
    NAMES,
    (),
    "Columns that are returned but cannot be searched.",
    _GROUP,
    _ALL,
)
INDEX_ONLY = Option(
    "indexing.indexonlyfields",
    NAMES,
    (),
    "Columns that can be searched but are not returned.",
    _GROUP,
    _ALL,
)
JSON_MODE = Option(
    "indexing.json.mode",
    choice("full", "minimal"),
    "full",
    "`full` gives the paths of JSON columns a columnar copy, `minimal` only makes them searchable.",
    _GROUP,
    _ALL,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
