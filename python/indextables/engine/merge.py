"""Merge several splits into one."""

from __future__ import annotations

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


@dataclass(frozen=True)
class MergeOutcome:
    """The merged split, and the inputs that were left out (path to reason)."""

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
    source: _native.Source | None = None,
    rewrite: bool = False,
) -> MergeOutcome:
    """Merge splits of a store into a new split, in the given order.

    `schema` and `fields` are those of the table: splits that are indexed differently (by another
    writer, layout or older schema) are rewritten. `options` are those of the writer. Companions can
    only leave out the rows of whole runs; `source` is where their rows are. With `rewrite`, the
    rows are indexed again as `fields` say, even if the inputs are indexed alike.
    """
    given = [(each.path, each.footer, each.deleted) for each in inputs]
    merged, skipped = _native.merge(
        given,
        store,
        output,
        schema=schema,
        fields=fields,
        options=options,
        source=source,
        rewrite=rewrite,
    )
    return MergeOutcome(SplitInfo.of(merged), skipped)
