"""Keys of row-level changes: deletion vectors, primary keys, dynamic buckets.

Their names are Apache Paimon's, without a prefix, because the files are Paimon's too.
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
    "Key columns: every write then replaces the rows of the same key. Set when the table is made.",
    _GROUP,
    _TABLE,
    bare=True,
)
MERGE_ENGINE = Option(
    "merge-engine",
    choice("deduplicate", "first-row", "partial-update"),
    "deduplicate",
    "Which row of a key stays: the last one, the first one, or the last value that is not null "
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
    "Column with `+I`, `-U`, `+U` or `-D`, for change feeds that contain deletes.",
    _GROUP,
    _TABLE,
    bare=True,
)
IGNORE_DELETE = Option(
    "ignore-delete",
    BOOLEAN,
    default=False,
    doc="Skip the deletes of a change feed.",
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
    "Size at which a file of deletion vectors is finished.",
    _GROUP,
    _TABLE,
    bare=True,
)
TARGET_ROW_NUM = Option(
    "dynamic-bucket.target-row-num",
    integer(1),
    2_000_000,
    "Keys of one bucket before a new one is opened.",
    _GROUP,
    _TABLE,
    bare=True,
)
INITIAL_BUCKETS = Option(
    "dynamic-bucket.initial-buckets",
    optional(integer(1)),
    None,
    "Buckets a first write opens.",
    _GROUP,
    _TABLE,
    bare=True,
)
MAX_BUCKETS = Option(
    "dynamic-bucket.max-buckets",
    integer(-1),
    -1,
    "Most buckets of a partition; -1 sets no limit.",
    _GROUP,
    _TABLE,
    bare=True,
)
ASSIGNER_PARALLELISM = Option(
    "dynamic-bucket.assigner-parallelism",
    optional(integer(1)),
    None,
    "Tasks that assign buckets at the same time.",
    _GROUP,
    _TABLE,
    bare=True,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
