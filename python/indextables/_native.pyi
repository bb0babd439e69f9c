# The engine (Rust, `rust/src/python`).

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

__all__ = [
    "OPTIMIZED",
    "ArrowBatch",
    "ArrowStream",
    "Query",
    "Split",
    "SplitWriter",
    "Store",
    "__version__",
    "cache_stats",
    "cache_sync",
    "clear_disk_cache",
    "clear_memory_cache",
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

@final
class Store:
    def __new__(cls, url: str, options: str = "") -> Store: ...
    @property
    def url(self) -> str: ...
    def put(self, path: str, data: bytes) -> None: ...
    def counters(self) -> tuple[int, int]: ...

def storage_totals() -> tuple[int, int]: ...

# --- cache.rs

def cache_stats(reset: bool = False) -> str: ...
def cache_sync() -> None: ...
def clear_memory_cache() -> tuple[int, int]: ...
def disk_cache_usage(options: str) -> tuple[str, int, int, int, int] | None: ...
def clear_disk_cache(options: str) -> tuple[int, int] | None: ...
def enable_profiler(on: bool) -> None: ...
def profile_sections(reset: bool = False) -> str: ...

# --- query.rs

@final
class Query:
    """A query tree, made once per scan and asked of every split of it; pickles as its tree.

    Raises BadQueryError when the tree is not one. A search text inside it is parsed when the first
    split is asked.
    """

    def __new__(cls, tree: Mapping[str, Any]) -> Query: ...
    @staticmethod
    def parse(
        text: str,
        fields: Sequence[Mapping[str, Any]],
        default_fields: Sequence[str] = ...,
        mode: str = "any",
    ) -> Query:
        """The query of a text in the query language.

        `fields` describe the columns that may be named by `name`, `type`, `role` and `record`.
        Words without a field are looked up in `default_fields`, or in all fields that the mode
        (any, text, exact) admits. Raises QuerySyntaxError with the position of what is wrong.
        """
    @property
    def tree(self) -> dict[str, Any]:
        """The query as plain values."""
    @property
    def is_lookup(self) -> bool:
        """Whether the index holds the number of its rows, so that none is looked at."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[type[Query], tuple[dict[str, Any]]]: ...

# --- split.rs

@final
class Split:
    """A split that is open for reading.

    `footer` are the offsets that the log knows, `deleted` a portable roaring bitmap of deleted
    rows, `schema` the columns of the table.
    """

    def __new__(
        cls,
        store: Store,
        path: str,
        footer: tuple[int, int] | None = None,
        deleted: bytes | None = None,
        schema: Any = None,
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
    ) -> ArrowStream:
        """Matching rows in exactly this schema.

        `order` is "score", or sort keys of `field`, `ascending` and `nulls_first`; `snippet` names
        the `field` that snippets are cut from.
        """
    def aggregate(self, query: Query, request: Mapping[str, Any], schema: Any) -> ArrowStream:
        """Group keys, then functions, of the matching rows, in exactly this schema."""
    def describe(self) -> str:
        """Counts, columns, files and component sizes, as JSON."""
    @staticmethod
    def verify(store: Store, path: str) -> str:
        """What is wrong with the bytes of a split, as a JSON list."""
    def prewarm(self, parts: list[str], fields: list[str]) -> str:
        """Load parts of fields into the caches; what was loaded, as JSON."""

# --- writer.rs

@final
class SplitWriter:
    def __new__(cls, schema: Any, fields: str = "", options: str = "") -> SplitWriter: ...
    @property
    def rows(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def estimated_bytes(self) -> int: ...
    def accepts(self, batch: Any) -> bool: ...
    def write(self, batch: Any) -> None: ...
    def finish(self, store: Store, path: str) -> str: ...
    def abort(self) -> None: ...

# --- manifest.rs

def decode_manifests(files: list[tuple[str, bytes, int]], threads: int) -> list[ArrowStream]: ...
def encode_manifest(entries: Any, compression: str, level: int) -> bytes: ...
def decode_state_manifest(data: bytes, path: str) -> str: ...
def encode_state_manifest(value: str, compression: str, level: int) -> bytes: ...

# --- merge.rs

def merge(
    inputs: str,
    store: Store,
    output: str,
    options: str = "",
    schema: Any = None,
    fields: str = "",
) -> str: ...
