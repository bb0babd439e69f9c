"""Keys that define how a column is indexed. The table remembers them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from indextables.config.option import (
    BOOLEAN,
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
_TOKENIZERS = (
    "default",
    "simple",
    "raw",
    "keyword",
    "lowercase",
    "raw_lowercase",
    "whitespace",
    "identifiers",
    "chinese_compatible",
    "source_code_default",
    "source_code_with_hex",
)
_LANGUAGES = ("ar", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ro",
              "ru", "sv", "ta", "tr")  # fmt: skip
_NGRAM = re.compile(r"ngram\((\d+),(\d+)(,prefix)?\)")
_LONGEST_NGRAM = 32
# a word that the name of a tokenizer can hold
_WORD = re.compile(r"[\w.-]+")


def _tokenizer(text: str) -> str:
    name = "".join(text.lower().split())
    ngram = _NGRAM.fullmatch(name)
    sizes = ngram is not None and 1 <= int(ngram[1]) <= int(ngram[2]) <= _LONGEST_NGRAM
    if not sizes and name not in _TOKENIZERS and name not in {f"{n}_stem" for n in _LANGUAGES}:
        raise ValueError(text)
    return name


def _words(texts: Iterable[str]) -> tuple[str, ...]:
    words = tuple(text.strip().lower() for text in texts)
    if not words or not all(_WORD.fullmatch(word) for word in words):
        raise ValueError(words)
    return words


def _stop_words(text: str) -> tuple[str, ...]:
    return _words(text.split(",")) if text.strip() else ()


def _synonyms(text: str) -> tuple[tuple[str, ...], ...]:
    groups = tuple(_words(group.split("=")) for group in text.split(",") if text.strip())
    if any(len(group) == 1 for group in groups):
        raise ValueError(text)
    return groups


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
    choice("string", "text", "json", "ip", "text+ngram", "string+ngram"),
    "string",
    "How a string column is indexed: `string` as one value, `text` as tokens, `json` as an object, "
    "`ip` as an address. `text+ngram` and `string+ngram` also index every three characters, so "
    "that `LIKE '%abc%'`, `contains` and `RLIKE` do not read every row.",
    _GROUP,
    _ALL,
    per_field=True,
)
TOKENIZER = Option(
    "indexing.tokenizer",
    Parser(
        _tokenizer,
        f"{', '.join(f'`{n}`' for n in _TOKENIZERS)}, `<language>_stem` for "
        f"{', '.join(_LANGUAGES)}, `ngram(min,max)` or `ngram(min,max,prefix)`",
    ),
    "default",
    "Tokenizer of text columns: `default` (letters and digits, lower-cased), `en_stem` (also "
    "reduced to English stems), `identifiers` (identifiers, paths and addresses, whole and in "
    "parts), `whitespace`, `raw` (one token) and others.",
    _GROUP,
    _ALL,
    per_field=True,
)
ASCII_FOLDING = Option(
    "indexing.asciifolding",
    BOOLEAN,
    default=False,
    doc="Index letters of a text column without their accents: `é` as `e`.",
    group=_GROUP,
    scopes=_ALL,
    per_field=True,
)
STOP_WORDS = Option(
    "indexing.stopwords",
    Parser(_stop_words, "a language such as `en`, or words separated by commas"),
    (),
    "Words of a text column that are not indexed: those of a language (`en`), or a list. In a "
    "query with other words they are ignored.",
    _GROUP,
    _ALL,
    per_field=True,
)
SYNONYMS = Option(
    "indexing.synonyms",
    Parser(_synonyms, "groups such as `database=db, postgres=pg=postgresql`"),
    (),
    "Synonyms of a text column: groups separated by commas, the words of a group by `=`. All words "
    "of a group are indexed as the first one.",
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
