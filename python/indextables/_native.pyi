# The engine (Rust, `rust/src/python`).

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, final

__all__ = [
    "OPTIMIZED",
    "ArrowBatch",
    "ArrowStream",
    "Cancel",
    "Fields",
    "Listing",
    "LogLines",
    "Query",
    "Source",
    "SourceFacts",
    "Split",
    "SplitWriter",
    "Store",
    "__version__",
    "analyze",
    "cache_stats",
    "cache_sync",
    "check_path",
    "clear_disk_cache",
    "clear_memory_cache",
    "decode_lines",
    "decode_manifests",
    "decode_state_manifest",
    "disk_cache_usage",
    "enable_profiler",
    "encode_manifest",
    "encode_state_manifest",
    "merge",
    "profile_sections",
    "storage_totals",
]

__version__: str
OPTIMIZED: bool

# --- arrow.rs: data crosses by the Arrow PyCapsule interface

@final
class ArrowBatch:
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __len__(self) -> int: ...

@final
class ArrowStream:
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __iter__(self) -> Iterator[ArrowBatch]: ...
    def __next__(self) -> ArrowBatch: ...

# --- store.rs

# `Store.list` hides the builtin inside the class
_Names: TypeAlias = list[str]
_Requests: TypeAlias = list[tuple[str, int]]
_Found: TypeAlias = list[bytes | None]
_Parts: TypeAlias = list[bytes]
_Ranges: TypeAlias = list[tuple[int, int]]
_Metas: TypeAlias = list[tuple[str, int, int, str | None, int | None]]

@final
class Store:
    """A place that holds the files of a table; paths are relative to it and never leave it."""

    def __new__(cls, url: str, options: str = "") -> Store: ...
    @property
    def url(self) -> str: ...
    @property
    def is_remote(self) -> bool:
        """Whether reading costs a round trip."""
    @property
    def has_folders(self) -> bool:
        """Whether `names` may be asked."""
    def find(self, path: str) -> bytes | None:
        """The whole object, or None when there is none."""
    def find_all(self, paths: _Names, at_once: int) -> _Found:
        """Several objects, in order."""
    def get_ranges(self, path: str, ranges: _Ranges) -> _Parts:
        """Ranges of one object; near ones are fetched together."""
    def put(self, path: str, data: bytes, *, if_absent: bool = False) -> bool:
        """Write an object whole; with `if_absent`, False when there was one already."""
    def head(self, path: str) -> tuple[str, int, int, str | None, int | None] | None:
        """Path, size, age in milliseconds since 1970, tag and last change; None without object."""
    def list(self, folder: str, after: str | None = None) -> Listing:
        """Everything below a folder after a path, in the order of paths."""
    def names(self, folder: str) -> _Names:
        """Names directly in a folder, in any order."""
    def inside(self, folder: str) -> tuple[_Metas, _Names]:
        """The objects directly in a folder, and the names of the folders in it, in any order."""
    def delete(self, path: str) -> None:
        """Delete an object, if there is one."""
    def remove_empty(self, folder: str) -> None:
        """Remove a folder that is empty, where there are folders."""
    def counters(self) -> tuple[_Requests, int, int]:
        """Requests by kind, bytes read, bytes written."""

@final
class Listing:
    """Pages of a listing: path, size, age in milliseconds since 1970, tag and last change.

    Objects of a store have a tag, local files the time of their last change in nanoseconds.
    """

    def __iter__(self) -> Listing: ...
    def __next__(self) -> list[tuple[str, int, int, str | None, int | None]]: ...

@final
class Cancel:
    """Stops what other threads wait for: `with cancel:` in them, `ask` in the one that stops."""

    def __new__(cls) -> Cancel: ...
    def ask(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *_exception: object) -> None: ...

def storage_totals() -> tuple[_Requests, int, int]:
    """Requests by kind, bytes read and bytes written of all object stores of this process."""

def check_path(path: str) -> None:
    """Fail if a path leaves the root it is joined to."""

# --- cache.rs

def cache_stats(reset: bool = False) -> dict[str, int]:
    """Counts of the caches of this process, by the names of `engine.cache.CacheStats`."""

def cache_sync() -> None:
    """Wait until all pending pieces are on disk."""

def clear_memory_cache() -> tuple[int, int]:
    """Clear the memory cache; return the number of pieces and bytes."""

def disk_cache_usage(options: Mapping[str, str]) -> tuple[str, int, int, int, int] | None:
    """Folder, limit, bytes, pieces and files of a disk cache; None when the options have none."""

def clear_disk_cache(options: Mapping[str, str]) -> tuple[int, int] | None:
    """Delete a disk cache: bytes and pieces; None when the options have none."""

def enable_profiler(on: bool) -> None:
    """Turn the profiler of this process on or off."""

def profile_sections(reset: bool = False) -> list[dict[str, Any]]:
    """Time by section: `section`, `category`, `calls`, `total_ns`, `min_ns`, `max_ns`."""

# --- query.rs

@final
class Fields:
    """The columns that a query may name; described once, for any number of queries.

    A description has `name`, `type` (Spark's name of the type), `role` (string, text, json, ip)
    and, for text, `record`.
    """

    def __new__(cls, described: Sequence[Mapping[str, Any]]) -> Fields: ...

@final
class Query:
    """A query tree, built once per scan and run on every split of it; pickles as its tree.

    Raises BadQueryError when the tree is not one. A search text inside it is parsed when the first
    split is asked.
    """

    def __new__(cls, tree: Mapping[str, Any]) -> Query: ...
    @staticmethod
    def parse(
        text: str,
        fields: Fields,
        default_fields: Sequence[str] = ...,
        mode: str = "any",
    ) -> Query:
        """Parse a query in the query language.

        `fields` are the columns that may be named. Words without a field are looked up in
        `default_fields`, or in all fields that the mode (any, text, exact) admits. Raises
        QuerySyntaxError with the position of what is wrong.
        """
    @staticmethod
    def plain(text: str) -> str:
        """The query of what a person types: words, quoted phrases and `-word`."""
    @staticmethod
    def at_time(text: str, now: int) -> str:
        """A query text with times relative to now replaced; `now` is microseconds since 1970."""
    def match_rows(self, batch: Any, fields: Sequence[Mapping[str, Any]]) -> ArrowBatch:
        """Which rows of a batch the query finds, without an index: one column of truth values.

        `fields` are described as for `Fields`, with the name of the `tokenizer` of text.
        """
    @property
    def tree(self) -> dict[str, Any]:
        """The query as plain values."""
    @property
    def has_trigrams(self) -> bool:
        """Whether an index of trigrams narrows it: three characters of its pattern are known."""
    @property
    def is_lookup(self) -> bool:
        """Whether the index holds the number of its rows, so that none is looked at."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[type[Query], tuple[dict[str, Any]]]: ...

def analyze(tokenizer: str, batch: Any) -> ArrowBatch:
    """The tokens of each text of the only column: text, position, first byte, byte after."""

# --- source.rs

@final
class SourceFacts:
    @property
    def rows(self) -> int: ...
    @property
    def footer(self) -> int: ...
    @property
    def schema(self) -> ArrowStream: ...
    @property
    def spark_schema(self) -> str | None: ...

@final
class Source:
    """The Parquet files that a companion index stands beside.

    `lookup` says how columns are found in them: `columns`, `case_sensitive`, `calendar`.
    """

    def __new__(
        cls, url: str, options: str = "", lookup: Mapping[str, Any] | None = None
    ) -> Source: ...
    def facts(self, file: Mapping[str, Any]) -> SourceFacts:
        """The content of a file's footer."""
    def read(
        self, file: Mapping[str, Any], schema: Any, *, first: int = 0, batch_rows: int = 8192
    ) -> ArrowStream:
        """The rows of a file from `first` on, in exactly this schema."""
    def counters(self) -> tuple[int, int]:
        """Requests and bytes of the source's store through this object."""

# --- split.rs

@final
class Split:
    """A split that is open for reading.

    `footer` are the offsets that the log knows, `deleted` a portable roaring bitmap of deleted
    rows, `schema` the columns of the table, `source` where the rows of a companion are.
    """

    def __new__(
        cls,
        store: Store,
        path: str,
        footer: tuple[int, int] | None = None,
        deleted: bytes | None = None,
        schema: Any = None,
        source: Source | None = None,
    ) -> Split: ...
    @property
    def num_docs(self) -> int:
        """Rows that are not deleted."""
    @property
    def num_deleted(self) -> int:
        """Rows that are deleted."""
    def count(self, query: Query) -> int:
        """Number of rows that match."""
    def search(
        self,
        query: Query,
        schema: Any,
        *,
        limit: int | None = None,
        order: str | Sequence[Mapping[str, Any]] | None = None,
        batch_rows: int | None = None,
        snippet: Mapping[str, Any] | None = None,
        statistics: Mapping[str, Any] | None = None,
    ) -> ArrowStream:
        """Matching rows in exactly this schema.

        `order` is "score", or sort keys of `field`, `ascending` and `nulls_first`; `snippet` names
        the `fields` that snippets are cut from; `statistics` are those that scores are computed
        from, by default those of the split.
        """
    def statistics(self, queries: Sequence[Query]) -> dict[str, Any]:
        """What scores need to know of the live rows, for the words of these queries."""
    def complete(self, field: str, text: str, limit: int) -> list[tuple[str, int]]:
        """Words that complete the last word of a text, with their number of rows."""
    def similar(self, field: str, text: str, distance: int, limit: int) -> list[tuple[str, int]]:
        """Words within an edit distance of the last word of a text."""
    def frequencies(self, field: str, words: Sequence[str]) -> list[int]:
        """In how many rows each of some words is."""
    def explain(
        self, query: Query, row: int, statistics: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Explain the score of a row: the parts of the query with their scores."""
    def aggregate(self, query: Query, request: Mapping[str, Any], schema: Any) -> ArrowStream:
        """Group keys, then functions, of the matching rows, in exactly this schema."""
    def describe(self) -> dict[str, Any]:
        """Describe the split.

        `path`, `size`, `footer_start`, `footer_end`, `num_docs`, `num_deleted`, `segments`,
        `writer` and `layout` (None for other writers); `columns`, a list of `name`, `type` (Spark's
        JSON), `encoding`, and, where the column has a field, `fast`, `indexed`, `stored`,
        `tokenizer` and `positions`; splits of our own add `nulls`, `min` and `max`; `doc_mapping`
        as the log has it; `files`, the bytes of each.
        """
    def components(self) -> list[dict[str, Any]]:
        """Component sizes: `component_key`, `size_bytes`, `component_type`, `field_name`."""
    @staticmethod
    def verify(store: Store, path: str) -> list[tuple[str, str]]:
        """Verify the bytes of a split: damaged files with their problems."""
    def prewarm(self, parts: Sequence[str], fields: Sequence[str]) -> tuple[int, list[str]]:
        """Load parts of fields into the caches: bytes, and the fields the split does not have."""

# --- writer.rs

@final
class SplitWriter:
    """Record batches in, one split out.

    `fields` has a mapping for each column that is not to follow its type: `name`, `role` (auto,
    string, text, json, ip), `tokenizer`, `record` (basic, freq, position), `token_length`, `fast`,
    `stored`, `indexed`, `stats`, `json_mode` (full, minimal). `options` of the split are `layout`
    (compatible, lean, companion), `heap_bytes`, `temp_dir`, `store_compression`,
    `store_block_bytes`, `stats_length`. Any other member is an error.
    """

    def __new__(
        cls,
        schema: Any,
        fields: Sequence[Mapping[str, Any]] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> SplitWriter: ...
    @property
    def rows(self) -> int:
        """Rows written so far."""
    @property
    def memory_bytes(self) -> int:
        """Memory held by rows that are not in the file yet."""
    @property
    def estimated_bytes(self) -> int:
        """About how large the split would be if it were finished now."""
    def accepts(self, batch: Any) -> bool:
        """Whether this batch may go into this split; if not, finish it and begin another."""
    def write(self, batch: Any) -> None:
        """Add the rows of a batch."""
    def finish(
        self, store: Store, path: str, runs: Sequence[Mapping[str, Any]] | None = None
    ) -> dict[str, Any]:
        """Put the split into the store: the members of `engine.writer.SplitInfo`.

        `runs` are the rows of the source that were written to a companion.
        """
    def abort(self) -> None:
        """Drop all rows and remove the temporary files."""

# --- manifest.rs

@final
class LogLines:
    """The actions of a version file.

    The engine reads usual lines that add and remove splits; it leaves the others to the caller.
    """

    @property
    def kinds(self) -> bytes:
        """A byte for each action: 0 adds a split, 1 removes one, 2 is another line."""
    @property
    def adds(self) -> ArrowStream | None:
        """One row for each added split, as in manifests."""
    @property
    def removes(self) -> ArrowStream | None:
        """One row for each removed split."""
    @property
    def num_others(self) -> int:
        """Number of other lines."""
    def other(self, at: int) -> tuple[int, int]:
        """Start and end of an other line in the text."""

def decode_lines(text: bytes, most: int) -> LogLines:
    """Decode the text of a version file; stops one action after `most`."""

def decode_manifests(files: Sequence[tuple[str, bytes, int]], threads: int) -> list[ArrowStream]:
    """The entries of manifests, given by name, bytes and number of entries."""

def encode_manifest(entries: Any, compression: str, level: int) -> bytes:
    """The bytes of a manifest with the rows of an Arrow table."""

def decode_state_manifest(data: bytes, path: str) -> dict[str, Any]:
    """The members of a state manifest (docs/spec/PROTOCOL.md)."""

def encode_state_manifest(value: Mapping[str, Any], compression: str, level: int) -> bytes:
    """The bytes of a state manifest with these members."""

# --- merge.rs

def merge(
    inputs: Sequence[tuple[str, tuple[int, int] | None, bytes | None]],
    store: Store,
    output: str,
    *,
    schema: Any = None,
    fields: Sequence[Mapping[str, Any]] | None = None,
    options: Mapping[str, Any] | None = None,
    source: Source | None = None,
    rewrite: bool = False,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Merge splits of a store into a new one of it, in the order given.

    An input is its path, its footer's offsets and a portable roaring bitmap of its deleted rows.
    Splits that are indexed differently, and all with `rewrite`, are written again with `schema` and
    `fields`; `source` is where the rows of companions are. The outcome is the members of
    `engine.writer.SplitInfo`, and why which inputs were left out.
    """
