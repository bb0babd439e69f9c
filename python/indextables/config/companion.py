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
    "Which version of the source a query sees: its newest, whatever is indexed, or the one that "
    "the last complete BUILD indexed, without a look at the source.",
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
    "Most bytes of source files that a query searches without an index.",
    _GROUP,
    _EVERYWHERE,
)
REWRITE_BELOW = Option(
    "companion.sync.rewriteBelow",
    number(0, 1),
    0.5,
    "A split with a smaller share of live rows is built again by the next BUILD.",
    _GROUP,
    _EVERYWHERE,
)
STORED_COLUMNS = Option(
    "companion.storedColumns",
    NAMES,
    (),
    "Columns whose values the index keeps, too, for faster access to single rows.",
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
    "Which queries of a source table its companion answers: those with a search, also filters, "
    "aggregations and top-k that the index answers completely, or none.",
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
    "Minutes that IndexTablesCatalog remembers where the companion of a table is.",
    _GROUP,
    (Scope.SESSION,),
)
# properties of source tables that say where their companion is
SOURCE_INDEX = "indextables.companion.location"
SOURCE_INDEX_ROOT = "indextables.companion.indexroot"
SOURCE_INDEX_PATH = "indextables.companion.tableroot.relativepath"

TABLE_ROOT = Option(
    "companion.tableRootDesignator",
    _TEXT,
    None,
    "Name of the root the source's files are read from.",
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
    "Most string columns that get a columnar copy without HASHED FASTFIELDS.",
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
    "Failures in a row after which streaming stops.",
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
    "Every so many polls without news are logged.",
    _GROUP,
)
ICEBERG_CATALOG_TYPE = Option(
    "iceberg.catalogType",
    TEXT,
    "rest",
    "Kind of the Iceberg catalog.",
    _GROUP,
)
ICEBERG_URI = Option("iceberg.uri", _TEXT, None, "Address of the Iceberg catalog.", _GROUP)
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
    "Address of the store of Iceberg's files.",
    _GROUP,
)
ICEBERG_S3_PATH_STYLE = Option(
    "iceberg.s3PathStyleAccess",
    BOOLEAN,
    default=False,
    doc="The bucket in the path, for the store of Iceberg's files.",
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
