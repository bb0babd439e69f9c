"""The schema in a Parquet file's footer, as Spark reads it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.errors import error
from indextables.model.arrow import schema_from_arrow
from indextables.model.types import Array, DataType, Field, Map, Struct, parse_schema
from indextables.storage import Store

_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_TAIL = 8
_MAGIC = b"PAR1"
_UNSIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}


def read_footer_schema(store: Store, path: str) -> Struct:
    """The columns of a file: the schema that Spark stored in it, or its types as in Spark."""
    metadata = _metadata(store, path)
    written = (metadata.metadata or {}).get(_SPARK_SCHEMA)
    if written is not None:
        found = parse_schema(written.decode())
    else:
        plain = [_spark_field(each) for each in metadata.schema.to_arrow_schema()]
        found = schema_from_arrow(pa.schema(plain))
    return Struct(tuple(_nullable(each) for each in found.fields))


def _metadata(store: Store, path: str) -> pq.FileMetaData:
    meta = store.head(path)
    if meta is None:
        raise error("FILE_MISSING", path=f"{store.url}/{path}")
    tail = store.get_range(path, max(0, meta.size - _TAIL), meta.size)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length + _TAIL > meta.size:
        raise error("FILE_CORRUPT", path=f"{store.url}/{path}", detail="it is not a Parquet file")
    footer = store.get_range(path, meta.size - _TAIL - length, meta.size)
    try:
        # the footer is at the end: the rest of the file is not needed
        return pq.read_metadata(pa.BufferReader(footer))
    except (pa.ArrowInvalid, OSError) as problem:
        raise error("FILE_CORRUPT", path=f"{store.url}/{path}", detail=str(problem)) from None


def _spark_field(given: pa.Field) -> pa.Field:
    return given.with_type(_spark_type(given.type))


def _spark_type(kind: pa.DataType) -> pa.DataType:  # noqa: PLR0911 (one per kind)
    types = pa.types
    if kind in _UNSIGNED:
        return _UNSIGNED[kind]
    if types.is_timestamp(kind):
        # INT96 comes as nanoseconds without a zone
        return pa.timestamp("us", "UTC" if kind.tz or kind.unit == "ns" else None)
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_struct(kind):
        return pa.struct([_spark_field(kind.field(i)) for i in range(kind.num_fields)])
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(_spark_field(kind.value_field))
    if types.is_map(kind):
        return pa.map_(_spark_field(kind.key_field), _spark_field(kind.item_field))
    return kind


def _nullable(given: Field) -> Field:
    """The type with everything nullable, as Spark reads files."""
    return Field(given.name, _nullable_type(given.type), metadata=given.metadata)


def _nullable_type(kind: DataType) -> DataType:
    if isinstance(kind, Struct):
        return Struct(tuple(_nullable(each) for each in kind.fields))
    if isinstance(kind, Array):
        return Array(_nullable_type(kind.element))
    if isinstance(kind, Map):
        return Map(_nullable_type(kind.key), _nullable_type(kind.value))
    return kind
