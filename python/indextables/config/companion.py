"""Keys of companion indexes over Delta, Iceberg and Parquet."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    NAMES,
    SIZE,
    TEXT,
    Option,
    Parser,
    Scope,
    automatic,
    choice,
    integer,
    number,
    optional,
)

_GROUP = "Companion indexes"
_TEXT: Parser[str | None] = optional(TEXT)
_EVERYWHERE = (Scope.OPTION, Scope.SESSION, Scope.TABLE)

READ_VERSION = Option(
    "companion.readVersion",
    choice("latest", "indexed"),
    "latest",
    "Version of the source that a query sees: the latest, indexed or not, or the one that the last "
    "complete BUILD indexed, without checking the source.",
    _GROUP,
    _EVERYWHERE,
)
SOURCE_VERSION_AS_OF = Option(
    "sourceVersionAsOf",
    _TEXT,
    None,
    "Version (Delta) or snapshot id (Iceberg) of the source that a query sees.",
    _GROUP,
    (Scope.OPTION,),
    bare=True,
)
MAX_PENDING_BYTES = Option(
    "companion.maxPendingSize",
    SIZE,
    1 << 30,
    "Maximum bytes of source files that a query searches without an index.",
    _GROUP,
    _EVERYWHERE,
)
REWRITE_BELOW = Option(
    "companion.sync.rewriteBelow",
    number(0, 1),
    0.5,
    "The next BUILD rebuilds splits with a smaller share of live rows.",
    _GROUP,
    _EVERYWHERE,
)
STORED_COLUMNS = Option(
    "companion.storedColumns",
    NAMES,
    (),
    "Columns whose values are also stored in the index, for faster access to single rows.",
    _GROUP,
    _EVERYWHERE,
)

LOCATIONS = Option(
    "companion.locations",
    NAMES,
    (),
    "Companions that answer queries of their source tables.",
    _GROUP,
)
ANSWERS = Option(
    "companion.answers",
    choice("searches", "all", "none"),
    "searches",
    "Queries of a source table that its companion answers: `searches`, also filters, aggregations "
    "and top-k that the index answers completely (`all`), or `none`.",
    _GROUP,
)
REGION = Option(
    "companion.region",
    _TEXT,
    None,
    "Region whose `indextables.companion.indexroot.<region>` of a source table is used.",
    _GROUP,
)
CATALOG_TTL_MINUTES = Option(
    "catalog.cache.ttl.minutes",
    integer(0),
    60,
    "Minutes for which IndexTablesCatalog caches the location of a companion.",
    _GROUP,
    (Scope.SESSION,),
)
# properties of source tables that give the location of their companion
SOURCE_INDEX = "indextables.companion.location"
SOURCE_INDEX_ROOT = "indextables.companion.indexroot"
SOURCE_INDEX_PATH = "indextables.companion.tableroot.relativepath"

TABLE_ROOT = Option(
    "companion.tableRootDesignator",
    _TEXT,
    None,
    "Name of the table root from which the source's files are read.",
    _GROUP,
)
WRITER_HEAP_BYTES = Option(
    "companion.writerHeapSize",
    SIZE,
    1 << 30,
    "Memory of one split being built.",
    _GROUP,
)
MAX_HASHED_FASTFIELDS = Option(
    "companion.maxAutomaticHashedFastfields",
    integer(0),
    10,
    "Maximum string columns that get a columnar copy without HASHED FASTFIELDS.",
    _GROUP,
)
SYNC_BATCH_SIZE = Option(
    "companion.sync.batchSize",
    automatic(integer(1)),
    None,
    "Groups of source files committed together; `auto` is the number of cores.",
    _GROUP,
)
SYNC_MAX_BATCHES = Option(
    "companion.sync.maxConcurrentBatches",
    integer(1),
    6,
    "Batches indexed at the same time.",
    _GROUP,
)
STREAM_MAX_ERRORS = Option(
    "companion.stream.maxConsecutiveErrors",
    integer(1),
    10,
    "Consecutive failures after which streaming stops.",
    _GROUP,
)
STREAM_BACKOFF = Option(
    "companion.stream.errorBackoffMultiplier",
    number(1),
    2.0,
    "Factor by which the pause grows with each failure.",
    _GROUP,
)
STREAM_QUIET_POLLS = Option(
    "companion.stream.quietPollLogInterval",
    integer(1),
    10,
    "Number of polls without changes per log message.",
    _GROUP,
)
ICEBERG_CATALOG_TYPE = Option(
    "iceberg.catalogType",
    TEXT,
    "rest",
    "Kind of the Iceberg catalog.",
    _GROUP,
)
ICEBERG_URI = Option("iceberg.uri", _TEXT, None, "URL of the Iceberg catalog.", _GROUP)
ICEBERG_WAREHOUSE = Option("iceberg.warehouse", _TEXT, None, "Warehouse of the catalog.", _GROUP)
ICEBERG_TOKEN = Option(
    "iceberg.token",
    _TEXT,
    None,
    "Token for the catalog.",
    _GROUP,
    secret=True,
)
ICEBERG_CREDENTIAL = Option(
    "iceberg.credential",
    _TEXT,
    None,
    "Client and secret for the catalog.",
    _GROUP,
    secret=True,
)
ICEBERG_S3_ENDPOINT = Option(
    "iceberg.s3Endpoint",
    _TEXT,
    None,
    "URL of the store of Iceberg's files.",
    _GROUP,
)
ICEBERG_S3_PATH_STYLE = Option(
    "iceberg.s3PathStyleAccess",
    BOOLEAN,
    default=False,
    doc="Put the bucket into the path of the URL, for the store of Iceberg's files.",
    group=_GROUP,
)
SOURCE_CREDENTIALS = Option(
    "companion.parquet",
    TEXT,
    "",
    "Storage keys for the source's files alone, such as `companion.parquet.aws.accessKey`.",
    _GROUP,
    (Scope.OPTION, Scope.SESSION),
    secret=True,
    per_field=True,
)
SOURCE_AWS = Option(
    "companion.aws",
    TEXT,
    "",
    "The same as `companion.parquet.aws`: S3 keys for the source's files alone, such as "
    "`companion.aws.accessKey`.",
    _GROUP,
    (Scope.OPTION, Scope.SESSION),
    secret=True,
    per_field=True,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
