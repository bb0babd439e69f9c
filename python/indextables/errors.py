"""The error table: every error a user can see has a stable code, a message and a hint.

A class exists only where a caller would act differently; the *code*, one row of `CODES`, says what
went wrong. The message starts with `[CODE]`, because Spark turns an exception of a Python worker
into text: `from_text` restores the class on the driver.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# codes of errors that a retry does not fix
_LASTING = frozenset(
    {"FILE_MISSING", "STORAGE_BAD_PATH", "COMPANION_FILE_MISSING", "COMPANION_FILE_CHANGED"}
)


class IndexTablesError(Exception):
    """Base class of all errors of this package; has `code`, `hint` and `context`."""

    def __init__(
        self, code: str, message: str, hint: str = "", context: Mapping[str, Any] | None = None
    ) -> None:
        # positional arguments survive pickling between Spark's processes
        super().__init__(code, message, hint, dict(context or {}))
        self.code = code
        self.message = message
        self.hint = hint
        self.context = dict(context or {})

    @property
    def is_lasting(self) -> bool:
        """Whether reading again fails in the same way: a file is damaged, changed or gone."""
        return isinstance(self, CorruptError) or self.code in _LASTING

    def __str__(self) -> str:
        # below a message of several lines, whose last one may point at a character
        before = "\n" if "\n" in self.message else "; "
        tail = f"{before}hint: {self.hint}" if self.hint else ""
        return f"[{self.code}] {self.message}{tail}"


class InvalidError(IndexTablesError, ValueError):
    """The request must be changed."""


class ConfigError(InvalidError):
    """A configuration key or value is wrong."""


class QuerySyntaxError(InvalidError):
    """The search text does not parse; `context['position']` points into it."""


class SqlSyntaxError(InvalidError):
    """A command does not parse."""


class SchemaMismatchError(InvalidError):
    """The data does not match the table."""


class UnsupportedError(IndexTablesError, NotImplementedError):
    """Not possible in this version."""


class TableNotFoundError(IndexTablesError, FileNotFoundError):
    """There is no table at this location."""

    # subclasses of OSError print errno tuples by default
    __str__ = IndexTablesError.__str__


class TableExistsError(IndexTablesError, FileExistsError):
    """A table already exists at this location."""

    __str__ = IndexTablesError.__str__


class ConflictError(IndexTablesError):
    """Another writer committed first: read the table again and retry."""


class CommitUnknownError(IndexTablesError):
    """The outcome of a commit is unknown: check the history before retrying."""


class StorageError(IndexTablesError, OSError):
    """The store failed."""

    __str__ = IndexTablesError.__str__


class CorruptError(IndexTablesError):
    """A file of the table is corrupt."""


class ProtocolError(IndexTablesError):
    """The table requires a newer reader or writer."""


class InternalError(IndexTablesError):
    """A bug in this package; please report it."""


@dataclass(frozen=True)
class Code:
    """One row of the error table."""

    error: type[IndexTablesError]
    template: str
    hint: str = ""
    sqlstate: str = "XX000"


CODES: dict[str, Code] = {
    "AGGREGATE_NAME_TWICE": Code(
        InvalidError,
        "`{name}` is the name of a group key and of a function",
        "give one of them another name, as in `{{'rows': 'count(*)'}}`",
        "42711",
    ),
    "AGGREGATE_UNSUPPORTED": Code(
        UnsupportedError,
        "the index cannot answer this aggregation exactly",
        "run the query through Spark, or read the columns with scan() and aggregate them",
        "0A000",
    ),
    "ARGUMENT_INVALID": Code(
        InvalidError,
        "`{argument}` is {value}, but should be {wanted}",
        "correct the argument",
        "22023",
    ),
    "ARITHMETIC_OVERFLOW": Code(
        InvalidError,
        "the sum of `{column}` does not fit its type",
        "cast the column to a wider type first",
        "22003",
    ),
    "BUCKET_ARGUMENTS": Code(
        InvalidError,
        "`{function}`: {problem}; it is called as `{form}`",
        "the arguments of bucket functions are described in docs/sql.md",
        "42K0E",
    ),
    "CACHE_FOLDER_FOREIGN": Code(
        StorageError,
        "`{path}` belongs to another user",
        "ask its owner to remove it, or set TMPDIR to a folder that belongs to you",
        "58030",
    ),
    "CATALOG_READ_ONLY": Code(
        UnsupportedError,
        "{change} is not supported in catalog `{catalog}`, which only reads companions",
        "change the source table instead",
        "0A000",
    ),
    "CHANGES_BY_NAME": Code(
        UnsupportedError,
        "the change feed of a table cannot be read by its name, only by its path",
        "use spark.read.format('indextables').option('readChangeFeed', 'true')...load(path), or "
        "IndexTable.forName(spark, name).changes(...)",
        "0A000",
    ),
    "CHANGES_COLUMN": Code(
        UnsupportedError,
        "the change feed reserves column names that the table uses: {columns}",
        "rename these columns",
        "0A000",
    ),
    "CHANGES_GONE": Code(
        UnsupportedError,
        "the changes of version {version} of `{path}` are no longer in the log; "
        "available: {available}",
        "start at an available version; `purge.txLogRetentionHours` decides how long they are kept",
        "22023",
    ),
    "CHANGES_RANGE": Code(
        InvalidError,
        "a change feed {detail}",
        "set startingVersion or startingTimestamp, and optionally endingVersion or endingTimestamp",
        "22023",
    ),
    "CHANGES_SCHEMA": Code(
        UnsupportedError,
        "rows of version {version} of `{path}` cannot be read with the columns of version {now}: "
        "{detail}",
        "begin after the version that replaced the columns; in plain Python, open an older version",
        "0A000",
    ),
    "COLUMN_CHECKED": Code(
        InvalidError,
        "column `{column}` cannot be dropped or renamed: the constraint `{constraint}` names it",
        "drop the constraint first",
        "2BP01",
    ),
    "COLUMN_DROPPED": Code(
        SchemaMismatchError,
        "a dropped column was named `{column}`, and splits still contain its values",
        "choose another name, or overwrite the table with option overwriteSchema=true",
        "42701",
    ),
    "COLUMN_RESERVED": Code(
        UnsupportedError,
        "{command} does not work on a table with a column named `{column}`, which hides one that "
        "it needs",
        "write the rows to a new table in which the column has another name",
        "0A000",
    ),
    "COLUMN_UNKNOWN": Code(
        InvalidError,
        "no such column: {columns}; the table has {available}",
        "correct the names; column names are case-sensitive here",
        "42703",
    ),
    "COMMAND_STOPPED": Code(
        IndexTablesError,
        "the command was stopped: {reason}",
        "completed commits are kept; run it again for the rest",
        "57014",
    ),
    "COMMIT_CONFLICT": Code(
        ConflictError,
        "{operation} cannot follow {winner} (version {version}): {detail}",
        "read the table again and redo the operation",
        "40001",
    ),
    "COMMIT_CONTENTION": Code(
        ConflictError,
        "other writers committed first to `{path}` {attempts} times in a row",
        "try again, or raise spark.indextables.transaction.retry.maxAttempts",
        "40001",
    ),
    "COMMIT_UNKNOWN": Code(
        CommitUnknownError,
        "it is not known whether {operation} on `{path}` took effect: {detail}",
        "wait a minute, then check DESCRIBE INDEXTABLES HISTORY and run it again only if it is not "
        "listed; no file was deleted, PURGE INDEXTABLE removes unused files",
        "08007",
    ),
    "COMPANION_ADDRESS": Code(
        UnsupportedError,
        "column `{column}` cannot be found in source file `{path}`: {detail}",
        "rewrite the file with the program that keeps the source table",
        "0A000",
    ),
    "COMPANION_BEHIND": Code(
        UnsupportedError,
        "the companion index `{path}` is behind its source: {files} files ({bytes}) of source "
        "version {version} are not indexed (indexed: {indexed}), more than this query may search "
        "without an index ({limit})",
        "run BUILD INDEXTABLES COMPANION, read with companion.readVersion=indexed, or raise "
        "companion.maxPendingSize",
        "55000",
    ),
    "COMPANION_CALENDAR": Code(
        UnsupportedError,
        "column `{column}` of source file `{path}` holds old dates in the Julian calendar of a "
        "writer before Spark 3",
        "rewrite the file with a current Spark",
        "0A000",
    ),
    "COMPANION_CHANGED": Code(
        InvalidError,
        "the companion index `{path}` was built with {what} {existing}, not {given}",
        "leave the clause out, or add INVALIDATE ALL PARTITIONS to build the whole index again",
        "42616",
    ),
    "COMPANION_CLAUSE": Code(
        InvalidError,
        "a clause of the command does not fit: {problem} (the columns are {available})",
        "see docs/sql.md#build-companion-for",
        "42703",
    ),
    "COMPANION_COLUMN": Code(
        UnsupportedError,
        "column `{column}` is not in the companion index `{path}`: its values are in the files of "
        "the source table",
        "select other columns, count or search; read the rows from the source table",
        "0A000",
    ),
    "COMPANION_EQUALITY_DELETES": Code(
        UnsupportedError,
        "the Iceberg table `{path}` has equality deletes on a member of a struct, which companions "
        "cannot apply",
        "compact the table with its own engine, which rewrites the rows",
        "0A000",
    ),
    "COMPANION_FILE_CHANGED": Code(
        CorruptError,
        "source file `{path}` is not the file that was indexed: {detail}",
        "run BUILD INDEXTABLES COMPANION again, or read with companion.readVersion=latest",
        "55000",
    ),
    "COMPANION_FILE_MISSING": Code(
        StorageError,
        "source file `{path}` is missing; it may have been vacuumed",
        "run BUILD INDEXTABLES COMPANION again, or read with companion.readVersion=latest",
        "58P01",
    ),
    "COMPANION_FOREIGN": Code(
        UnsupportedError,
        "`{path}` is a companion index of another implementation, whose rows cannot be located; "
        "build it again: BUILD INDEXTABLES COMPANION FOR {format} '{source}' AT LOCATION "
        "'another path'",
        "the old index can be deleted when the new one is complete",
        "0A000",
    ),
    "COMPANION_INCOMPLETE": Code(
        InvalidError,
        "the companion index `{path}` does not hold a complete version of its source",
        "run BUILD INDEXTABLES COMPANION, or read with companion.readVersion=latest",
        "55000",
    ),
    "COMPANION_INDEX_ROOT": Code(
        ConfigError,
        "the properties of the source table do not say where its companion is: there is `{root}` "
        "without `{missing}`",
        "set both with ALTER TABLE ... SET TBLPROPERTIES",
        "22023",
    ),
    "COMPANION_LIBRARY": Code(
        ConfigError,
        "the Python package `{library}` is needed to read the source table ({detail}): pip install "
        "'indextables[{extra}]'",
        "install it on the driver and, for distributed builds, on the executors",
        "58004",
    ),
    "COMPANION_NAME": Code(
        InvalidError,
        "`{name}` is a name, not a location, and no catalog is known that finds this {format} "
        "table",
        "give the location of the table",
        "42P01",
    ),
    "COMPANION_PARTIAL": Code(
        InvalidError,
        "FROM VERSION or FROM SNAPSHOT {version} would leave out rows: the index `{path}` holds "
        "{indexed}",
        "leave the clause out; only files that are not indexed are read",
        "22023",
    ),
    "COMPANION_READ_ONLY": Code(
        UnsupportedError,
        "`{path}` is a companion index, which follows another table and cannot be changed",
        "change the source table with the program that keeps the companion index",
        "0A000",
    ),
    "COMPANION_REPLACED": Code(
        InvalidError,
        "the table at `{source}` is another one (id {found}) than the companion index `{path}` was "
        "built for (id {expected})",
        "build a new companion at another location, or add INVALIDATE ALL PARTITIONS",
        "55000",
    ),
    "COMPANION_REQUIRED": Code(
        InvalidError,
        "`{path}` is not a companion index",
        "table roots apply only to tables created by BUILD INDEXTABLES COMPANION",
        "55000",
    ),
    "COMPANION_ROOT": Code(
        InvalidError,
        "the companion index `{path}` has no table root `{name}`",
        "DESCRIBE INDEXTABLES TABLE ROOTS shows them; add one with SET INDEXTABLES TABLE ROOT",
        "42704",
    ),
    "COMPANION_SOURCE": Code(
        UnsupportedError,
        "the {format} table `{path}` cannot be read as the source of a companion index: {detail}",
        "",
        "58030",
    ),
    "COMPANION_TIME_ZONE": Code(
        UnsupportedError,
        "values of partition column `{column}` of `{path}` depend on the time zone: the companion "
        "index reads them as UTC, and this session has {zone}",
        "set spark.sql.session.timeZone to UTC, or leave the column out of the query",
        "0A000",
    ),
    "COMPANION_TYPE": Code(
        UnsupportedError,
        "column `{column}` of source file `{path}` has type {found}, which cannot be read as "
        "{wanted}",
        "leave the column out, or rewrite the file with the type of the table",
        "0A000",
    ),
    "COMPANION_UNNAMED": Code(
        ConfigError,
        "table `{name}` does not name a companion",
        "build one with BUILD INDEXTABLES COMPANION, then set the property "
        "indextables.companion.location, or indextables.companion.indexroot and "
        "indextables.companion.tableroot.relativepath, of the table",
        "42P01",
    ),
    "COMPANION_VERSION": Code(
        InvalidError,
        "version {version} of the source table cannot be read: {detail}",
        "choose a version that the source still has",
        "22023",
    ),
    "CONDITION_INVALID": Code(
        InvalidError,
        "Invalid condition: {where} ({problem})",
        "compare columns of the table with constants, as in a WHERE clause",
        "42000",
    ),
    "CONDITION_NOT_EXACT": Code(
        UnsupportedError,
        "the index alone cannot answer this condition",
        "run the query through Spark, which checks the rest, or compare whole values instead of "
        "parts of text",
        "0A000",
    ),
    "CONFIG_BAD_VALUE": Code(
        ConfigError,
        "`{key}` = `{value}` is not valid: {allowed}",
        "correct the value or unset the key",
        "22023",
    ),
    "CONFIG_CONFLICT": Code(
        ConfigError,
        "`{key}` is given twice with different values: {values}",
        "keep one of them",
        "22023",
    ),
    "CONSTRAINT_EXISTS": Code(
        InvalidError,
        "the table already has a constraint `{name}`",
        "choose another name, or drop the constraint first",
        "42710",
    ),
    "CONSTRAINT_IN_REPLACE": Code(
        UnsupportedError,
        "REPLACE TABLE cannot have the constraint `{constraint}`",
        "add it with ALTER TABLE afterwards, or drop the table and create it",
        "0A000",
    ),
    "CONSTRAINT_UNCHECKED": Code(
        UnsupportedError,
        "`{path}` has CHECK constraints that only Spark 4.1 or newer can check: {names}",
        "write through Spark with the IndexTables jar, or drop the constraints",
        "0A000",
    ),
    "CONSTRAINT_UNKNOWN": Code(
        InvalidError,
        "the table has no constraint `{name}`; it has: {available}",
        "correct the name, or write DROP CONSTRAINT IF EXISTS",
        "42704",
    ),
    "CONSTRAINT_UNSUPPORTED": Code(
        UnsupportedError,
        "a table cannot have the constraint `{constraint}`",
        "a table can have a PRIMARY KEY, and CHECK constraints",
        "0A000",
    ),
    "DATA_BAD_VALUE": Code(
        InvalidError,
        "column `{column}`: {detail}",
        "correct the rows, or give the column another role (`indexing.typemap`)",
        "22000",
    ),
    "DATA_INVALID": Code(
        InvalidError,
        "Arrow cannot make a table of the data: {detail}",
        "pass an Arrow table, a DataFrame, a dictionary of columns or a list of dictionaries",
        "22000",
    ),
    "DEFAULT_UNCOMPUTED": Code(
        SchemaMismatchError,
        "the data has no column `{column}`, and only Spark can evaluate its default `{default}`",
        "give the column a value, or write through Spark",
        "42601",
    ),
    "DELETION_VECTOR_POSITION": Code(
        InvalidError,
        "positions in a deletion vector are integers from 0 to {limit}",
        "use the 64-bit form for larger positions",
        "22003",
    ),
    "EXECUTOR_MISMATCH": Code(
        ConfigError,
        "the executor on `{host}` has {found}; the driver has {needed}",
        "install the driver's version of indextables on every host, or ship it with the "
        "application: docs/guides/clusters.md",
        "HV000",
    ),
    "FILE_CORRUPT": Code(
        CorruptError,
        "file `{path}` is corrupt: {detail}",
        "restore the file from a backup, or rewrite the table from its source",
        "58030",
    ),
    "FILE_EXISTS": Code(
        ConflictError,
        "file `{path}` already exists",
        "another writer created it first: read the table again and retry",
        "58P02",
    ),
    "FILE_MISSING": Code(
        StorageError,
        "file `{path}` is missing",
        "restore it, or read an older version of the table",
        "58P01",
    ),
    "FILE_TOO_LARGE": Code(
        CorruptError,
        "file `{path}` of the transaction log holds more than {limit}",
        "this package does not write such files; if you trust it, raise `transaction.maxFileSize`",
        "54000",
    ),
    "HASH_INDEX_VALUE": Code(
        InvalidError,
        "hashes in a hash index are signed 32-bit integers",
        "hash the keys with `indextables.index.key_hash`",
        "22003",
    ),
    "HOOKS_MISMATCH": Code(
        InternalError,
        "the jar uses protocol {jar}, but the Python package {version} uses protocol {package}",
        "use the jar of the installed package; `indextables.configure(builder)` does so",
        "HV000",
    ),
    "INDEXING_BAD_ROLE": Code(
        SchemaMismatchError,
        "column `{column}` of type `{type}` cannot be indexed as `{role}`",
        "only string columns can have a typemap: `string`, `text`, `json` or `ip`",
        "42K09",
    ),
    "INDEXING_CHANGED": Code(
        SchemaMismatchError,
        "Field '{column}' type mismatch: existing table has {existing} field, cannot append with "
        "{given} configuration",
        "omit the indexing options: the table remembers them, and REINDEX INDEXTABLES changes them",
        "42K09",
    ),
    "INDEXING_PARTITION_COLUMN": Code(
        SchemaMismatchError,
        "`{key}` names partition column `{column}`, which is not stored in the splits",
        "remove it: partition columns are not indexed",
        "42K09",
    ),
    "INDEXING_UNKNOWN_COLUMN": Code(
        SchemaMismatchError,
        "`{key}` names column `{column}`, which is not in the data. Available columns: {available}",
        "correct the column name",
        "42703",
    ),
    "INDEXING_UNREADABLE": Code(
        SchemaMismatchError,
        "`{key}` names column `{column}`, which has no columnar copy: without its stored value it "
        "could be searched, but neither returned nor preserved when its row changes",
        "remove the column from the list",
        "42K09",
    ),
    "INTERNAL": Code(
        InternalError,
        "{detail}",
        "this is a bug in indextables, please report it",
        "XX000",
    ),
    "INTERRUPTED": Code(
        IndexTablesError,
        "the operation was canceled",
        "",
        "57014",
    ),
    "JAR_MISSING": Code(
        UnsupportedError,
        "the hooks jar is not at `{path}`",
        "build it with `make setup`, or install the wheel",
        "0A000",
    ),
    "JAVA_MISSING": Code(
        IndexTablesError,
        "Spark requires Java 17 or newer: {found}",
        "install it, or point JAVA_HOME to it",
        "58030",
    ),
    "KEY_COLUMN_UNKNOWN": Code(
        SchemaMismatchError,
        "`{key}` names the column `{column}`, which the table does not have: {available}",
        "correct the column name",
        "42703",
    ),
    "KEY_TYPE": Code(
        UnsupportedError,
        "a column of type `{type}` cannot be part of a primary key",
        "choose columns of simple types",
        "0A000",
    ),
    "MERGE_FAILED": Code(
        StorageError,
        "no batch of MERGE SPLITS on `{path}` succeeded: {problem}",
        "the log lists every problem; the table is unchanged",
        "58030",
    ),
    "ORDER_UNSUPPORTED": Code(
        UnsupportedError,
        "rows cannot be sorted by these columns",
        "order by columns of numbers, strings, dates, timestamps, booleans or binary values",
        "0A000",
    ),
    "OVERWRITE_CONDITION": Code(
        UnsupportedError,
        "the index alone cannot determine which rows match the condition of this overwrite",
        "compare whole values instead of parts of text, or use DELETE FROM and append",
        "0A000",
    ),
    "OVERWRITE_OUTSIDE": Code(
        SchemaMismatchError,
        "{rows} of the new rows do not match the condition of this overwrite",
        "filter the data by the same condition",
        "23514",
    ),
    "PAGE_EXTRA_MISSING": Code(
        UnsupportedError,
        "the page needs {libraries}",
        'install them with: pip install "indextables[ui]"',
        "0A000",
    ),
    "PAGE_NUMBER": Code(
        InvalidError,
        "`{value}` is not a number, and column `{column}` has numbers",
        "write a number such as 10 or -2.5",
        "22018",
    ),
    "PAGE_PORT": Code(
        StorageError,
        "port {port} of 127.0.0.1 cannot be opened: {detail}",
        "choose another --port, or omit it to use any free port",
        "58030",
    ),
    "PAGE_UNKNOWN": Code(
        InvalidError,
        "there is no page `{path}`",
        "follow a link from the start page",
        "42704",
    ),
    "PARTITION_ALL_COLUMNS": Code(
        SchemaMismatchError,
        "the table is partitioned by all of its columns: {columns}",
        "leave at least one column to index",
        "42K0E",
    ),
    "PARTITION_COLUMN_TWICE": Code(
        SchemaMismatchError,
        "the table is partitioned by `{column}` twice",
        "name it once",
        "42711",
    ),
    "PARTITION_COLUMN_UNKNOWN": Code(
        SchemaMismatchError,
        "Partition column '{column}' not found in schema. Available columns: {available}",
        "correct the column name",
        "42703",
    ),
    "PARTITION_MISMATCH": Code(
        SchemaMismatchError,
        "partitionBy({given}) does not match the table, which is partitioned by: {existing}",
        "omit partitionBy, or overwrite with option overwriteSchema=true",
        "42KDE",
    ),
    "PARTITION_PREDICATE": Code(
        InvalidError,
        "{problem}",
        "use partition columns only, compared with constants",
        "42000",
    ),
    "PARTITION_TYPE": Code(
        UnsupportedError,
        "column `{column}` of type `{type}` cannot be a partition column",
        "partition by numbers, booleans, dates, timestamps, binary values or plain strings",
        "0A000",
    ),
    "PARTITION_VALUE_INVALID": Code(
        CorruptError,
        "partition column `{column}` of type `{type}` has the value `{value}` in the log",
        "the writer of the log did not use the column's type; rewrite the partition",
        "22018",
    ),
    "PATHS_SEVERAL": Code(
        InvalidError,
        "only one path can be read at a time: {paths}",
        "load each path separately and union the results",
        "42601",
    ),
    "PATH_MISSING": Code(
        InvalidError,
        "no path was given",
        "use `.load(path)`, `.save(path)` or the option `path`",
        "42601",
    ),
    "PLANNER_LOST": Code(
        InternalError,
        "the planner process ended during `{operation}`",
        "check the table's history to see whether the change was committed, then try again",
        "58000",
    ),
    "PREWARM_FIELD_UNKNOWN": Code(
        ConfigError,
        "cannot prewarm {fields}: the table has the columns {available}",
        "correct the names, or set `spark.indextables.prewarm.failOnMissingField` to false",
        "42703",
    ),
    "PREWARM_SEGMENT_UNKNOWN": Code(
        ConfigError,
        "cannot prewarm {segments}: known are {known}",
        "correct `spark.indextables.prewarm.segments`",
        "42K03",
    ),
    "PRIMARY_KEY_CHANGED": Code(
        InvalidError,
        "the primary key of a table cannot be changed from `{existing}` to `{given}`",
        "write the rows to a new table that has this key",
        "42KDE",
    ),
    "PRIMARY_KEY_INDEXING": Code(
        InvalidError,
        "key column `{column}` must be indexed by its whole value",
        "remove it from `indexing.typemap` and `indexing.storeonlyfields`",
        "22023",
    ),
    "PRIMARY_KEY_NULL": Code(
        InvalidError,
        "a row has no value in key column `{column}`",
        "filter such rows out, or fill the column",
        "23502",
    ),
    "PRIMARY_KEY_PARTITIONS": Code(
        InvalidError,
        "the primary key (`{columns}`) has no column besides the partition columns",
        "add a column that identifies the rows within a partition",
        "22023",
    ),
    "PROTOCOL_UNSUPPORTED": Code(
        ProtocolError,
        "`{path}` requires {needs}",
        "use a newer version of indextables",
        "0A000",
    ),
    "PURGE_RETENTION": Code(
        InvalidError,
        "a retention of {hours} hours is below the minimum of {least}: running writers could lose "
        "files",
        "choose a longer one, or set `purge.retentionCheckEnabled` to false if nothing writes",
        "22023",
    ),
    "QUERY_INVALID": Code(
        InvalidError,
        "{detail}",
        "correct the query",
        "42601",
    ),
    "QUERY_PARTITION_FIELD": Code(
        InvalidError,
        "the query searches `{field}`, a partition column, which is not in the index",
        "move it to the WHERE clause: `day = '2026-01-31' AND message indexquery 'timeout'`",
        "42703",
    ),
    "QUERY_SYNTAX": Code(
        QuerySyntaxError,
        "`{query}` at position {position}: {detail}{pointer}",
        "correct the search text",
        "42601",
    ),
    "QUERY_UNKNOWN_FIELD": Code(
        InvalidError,
        "IndexQuery references non-existent field '{field}'. Available fields are: [{available}]",
        "correct the field name in the search text: it is a column of the table, whatever the "
        'column of a view is called; quote a term that contains a colon: `"10.0.0.1:8080"`',
        "42703",
    ),
    "REINDEX_FAILED": Code(
        StorageError,
        "`{split}` of `{path}` could not be written again: {problem}",
        "the table is unchanged; repair or remove the split, and repeat REINDEX",
        "58030",
    ),
    "REINDEX_FOREIGN": Code(
        UnsupportedError,
        "REINDEX needs a table that remembers how its columns are indexed; another implementation "
        "created this one",
        "overwrite the table with the new indexing options",
        "0A000",
    ),
    "REINDEX_NOT_TEXT": Code(
        SchemaMismatchError,
        "`{key}` applies to text columns; column `{column}` is indexed as `{role}`",
        "add the column to INDEXING MODES as `text`, or remove the option",
        "42K09",
    ),
    "REPAIR_COMPANION": Code(
        InvalidError,
        "some splits at `{path}` are of a companion and do not say which source it has",
        "build the companion again at another location: BUILD INDEXTABLES COMPANION FOR … AT "
        "LOCATION …",
        "55000",
    ),
    "REPAIR_LOG_EXISTS": Code(
        InvalidError,
        "`{path}` still has a transaction log",
        "move `_transaction_log` away first, or choose another location with AT LOCATION",
        "55000",
    ),
    "REPAIR_NOT_EMPTY": Code(
        InvalidError,
        "`{path}` is not empty",
        "choose a location that does not exist yet",
        "55000",
    ),
    "REPAIR_NO_SPLITS": Code(
        InvalidError,
        "there is no readable split at `{path}`",
        "check the path",
        "55000",
    ),
    "REPAIR_PATH": Code(
        InvalidError,
        "`{path}` is not a transaction log: it must end in `{folder}`",
        "give the location of the transaction log, not of the table",
        "22023",
    ),
    "REPLACE_WHERE_CLASH": Code(
        InvalidError,
        "`replaceWhere` replaces some of the rows; it cannot be used with {other}",
        "use mode overwrite, without `overwriteSchema`",
        "42000",
    ),
    "REPLACE_WHERE_IN_REPLACE": Code(
        UnsupportedError,
        "`saveAsTable` in mode overwrite replaces the whole table; it does not take `replaceWhere`",
        "use `writeTo(name).overwrite(condition)`, or `save(path)` with the option",
        "0A000",
    ),
    "RESTORE_CLEANED": Code(
        InvalidError,
        "version {version} was deleted by retention while it was being restored; {state}",
        "choose a newer version",
        "55000",
    ),
    "RESTORE_FILES_MISSING": Code(
        InvalidError,
        "version {version} cannot be restored: {count} of its files were deleted, first `{first}`",
        "choose a newer version",
        "55000",
    ),
    "ROWKIND_INVALID": Code(
        InvalidError,
        "column `{column}` contains `{value}`, which is not a row kind",
        "use `+I`, `-U`, `+U` or `-D`",
        "22023",
    ),
    "SAVE_MODE": Code(
        InvalidError,
        "`{mode}` is not a save mode; use {allowed}",
        "correct the mode",
        "22023",
    ),
    "SCHEMA_DUPLICATE_COLUMN": Code(
        SchemaMismatchError,
        "the data has several columns named {columns}",
        "rename them: names must differ in more than case",
        "42711",
    ),
    "SCHEMA_EMPTY": Code(
        SchemaMismatchError,
        "the data has no columns",
        "write at least one column",
        "42K0E",
    ),
    "SCHEMA_GIVEN": Code(
        SchemaMismatchError,
        "the schema of the read ({given}) is not the schema of the table ({existing})",
        "read without a schema; then select, rename and cast the columns",
        "42K03",
    ),
    "SCHEMA_MISMATCH": Code(
        SchemaMismatchError,
        "the data does not match the table: {problems}",
        "select, rename or cast the columns, or set `mergeSchema` to add new ones",
        "42K09",
    ),
    "SCHEMA_TYPE_CHANGE": Code(
        UnsupportedError,
        "column `{column}` cannot change from {old} to {new}: {reason}",
        "cast the data to the type of the column, or write it to a new table",
        "0A000",
    ),
    "SCHEMA_UNSUPPORTED_TYPE": Code(
        UnsupportedError,
        "column `{column}` has type `{type}`, which a split cannot store",
        "cast it to a supported type",
        "0A000",
    ),
    "SEARCH_EXACT_ONLY": Code(
        InvalidError,
        "Cannot use FIELDMATCH on field '{field}': it is tokenized",
        "use TEXTSEARCH or indexquery",
        "42809",
    ),
    "SEARCH_MODE": Code(
        InvalidError,
        "`{mode}` is not a search mode; allowed: {allowed}",
        "use `query` for the query language, `simple` for free text",
        "22023",
    ),
    "SEARCH_NOT_PUSHED": Code(
        UnsupportedError,
        "`{search}` cannot be answered by an index here",
        "search a column by name, or use it in WHERE on an IndexTables table",
        "0A000",
    ),
    "SEARCH_TEXT_ONLY": Code(
        InvalidError,
        "Cannot use TEXTSEARCH on field '{field}': it is not tokenized",
        "use FIELDMATCH or indexquery, or index the column with typemap `text`",
        "42809",
    ),
    "SEARCH_TOO_MANY_FIELDS": Code(
        InvalidError,
        "a search over all fields would cover {fields} columns; the limit is {limit}",
        "write `column:term`, or raise `indexquery.indexall.maxUnqualifiedFields` (0: no limit)",
        "54000",
    ),
    "SESSION_RUNNING": Code(
        InvalidError,
        "a Spark session is already running without IndexTables",
        "stop it with `spark.stop()` and build it again with `indextables.configure(builder)`",
        "55000",
    ),
    "SPARK_MISSING": Code(
        UnsupportedError,
        "pyspark is not installed",
        "`pip install indextables[spark]`",
        "0A000",
    ),
    "SPARK_TOO_OLD": Code(
        UnsupportedError,
        "{feature} requires Spark {version} or newer",
        "update Spark, or add the columns first",
        "0A000",
    ),
    "SPARK_VERSION": Code(
        UnsupportedError,
        "Spark {version} is not supported; supported versions are {supported}",
        "install a supported pyspark",
        "0A000",
    ),
    "SQL_CLAUSE": Code(
        SqlSyntaxError,
        "{problem}",
        "see docs/sql.md for the clauses of each command",
        "42601",
    ),
    "SQL_SYNTAX": Code(
        SqlSyntaxError,
        "{problem} (line {line}, column {column}){usage}",
        "write the keywords in the order shown, and paths in quotes",
        "42601",
    ),
    "STATEMENT_FAILED": Code(
        IndexTablesError,
        "{problem}",
        "correct the statement; `--table` names the tables",
        "42000",
    ),
    "STORAGE_BAD_PATH": Code(
        StorageError,
        "`{path}` is not a path inside a table",
        "paths are relative, without empty, `.` or `..` parts",
        "22023",
    ),
    "STORAGE_BAD_SCHEME": Code(
        StorageError,
        "the scheme `{scheme}` of `{url}` is not supported; use a local path or {supported}",
        "copy the data to one of these stores, or mount the store as a local folder",
        "22023",
    ),
    "STORAGE_BAD_URL": Code(
        StorageError,
        "`{url}` cannot be opened: {detail}",
        "check the URL and the credentials",
        "22023",
    ),
    "STORAGE_CREDENTIALS": Code(
        StorageError,
        "no credentials for `{url}`: {detail}",
        "docs/guides/object-stores.md lists where they are looked up",
        "28000",
    ),
    "STORAGE_FAILED": Code(
        StorageError,
        "`{path}`: {detail}",
        "check that the store is reachable and the credentials are right",
        "58030",
    ),
    "STREAM_CHANGED": Code(
        UnsupportedError,
        "version {version} of `{path}` changes rows that the stream has already read",
        "set the option ignoreDeletes, ignoreChanges or skipChangeCommits, or start a new stream",
        "0A000",
    ),
    "STREAM_MODE": Code(
        UnsupportedError,
        "streaming writes support only mode append or complete",
        "for rows that change, use foreachBatch and MERGE INTO",
        "0A000",
    ),
    "STREAM_OTHER_TABLE": Code(
        UnsupportedError,
        "the table at `{path}` is another one than the stream has read: it was made again",
        "start a new stream with a new checkpoint location",
        "0A000",
    ),
    "STREAM_VERSION_GONE": Code(
        UnsupportedError,
        "version {version} of `{path}` is no longer in the log",
        "start a new stream with a new checkpoint location",
        "0A000",
    ),
    "TABLE_DIFFERS": Code(
        SchemaMismatchError,
        "the table at `{path}` differs from the statement: {problems}",
        "omit the columns to use the table as it is, or choose another location",
        "42K09",
    ),
    "TABLE_EXISTS": Code(
        TableExistsError,
        "a table already exists at `{path}`",
        "use mode append or overwrite, or another path",
        "42P07",
    ),
    "TABLE_NAME_IS_DATABASE": Code(
        InvalidError,
        "`{name}` is a database, not a table",
        "run the command on each of its tables; SHOW TABLES lists them",
        "42809",
    ),
    "TABLE_NAME_UNKNOWN": Code(
        TableNotFoundError,
        "the catalog has no IndexTables table named `{name}`",
        "check the name with SHOW TABLES, or give the path of the table in quotes",
        "42P01",
    ),
    "TABLE_NOT_FOUND": Code(
        TableNotFoundError,
        "there is no IndexTables table at `{path}`",
        "check the path; a table is a folder with `_transaction_log` inside",
        "42P01",
    ),
    "TIMESTAMP_INVALID": Code(
        InvalidError,
        "`{timestamp}` is not a valid timestamp",
        "write it as `2026-01-31 12:00:00` or `2026-01-31T12:00:00+01:00`",
        "22007",
    ),
    "TIMESTAMP_NOT_AVAILABLE": Code(
        InvalidError,
        "`{path}` cannot be read as of {timestamp}; the oldest available version is from {first}",
        "older versions are removed by retention; choose a later timestamp",
        "22023",
    ),
    "TIME_ZONE_UNKNOWN": Code(
        InvalidError,
        "`{zone}` is not a time zone that Python knows",
        "use a name such as `Europe/Berlin`; install `tzdata` where the system has no time zones",
        "22009",
    ),
    "TOO_MANY_BUCKETS": Code(
        UnsupportedError,
        "a partition cannot have more than {limit} buckets",
        "raise `dynamic-bucket.target-row-num`",
        "54000",
    ),
    "UNSUPPORTED_CHANGE": Code(
        UnsupportedError,
        "this change of a table is not supported: {change}",
        "write the data to a new table",
        "0A000",
    ),
    "UNSUPPORTED_PARTITIONING": Code(
        UnsupportedError,
        "a table cannot be partitioned by `{partitioning}`",
        "partition by plain columns: PARTITIONED BY (column, ...)",
        "0A000",
    ),
    "VERSION_AND_TIMESTAMP": Code(
        InvalidError,
        "a version and a timestamp of `{path}` are given",
        "give one of them",
        "42000",
    ),
    "VERSION_NOT_AVAILABLE": Code(
        InvalidError,
        "version {version} of `{path}` is not available; available: {available}",
        "older versions are removed by retention; choose an available version",
        "22023",
    ),
}

_MARK = re.compile(r"\[([A-Z][A-Z0-9_]+)\] ")
_HINT = re.compile(r"(?:; |\n)hint: ")


def error(code: str, **context: Any) -> IndexTablesError:
    """Build the exception of a code, ready to raise."""
    row = CODES[code]
    return row.error(code, row.template.format(**context), row.hint, context)


def describe(failure: IndexTablesError) -> dict[str, Any]:
    """Describe an error the way Spark does: condition, SQLSTATE, parameters, template."""
    row = CODES[failure.code]
    names = [name for _, name, _, _ in string.Formatter().parse(row.template) if name]
    template = row.template.format(**{name: f"<{name}>" for name in names})
    # Spark shows one line, where a mark below a character means nothing
    message = failure.message.removesuffix(failure.context.get("pointer", ""))
    return {
        "code": failure.code,
        "message": " ".join(message.split()),
        "hint": failure.hint,
        "sqlstate": row.sqlstate,
        "parameters": {name: str(failure.context.get(name, "")) for name in names},
        "template": f"{template}; hint: {row.hint}" if row.hint else template,
    }


def from_description(value: Mapping[str, Any]) -> IndexTablesError:
    """Rebuild the exception from its description, ready to raise."""
    code = value["code"]
    return CODES[code].error(code, value["message"], value["hint"], value["parameters"])


def from_text(text: str) -> IndexTablesError | None:
    """Rebuild the exception from its text, or return None if the text contains none."""
    for found in _MARK.finditer(text):
        code = found[1]
        if code in CODES:
            message, *hint = _HINT.split(text[found.end() :], maxsplit=1)
            shown = "".join(hint).strip().split("\n")[0]
            return CODES[code].error(code, message.strip(), shown)
    return None
