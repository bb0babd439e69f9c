"""Keys of companion indexes over Delta, Iceberg and Parquet."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    SIZE,
    TEXT,
    Option,
    Parser,
    Scope,
    Status,
    automatic,
    integer,
    number,
    optional,
)

_GROUP = "Companion indexes"
_TEXT: Parser[str | None] = optional(TEXT)

TABLE_ROOT = Option(
    "companion.tableRootDesignator",
    _TEXT,
    None,
    "Name of the root the source's files are read from.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
WRITER_HEAP_BYTES = Option(
    "companion.writerHeapSize",
    SIZE,
    1 << 30,
    "Memory of one split being built.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
READER_BATCH_ROWS = Option(
    "companion.readerBatchSize",
    integer(1),
    8192,
    "Rows of one batch read back.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
MAX_HASHED_FASTFIELDS = Option(
    "companion.maxAutomaticHashedFastfields",
    integer(0),
    10,
    "Most string columns that get a hashed columnar copy unasked.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
SYNC_BATCH_SIZE = Option(
    "companion.sync.batchSize",
    automatic(integer(1)),
    None,
    "Groups of source files committed together; `auto` is the number of cores.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
SYNC_MAX_BATCHES = Option(
    "companion.sync.maxConcurrentBatches",
    integer(1),
    6,
    "Batches indexed at the same time.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
MAX_INCREMENTAL_COMMITS = Option(
    "companion.sync.maxIncrementalCommits",
    integer(1),
    100,
    "Most source commits followed one by one; beyond, the file lists are compared.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
STREAM_MAX_ERRORS = Option(
    "companion.stream.maxConsecutiveErrors",
    integer(1),
    10,
    "Failures in a row after which streaming stops.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
STREAM_BACKOFF = Option(
    "companion.stream.errorBackoffMultiplier",
    number(1),
    2.0,
    "Factor by which the pause grows with each failure.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
STREAM_QUIET_POLLS = Option(
    "companion.stream.quietPollLogInterval",
    integer(1),
    10,
    "Every so many polls without news are logged.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
ICEBERG_CATALOG_TYPE = Option(
    "iceberg.catalogType",
    TEXT,
    "rest",
    "Kind of the Iceberg catalog.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
ICEBERG_URI = Option(
    "iceberg.uri", _TEXT, None, "Address of the Iceberg catalog.", _GROUP, status=Status.UNSUPPORTED
)
ICEBERG_WAREHOUSE = Option(
    "iceberg.warehouse", _TEXT, None, "Warehouse of the catalog.", _GROUP, status=Status.UNSUPPORTED
)
ICEBERG_TOKEN = Option(
    "iceberg.token",
    _TEXT,
    None,
    "Token for the catalog.",
    _GROUP,
    secret=True,
    status=Status.UNSUPPORTED,
)
ICEBERG_CREDENTIAL = Option(
    "iceberg.credential",
    _TEXT,
    None,
    "Client and secret for the catalog.",
    _GROUP,
    secret=True,
    status=Status.UNSUPPORTED,
)
ICEBERG_S3_ENDPOINT = Option(
    "iceberg.s3Endpoint",
    _TEXT,
    None,
    "Address of the store of Iceberg's files.",
    _GROUP,
    status=Status.UNSUPPORTED,
)
ICEBERG_S3_PATH_STYLE = Option(
    "iceberg.s3PathStyleAccess",
    BOOLEAN,
    default=False,
    doc="The bucket in the path, for the store of Iceberg's files.",
    group=_GROUP,
    status=Status.UNSUPPORTED,
)
SOURCE_CREDENTIALS = Option(
    "companion.parquet",
    TEXT,
    "",
    "Storage keys for the source's files alone, such as `companion.parquet.aws.accessKey`.",
    _GROUP,
    (Scope.OPTION, Scope.SESSION),
    aliases=("companion.aws",),
    secret=True,
    per_field=True,
    status=Status.UNSUPPORTED,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
