"""Merging several splits into one."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables import _native
from indextables.engine.writer import SplitInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa


@dataclass(frozen=True)
class MergeInput:
    """A split to merge; `deleted` is a portable roaring bitmap of the rows to leave out."""

    path: str
    footer: tuple[int, int] | None = None
    deleted: bytes | None = None

    def to_json(self) -> dict[str, Any]:
        """The value the engine takes."""
        deleted = None if self.deleted is None else base64.b64encode(self.deleted).decode()
        return {"path": self.path, "footer": self.footer, "deleted": deleted}


@dataclass(frozen=True)
class MergeOutcome:
    """The merged split, and why which inputs were left out (path to reason)."""

    split: SplitInfo
    skipped: dict[str, str]


def merge_splits(
    inputs: Sequence[MergeInput],
    store: _native.Store,
    output: str,
    *,
    schema: pa.Schema | None = None,
    fields: Sequence[Mapping[str, Any]] = (),
    options: Mapping[str, Any] | None = None,
) -> MergeOutcome:
    """Merge splits of a store into a new one of it, in the order given.

    `schema` and `fields` are the table's: splits that are indexed differently (by another writer,
    layout or older schema) are written again with them. `options` are those of the writer.
    """
    merged = json.loads(
        _native.merge(
            json.dumps([given.to_json() for given in inputs]),
            store,
            output,
            json.dumps(dict(options or {})),
            schema,
            json.dumps(list(fields)),
        )
    )
    skipped = {left["path"]: left["reason"] for left in merged.pop("skipped")}
    return MergeOutcome(SplitInfo.from_json(merged), skipped)
