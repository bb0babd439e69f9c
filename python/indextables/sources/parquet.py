"""Folders of Parquet files: what Spark's file listing sees, Hive partitions included.

There is no log: a version is the listing itself, named by a digest of it. Files may be replaced
under their name, so each carries a stamp, its age and e-tag.
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


@dataclass(frozen=True)
class ParquetSource:
    """A folder of Parquet files. `schema_source` is a file of it that gives the schema."""

    store: Store
    schema_source: str | None = None
    # what the columns are called and which types the partitions have, once a companion knows it
    known: Struct | None = field(default=None, repr=False)

    @property
    def location(self) -> str:
        """The folder."""
        return self.store.url

    def look(self) -> str:
        """A name of what the folder holds now: one listing."""
        return _digest(self._listed())

    def at(self, mark: str) -> SourceSnapshot:
        """The folder, if it still holds what it held."""
        return self.snapshot(mark)

    def stamp(self, version: str) -> str:  # noqa: ARG002 (a digest tells versions apart)
        """Nothing: no other folder has a version of this name."""
        return ""

    def snapshot(self, version: str | None = None) -> SourceSnapshot:
        """The folder as it is; it has no other versions."""
        listed = self._listed()
        now = _digest(listed)
        if version is not None and version != now:
            raise error(
                "COMPANION_VERSION",
                version=version,
                detail=f"`{self.location}` is a folder of Parquet files, which keeps no versions",
            )
        partitions = infer_partitions([meta.path for meta in listed])
        inside = self._schema(listed)
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
        return [meta for meta in self.store.list("") if meta.size and _is_data(meta.path)]

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
            chosen = listed[0].path
        return read_footer_schema(self.store, chosen)


def _is_data(path: str) -> bool:
    """Whether a file holds rows: hidden files and folders do not, as Spark has it.

    Nor do the files of an index that lies in the folder of its source.
    """
    parts = path.split("/")
    hidden = any((part.startswith("_") and "=" not in part) or part[0] == "." for part in parts)
    return not hidden and not path.endswith(("._COPYING_", ".split")) and not _VECTORS.match(path)


def _digest(listed: Sequence[ObjectMeta]) -> str:
    text = "\n".join(f"{meta.path} {meta.size} {stamp_of(meta)}" for meta in listed)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _by_name(given: Field) -> Address:
    return Address(given.name)
