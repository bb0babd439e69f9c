"""Keys that define how a column is indexed. The table remembers them."""

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
    _token_length, "an integer from 1 to 65530, or " + ", ".join(f"`{n}`" for n in _LENGTHS)
)
_RECORD = choice("basic", "freq", "position")

LAYOUT = Option(
    "indexing.layout",
    choice("compatible", "lean"),
    "compatible",
    "`compatible` splits can be read by the existing implementation. `lean` splits store only what "
    "the index cannot reproduce; they are smaller and faster to write, and require protocol 5. "
    "A table keeps the layout it was created or last overwritten with.",
    _GROUP,
    _ALL,
)
TYPEMAP = Option(
    "indexing.typemap",
    choice("string", "text", "json", "ip"),
    "string",
    "How a string column is indexed: `string` as one value, `text` as tokens, `json` as an object, "
    "`ip` as an address.",
    _GROUP,
    _ALL,
    per_field=True,
)
TOKENIZER = Option(
    "indexing.tokenizer",
    choice("default", "raw", "en_stem", "whitespace"),
    "default",
    "Tokenizer of text columns: `default` (letters and digits, lower-cased), "
    "`en_stem` (also reduced to English stems), `whitespace`, `raw` (one token).",
    _GROUP,
    _ALL,
    per_field=True,
)
RECORD = Option(
    "indexing.text.indexRecordOption",
    _RECORD,
    "position",
    "What the index records for each token of text columns: rows, frequencies, or positions. "
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
    "Maximum token length in bytes; longer tokens are not indexed.",
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
