"""A log rebuilt from splits has the columns that were written."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest

import indextables
from indextables.engine.store import open_store as open_native
from indextables.engine.writer import SplitWriter
from indextables.model.types import Array, Atomic, Decimal, Field, Map, Struct
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

_ATOMIC = (
    "boolean", "byte", "short", "integer", "long", "float", "double", "string", "binary", "date",
    "timestamp", "timestamp_ntz", "interval day to second",
)  # fmt: skip
SCHEMA = Struct(
    (
        *(Field(name.replace(" ", "_"), Atomic(name)) for name in _ATOMIC),
        Field("small", Decimal(10, 2)),
        Field("wide", Decimal(38, 10)),
        Field("list", Array(Atomic("integer"))),
        Field("firm", Array(Struct((Field('q"uote', Atomic("date")),)), contains_null=False)),
        Field(
            "members", Struct((Field("a b", Atomic("long")), Field("c", Atomic("string"), False)))
        ),
        Field("pairs", Map(Atomic("string"), Atomic("timestamp"))),
    )
)


def test_every_type_comes_back_from_the_split_alone(tmp_path):
    arrow = SCHEMA.to_arrow_schema()
    writer = SplitWriter(arrow)
    writer.write(pa.record_batch([pa.nulls(3, field.type) for field in arrow], schema=arrow))
    writer.finish(open_native(str(tmp_path)), "day=2024-01-31/splits/split-x.split")
    # a writer was killed before it could rename this one
    finished = tmp_path / "day=2024-01-31" / "splits" / "split-x.split"
    shutil.copy(finished, finished.with_name(".0a1b2c.split-y.split"))
    context = LocalContext()
    row = execute(f"REPAIR INDEXFILES TRANSACTION LOG '{tmp_path}'", context).to_pylist()[0]
    assert (row["status"], row["valid_splits"]) == ("SUCCESS", 1)
    snapshot = context.log(str(tmp_path)).snapshot()
    assert snapshot.schema.fields[:-1] == SCHEMA.fields
    assert snapshot.schema.fields[-1] == Field("day", Atomic("date"))
    assert snapshot.num_records == 3


@pytest.mark.parametrize("name", ["logs_small", "partitioned", "all_types"])
def test_tables_of_the_existing_implementation_are_rebuilt(fixtures, tmp_path, name):
    source = fixtures / "indextables-0.5.3" / name / "table"
    shutil.copytree(source, tmp_path / "t", ignore=shutil.ignore_patterns("_transaction_log"))
    context = LocalContext()
    wanted = context.log(str(source)).snapshot()
    row = execute(f"REPAIR INDEXFILES TRANSACTION LOG '{tmp_path / 't'}'", context).to_pylist()[0]
    assert row["status"] == "SUCCESS"
    found = context.log(str(tmp_path / "t")).snapshot()
    assert found.num_records == wanted.num_records
    assert found.partition_columns == wanted.partition_columns
    assert sorted(found.schema.names) == sorted(wanted.schema.names)


def test_a_log_is_rebuilt_when_only_its_ruins_are_left(tmp_path):
    path = tmp_path / "t"
    indextables.write(pa.table({"id": [1, 2, 3]}), str(path))
    context = LocalContext()
    execute(f"CHECKPOINT INDEXTABLES '{path}'", context)
    log = path / "_transaction_log"
    for file in log.glob("*.json"):
        file.unlink()
    shutil.rmtree(next(log.glob("state-v*")))
    assert {file.name for file in log.iterdir()} == {"_last_checkpoint", "manifests"}
    (row,) = execute(f"REPAIR INDEXFILES TRANSACTION LOG '{path}'", context).to_pylist()
    assert (row["status"], row["valid_splits"]) == ("SUCCESS", 1)
    assert LocalContext().log(str(path)).snapshot().num_records == 3
    execute(f"CHECKPOINT INDEXTABLES '{path}'", context)
    assert LocalContext().log(str(path)).reader.pointer().version == 1
    (row,) = execute(f"REPAIR INDEXFILES TRANSACTION LOG '{path}'", context).to_pylist()
    assert row["status"].startswith("ERROR")
