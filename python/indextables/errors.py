"""The one error tree: every failure a user can meet has a stable code, a message and a way out.

A class exists only where a caller would act differently; what went wrong is the *code*, one row
of `CODES`. The code stands in the text as `[CODE]`, because Spark turns an exception of a Python
worker into text: `from_text` finds the class again on the driver.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class IndexTablesError(Exception):
    """Base of everything raised on purpose; carries `code`, `hint` and `context`."""

    retryable = False

    def __init__(
        self, code: str, message: str, hint: str = "", context: Mapping[str, Any] | None = None
    ) -> None:
        # positional arguments survive pickling between Spark's processes
        super().__init__(code, message, hint, dict(context or {}))
        self.code = code
        self.message = message
        self.hint = hint
        self.context = dict(context or {})

    def __str__(self) -> str:
        tail = f"; hint: {self.hint}" if self.hint else ""
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
    """The data does not fit the table."""


class UnsupportedError(IndexTablesError, NotImplementedError):
    """Not possible in this version."""


class TableNotFoundError(IndexTablesError, FileNotFoundError):
    """There is no table at this place."""

    # OSError subclasses print errno tuples unless told otherwise
    __str__ = IndexTablesError.__str__


class TableExistsError(IndexTablesError, FileExistsError):
    """There is a table already."""

    __str__ = IndexTablesError.__str__


class ConflictError(IndexTablesError):
    """Another writer was faster: read again and redo."""

    retryable = True


class CommitUnknownError(IndexTablesError):
    """The outcome of a commit is not known: look before redoing."""


class StorageError(IndexTablesError, OSError):
    """The store failed."""

    __str__ = IndexTablesError.__str__


class CorruptError(IndexTablesError):
    """A file of the table breaks the format."""


class ProtocolError(IndexTablesError):
    """The table needs a newer reader or writer."""


class InternalError(IndexTablesError):
    """A defect of ours; please report it."""


@dataclass(frozen=True)
class Code:
    """One row of the error table."""

    error: type[IndexTablesError]
    template: str
    hint: str = ""
    sqlstate: str = "XX000"


CODES: dict[str, Code] = {
    "AGGREGATE_UNSUPPORTED": Code(
        UnsupportedError,
        "the index cannot answer this aggregation exactly",
        "ask through Spark, or read the columns with scan() and aggregate them",
        "0A000",
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
        "have it removed, or set TMPDIR to a folder of your own",
        "58030",
    ),
    "CHANGES_BY_NAME": Code(
        UnsupportedError,
        "the change feed of a table is read by its path, not by its name",
        "use spark.read.format('indextables').option('readChangeFeed', 'true')...load(path), or "
        "IndexTable.forName(spark, name).changes(...)",
        "0A000",
    ),
    "CHANGES_COLUMN": Code(
        UnsupportedError,
        "the table has columns that the change feed needs for itself: {columns}",
        "rename them",
        "0A000",
    ),
    "CHANGES_GONE": Code(
        UnsupportedError,
        "the changes of version {version} of `{path}` are no longer in the log; "
        "available: {available}",
        "start at an available version; log.retention decides how long they are kept",
        "22023",
    ),
    "CHANGES_RANGE": Code(
        InvalidError,
        "a change feed {detail}",
        "give startingVersion or startingTimestamp, and perhaps endingVersion or endingTimestamp",
        "22023",
    ),
    "COLUMN_CHECKED": Code(
        InvalidError,
        "column `{column}` cannot be dropped or renamed: the constraint `{constraint}` names it",
        "drop the constraint first",
        "2BP01",
    ),
    "COLUMN_DROPPED": Code(
        SchemaMismatchError,
        "the table had a column `{column}` that was dropped, and splits still have its values",
        "choose another name, or overwrite the table with option overwriteSchema=true",
        "42701",
    ),
    "COLUMN_UNKNOWN": Code(
        InvalidError,
        "no such column: {columns}; the table has {available}",
        "correct the names; they are case-sensitive here",
        "42703",
    ),
    "COMMAND_STOPPED": Code(
        IndexTablesError,
        "the command was stopped: {reason}",
        "what it committed before stays; run it again for the rest",
        "57014",
    ),
    "COMMAND_UNSUPPORTED": Code(
        UnsupportedError,
        "`{command}` is not available in this version",
        "see docs/sql.md for what is",
        "0A000",
    ),
    "COMMIT_CONFLICT": Code(
        ConflictError,
        "{operation} cannot follow {winner} (version {version}): {detail}",
        "read the table again and redo the operation",
        "40001",
    ),
    "COMMIT_CONTENTION": Code(
        ConflictError,
        "other writers were faster {attempts} times in a row on `{path}`",
        "try again, or raise spark.indextables.transaction.retry.maxAttempts",
        "40001",
    ),
    "COMMIT_UNKNOWN": Code(
        CommitUnknownError,
        "it is not known whether {operation} on `{path}` took effect: {detail}",
        "wait a minute, then look at DESCRIBE INDEXTABLES HISTORY: run it again only if it is not "
        "there; no file was deleted, PURGE INDEXTABLE removes what is not needed",
        "08007",
    ),
    "COMPANION_COLUMN": Code(
        UnsupportedError,
        "column `{column}` is not in the companion index `{path}`: its values are in the files of "
        "the source table",
        "select other columns, count or search; read the rows from the source table",
        "0A000",
    ),
    "COMPANION_READ_ONLY": Code(
        UnsupportedError,
        "`{path}` is a companion index, which follows another table and cannot be changed",
        "change the source table with the program that keeps the companion index",
        "0A000",
    ),
    "COMPANION_REQUIRED": Code(
        InvalidError,
        "`{path}` is no companion index",
        "table roots belong to tables made by BUILD INDEXTABLES COMPANION",
        "55000",
    ),
    "CONDITION_NOT_EXACT": Code(
        UnsupportedError,
        "the index alone cannot answer this condition",
        "ask through Spark, which checks the rest, or test whole values instead of parts of text",
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
        "the table has a constraint `{name}` already",
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
    "DEFAULT_UNCOMPUTED": Code(
        SchemaMismatchError,
        "the data has no column `{column}`, and only Spark computes its default `{default}`",
        "give the column a value, or write through Spark",
        "42601",
    ),
    "DELETION_VECTOR_POSITION": Code(
        InvalidError,
        "a deletion vector takes whole numbers from 0 to {limit}",
        "use the 64-bit form for larger positions",
        "22003",
    ),
    "FILE_CORRUPT": Code(
        CorruptError,
        "file `{path}` is damaged: {detail}",
        "restore the file from a copy, or write the table again from its source",
        "58030",
    ),
    "FILE_EXISTS": Code(
        ConflictError,
        "file `{path}` exists already",
        "another writer was faster: read again and redo",
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
        "no writer of this package leaves such a file; if you trust it, raise "
        "`transaction.maxFileSize`",
        "54000",
    ),
    "HASH_INDEX_VALUE": Code(
        InvalidError,
        "a hash index takes signed 32-bit integers",
        "hash the keys with `indextables.index.key_hash`",
        "22003",
    ),
    "HOOKS_MISMATCH": Code(
        InternalError,
        "the jar speaks protocol {jar}, the Python package {version} speaks {package}",
        "use the jar that is inside the installed package: `indextables.configure(builder)` does",
        "HV000",
    ),
    "INDEXING_BAD_ROLE": Code(
        SchemaMismatchError,
        "column `{column}` of type `{type}` cannot be indexed as `{role}`",
        "only string columns have a typemap; use `string`, `text`, `json` or `ip` there",
        "42K09",
    ),
    "INDEXING_CHANGED": Code(
        SchemaMismatchError,
        "Field '{column}' type mismatch: existing table has {existing} field, cannot append with "
        "{given} configuration",
        "leave the indexing options out when appending: the table remembers them",
        "42K09",
    ),
    "INDEXING_PARTITION_COLUMN": Code(
        SchemaMismatchError,
        "`{key}` names partition column `{column}`, which is not inside the splits",
        "leave it out: partition columns are compared without an index",
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
        "could be searched, but neither returned nor kept when its row changes",
        "leave the column out of the list",
        "42K09",
    ),
    "INTERNAL": Code(
        InternalError,
        "{detail}",
        "this is a defect of indextables, please report it",
        "XX000",
    ),
    "INTERRUPTED": Code(
        IndexTablesError,
        "the work was cancelled",
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
        "Spark needs a Java runtime 17 or newer: {found}",
        "install one, or point JAVA_HOME to it",
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
        "see the log for every problem; the table is unchanged",
        "58030",
    ),
    "ORDER_UNSUPPORTED": Code(
        UnsupportedError,
        "rows cannot be put in order by these columns",
        "order by columns of numbers, strings, dates, timestamps, booleans or binary values",
        "0A000",
    ),
    "OVERWRITE_CONDITION": Code(
        UnsupportedError,
        "the index alone cannot tell which rows the condition of this overwrite holds for",
        "compare whole values instead of parts of text, or use DELETE FROM and append",
        "0A000",
    ),
    "OVERWRITE_OUTSIDE": Code(
        SchemaMismatchError,
        "{rows} of the new rows do not fit the condition of this overwrite",
        "filter the data by the same condition",
        "23514",
    ),
    "PARTITION_ALL_COLUMNS": Code(
        SchemaMismatchError,
        "the table is partitioned by all of its columns: {columns}",
        "leave at least one column to index",
        "42K0E",
    ),
    "PARTITION_COLUMN_UNKNOWN": Code(
        SchemaMismatchError,
        "Partition column '{column}' not found in schema. Available columns: {available}",
        "correct the column name",
        "42703",
    ),
    "PARTITION_MISMATCH": Code(
        SchemaMismatchError,
        "partitionBy({given}) does not fit the table, which is partitioned by: {existing}",
        "leave partitionBy out, or overwrite with option overwriteSchema=true",
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
        "partition by a column that is compared by its bytes",
        "0A000",
    ),
    "PARTITION_VALUE_INVALID": Code(
        CorruptError,
        "partition column `{column}` of type `{type}` has the value `{value}` in the log",
        "the log was written by something that did not know the column's type",
        "22018",
    ),
    "PATHS_SEVERAL": Code(
        InvalidError,
        "one table is read at a time, but several paths are given: {paths}",
        "load them one by one and union them",
        "42601",
    ),
    "PATH_MISSING": Code(
        InvalidError,
        "no path is given",
        "give one: `.load(path)`, `.save(path)` or the option `path`",
        "42601",
    ),
    "PLANNER_LOST": Code(
        InternalError,
        "the planner process ended during `{operation}`",
        "look at the history of the table to see whether the change was committed, then try again",
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
        "the primary key of a table cannot be changed: it is `{existing}`, asked for is `{given}`",
        "write the rows to a new table that has this key",
        "42KDE",
    ),
    "PRIMARY_KEY_INDEXING": Code(
        InvalidError,
        "key column `{column}` must be indexed by its whole value",
        "leave it out of `indexing.typemap` and of `indexing.storeonlyfields`",
        "22023",
    ),
    "PRIMARY_KEY_NULL": Code(
        InvalidError,
        "a row has no value in key column `{column}`",
        "leave such rows out, or fill the column",
        "23502",
    ),
    "PRIMARY_KEY_PARTITIONS": Code(
        InvalidError,
        "the primary key (`{columns}`) has no column besides the partition columns",
        "add the column that tells the rows of a partition apart",
        "22023",
    ),
    "PROTOCOL_UNSUPPORTED": Code(
        ProtocolError,
        "`{path}` needs {needs}",
        "use a newer version of indextables",
        "0A000",
    ),
    "PURGE_RETENTION": Code(
        InvalidError,
        "a retention of {hours} hours is below {least}: running writers could lose files",
        "choose a longer one, or unset `purge.retentionCheckEnabled` if nobody writes",
        "22023",
    ),
    "QUERY_INVALID": Code(
        InvalidError,
        "{detail}",
        "correct the query",
        "42601",
    ),
    "QUERY_SYNTAX": Code(
        QuerySyntaxError,
        "`{query}` at position {position}: {detail}",
        "correct the search text",
        "42601",
    ),
    "QUERY_UNKNOWN_FIELD": Code(
        InvalidError,
        "IndexQuery references non-existent field '{field}'. Available fields are: [{available}]",
        "correct the field name in the search text: it is a column of the table, whatever the "
        'column of a view is called; quote a word that has a colon itself: `"10.0.0.1:8080"`',
        "42703",
    ),
    "REPAIR_LOG_EXISTS": Code(
        InvalidError,
        "`{path}` still has a log",
        "move `_transaction_log` away first, or name another place with AT LOCATION",
        "55000",
    ),
    "REPAIR_NOT_EMPTY": Code(
        InvalidError,
        "`{path}` is not empty",
        "choose a place that does not exist yet",
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
        "`{path}` is no log: it must end in `{folder}`",
        "name the folder of the log, not the table",
        "22023",
    ),
    "RESTORE_FILES_MISSING": Code(
        InvalidError,
        "version {version} cannot be restored: {count} of its files were deleted, first `{first}`",
        "choose a newer version",
        "55000",
    ),
    "ROWKIND_INVALID": Code(
        InvalidError,
        "column `{column}` says `{value}`, which is no kind of change",
        "use `+I`, `-U`, `+U` or `-D`",
        "22023",
    ),
    "SAVE_MODE": Code(
        InvalidError,
        "there is no mode `{mode}`; there are {allowed}",
        "choose one of these",
        "22023",
    ),
    "SCHEMA_DUPLICATE_COLUMN": Code(
        SchemaMismatchError,
        "the data has several columns named {columns}",
        "rename them: names must differ in more than case",
        "42711",
    ),
    "SCHEMA_MISMATCH": Code(
        SchemaMismatchError,
        "the data does not fit the table: {problems}",
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
        "column `{column}` has type `{type}`, which has no place in a split",
        "cast it to a supported type",
        "0A000",
    ),
    "SEARCH_EXACT_ONLY": Code(
        InvalidError,
        "Cannot use FIELDMATCH on field '{field}': it is tokenized",
        "use TEXTSEARCH or indexquery",
        "42809",
    ),
    "SEARCH_NOT_PUSHABLE": Code(
        UnsupportedError,
        "this search cannot be answered by the index: {reason}",
        "put the search into the WHERE clause of an IndexTables table, joined to other conditions "
        "by AND, or by OR with conditions the index can answer",
        "0A000",
    ),
    "SEARCH_NOT_PUSHED": Code(
        UnsupportedError,
        "`{search}` can not be answered by an index here",
        "use it in WHERE, directly on a column of an IndexTables table",
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
        "a search over all fields would look at {fields} columns, the limit is {limit}",
        "write `column:term`, or raise `indexquery.indexall.maxUnqualifiedFields` (0: no limit)",
        "54000",
    ),
    "SESSION_RUNNING": Code(
        InvalidError,
        "a Spark session runs already, without IndexTables",
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
        "{feature} needs Spark {version} or newer",
        "update Spark, or add the columns first",
        "0A000",
    ),
    "SPARK_VERSION": Code(
        UnsupportedError,
        "Spark {version} is not supported: supported are {supported}",
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
        "keywords stand in the order shown; paths are quoted",
        "42601",
    ),
    "STATEMENT_FAILED": Code(
        IndexTablesError,
        "{problem}",
        "correct the statement; names of tables are given by `--table`",
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
        "check the address and the storage keys",
        "22023",
    ),
    "STORAGE_CREDENTIALS": Code(
        StorageError,
        "no credentials for `{url}`: {detail}",
        "see docs/guides/object-stores.md for the places they are looked for",
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
        "version {version} of `{path}` changes rows that the stream has read already",
        "set the option ignoreDeletes, ignoreChanges or skipChangeCommits, or start a new stream",
        "0A000",
    ),
    "STREAM_MODE": Code(
        UnsupportedError,
        "a table takes streams in mode append or complete",
        "for rows that change, use foreachBatch and MERGE INTO",
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
        "the table at `{path}` is not the table of the statement: {problems}",
        "leave the columns out to take the table as it is, or choose another location",
        "42K09",
    ),
    "TABLE_EXISTS": Code(
        TableExistsError,
        "a table exists already at `{path}`",
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
        "`{timestamp}` is no moment",
        "write it as `2026-01-31 12:00:00` or `2026-01-31T12:00:00+01:00`",
        "22007",
    ),
    "TIMESTAMP_NOT_AVAILABLE": Code(
        InvalidError,
        "`{path}` cannot be read as of {timestamp}; the oldest version left is of {first}",
        "older versions are removed by retention; choose a later time",
        "22023",
    ),
    "TOO_MANY_BUCKETS": Code(
        UnsupportedError,
        "a partition cannot have more than {limit} buckets",
        "raise `dynamic-bucket.target-row-num`",
        "54000",
    ),
    "UNSUPPORTED_CHANGE": Code(
        UnsupportedError,
        "ALTER TABLE cannot do this: {change}",
        "write the data to a new table",
        "0A000",
    ),
    "UNSUPPORTED_PARTITIONING": Code(
        UnsupportedError,
        "a table cannot be partitioned by `{partitioning}`",
        "partition by plain columns: PARTITIONED BY (column, ...)",
        "0A000",
    ),
    "VERSION_NOT_AVAILABLE": Code(
        InvalidError,
        "version {version} of `{path}` is not available; available: {available}",
        "older versions are removed by retention; choose one of the range",
        "22023",
    ),
}

_MARK = re.compile(r"\[([A-Z][A-Z0-9_]+)\] ")


def error(code: str, **context: Any) -> IndexTablesError:
    """The exception of a code, ready to raise."""
    row = CODES[code]
    return row.error(code, row.template.format(**context), row.hint, context)


def describe(failure: IndexTablesError) -> dict[str, Any]:
    """An error as Spark's exceptions have it: condition, SQLSTATE, parameters, template."""
    row = CODES[failure.code]
    names = [name for _, name, _, _ in string.Formatter().parse(row.template) if name]
    template = row.template.format(**{name: f"<{name}>" for name in names})
    return {
        "code": failure.code,
        "message": " ".join(failure.message.split()),
        "hint": failure.hint,
        "sqlstate": row.sqlstate,
        "parameters": {name: str(failure.context.get(name, "")) for name in names},
        "template": f"{template}; hint: {row.hint}" if row.hint else template,
    }


def from_description(value: Mapping[str, Any]) -> IndexTablesError:
    """The exception that was described, ready to raise."""
    code = value["code"]
    return CODES[code].error(code, value["message"], value["hint"], value["parameters"])


def from_text(text: str) -> IndexTablesError | None:
    """The exception that was turned into this text, if one of ours was."""
    for found in _MARK.finditer(text):
        code = found[1]
        if code in CODES:
            message, _, hint = text[found.end() :].partition("; hint: ")
            return CODES[code].error(code, message.strip(), hint.strip().split("\n")[0])
    return None
