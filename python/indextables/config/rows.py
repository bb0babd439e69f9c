"""Keys of row-level changes: deletion vectors, primary keys, dynamic buckets.

Their names are those of Apache Paimon, without a prefix, because the files have Paimon's format.
"""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    NAMES,
    SIZE,
    TEXT,
    Option,
    Scope,
    choice,
    integer,
    optional,
)

_GROUP = "Row-level changes"
_TABLE = (Scope.TABLE, Scope.OPTION)

PRIMARY_KEY = Option(
    "primary-key",
    NAMES,
    (),
    "Key columns: a write replaces rows with the same key. Set when the table is created.",
    _GROUP,
    _TABLE,
    bare=True,
)
MERGE_ENGINE = Option(
    "merge-engine",
    choice("deduplicate", "first-row", "partial-update"),
    "deduplicate",
    "Which row of a key stays: the last one, the first one, or the last non-null value "
    "of each column.",
    _GROUP,
    _TABLE,
    bare=True,
)
SEQUENCE_FIELD = Option(
    "sequence.field",
    NAMES,
    (),
    "Columns whose largest value decides which row of a key is the last.",
    _GROUP,
    _TABLE,
    bare=True,
)
ROWKIND_FIELD = Option(
    "rowkind.field",
    optional(TEXT),
    None,
    "Column with the row kind (`+I`, `-U`, `+U` or `-D`), for change feeds that contain deletes.",
    _GROUP,
    _TABLE,
    bare=True,
)
IGNORE_DELETE = Option(
    "ignore-delete",
    BOOLEAN,
    default=False,
    doc="Ignore the deletes of a change feed.",
    group=_GROUP,
    scopes=_TABLE,
    bare=True,
)
BITMAP64 = Option(
    "deletion-vectors.bitmap64",
    BOOLEAN,
    default=False,
    doc="Write deletion vectors in the 64-bit form, which Delta Lake and Iceberg share.",
    group=_GROUP,
    scopes=_TABLE,
    bare=True,
)
INDEX_FILE_TARGET_BYTES = Option(
    "deletion-vector.index-file.target-size",
    SIZE,
    2 << 20,
    "Target size of a file of deletion vectors.",
    _GROUP,
    _TABLE,
    bare=True,
)
TARGET_ROW_NUM = Option(
    "dynamic-bucket.target-row-num",
    integer(1),
    2_000_000,
    "Keys per bucket before a new bucket is created.",
    _GROUP,
    _TABLE,
    bare=True,
)
INITIAL_BUCKETS = Option(
    "dynamic-bucket.initial-buckets",
    optional(integer(1)),
    None,
    "Buckets created by the first write.",
    _GROUP,
    _TABLE,
    bare=True,
)
MAX_BUCKETS = Option(
    "dynamic-bucket.max-buckets",
    integer(-1),
    -1,
    "Maximum number of buckets per partition; -1 means no limit.",
    _GROUP,
    _TABLE,
    bare=True,
)
ASSIGNER_PARALLELISM = Option(
    "dynamic-bucket.assigner-parallelism",
    optional(integer(1)),
    None,
    "Tasks that assign buckets concurrently.",
    _GROUP,
    _TABLE,
    bare=True,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
