"""Folders of Parquet files: what Spark's file listing sees, Hive partitions included.

There is no log: a version is the listing itself, identified by its digest. Files may be replaced
under the same name, so each has a stamp: its modification time and e-tag.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from indextables.engine.source import Address
from indextables.errors import error
from indextables.model.types import Field, Struct
from indextables.sources.footer import read_footer_schema
from indextables.sources.hive import infer_partitions
from indextables.sources.table import FILES, SourceSnapshot, addresses, stamp_of
from indextables.storage import ObjectMeta, Store

# the deletion vectors of an index
_VECTORS = re.compile(r"index/index-[0-9a-f-]{36}-\d+$")
# files without rows that some writers create: Spark takes the schema from the first of these
_SUMMARIES = ("_common_metadata", "_metadata")


@dataclass(frozen=True)
class ParquetSource:
    """A folder of Parquet files. `schema_source` is the file that has the schema."""

    store: Store
    schema_source: str | None = None
    # the names of columns and types of partition columns, once a companion knows them
    known: Struct | None = field(default=None, repr=False)

    @property
    def location(self) -> str:
        """The folder."""
        return self.store.url

    def look(self) -> str:
        """The digest of the current listing."""
        return _digest(self._listed())

    def at(self, mark: str) -> SourceSnapshot:
        """The folder, if its listing has not changed."""
        return self.snapshot(mark)

    def stamp(self, version: str) -> str:  # noqa: ARG002 (a digest tells versions apart)
        """Nothing: a digest identifies a version."""
        return ""

    def snapshot(self, version: str | None = None) -> SourceSnapshot:
        """The current folder; it has no other versions."""
        listed = self._listed()
        now = _digest(listed)
        if version is not None and version != now:
            raise error(
                "COMPANION_VERSION",
                version=version,
                detail=f"`{self.location}` is a folder of Parquet files, which keeps no versions",
            )
        inside = self._schema(listed)
        listed = [meta for meta in listed if _name(meta) not in _SUMMARIES]
        partitions = infer_partitions([meta.path for meta in listed])
        kept = [each for each in inside.fields if each.name not in partitions.values]
        schema = Struct((*kept, *partitions.fields))
        files = pa.Table.from_arrays(
            [
                pa.array([meta.path for meta in listed], pa.string()),
                pa.array([meta.size for meta in listed], pa.int64()),
                pa.array([stamp_of(meta) for meta in listed], pa.string()),
                pa.nulls(len(listed), pa.int64()),
            ],
            schema=FILES,
        )
        return SourceSnapshot(
            format="parquet",
            location=self.location,
            version=now,
            schema=schema,
            files=files,
            columns=addresses(Struct(tuple(kept)), _by_name),
            partitions=partitions.values,
        )

    def _listed(self) -> list[ObjectMeta]:
        return [meta for meta in self.store.list("") if meta.size and _is_listed(meta.path)]

    def _schema(self, listed: Sequence[ObjectMeta]) -> Struct:
        chosen = self.schema_source
        if chosen is None:
            if not listed:
                raise error(
                    "COMPANION_SOURCE",
                    format="Parquet",
                    path=self.location,
                    detail="the folder holds no Parquet files",
                )
            # Spark takes the first file by path
            summaries = (m.path for name in _SUMMARIES for m in listed if _name(m) == name)
            chosen = next(summaries, listed[0].path)
        return read_footer_schema(self.store, chosen)


def _is_listed(path: str) -> bool:
    """Whether Spark lists a file; hidden files and folders are not listed.

    Nor are the files of an index that is inside the folder of its source.
    """
    *folders, name = path.split("/")
    if any(map(_is_hidden, folders)) or (_is_hidden(name) and name not in _SUMMARIES):
        return False
    return not path.endswith(("._COPYING_", ".split")) and not _VECTORS.match(path)


def _is_hidden(name: str) -> bool:
    return (name.startswith("_") and "=" not in name) or name.startswith(".")


def _name(meta: ObjectMeta) -> str:
    return meta.path.rpartition("/")[2]


def _digest(listed: Sequence[ObjectMeta]) -> str:
    text = "\n".join(f"{meta.path} {meta.size} {stamp_of(meta)}" for meta in listed)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _by_name(given: Field) -> Address:
    return Address(given.name)
