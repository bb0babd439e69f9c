"""One merge: several splits of a store into one."""

from __future__ import annotations

import base64
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from indextables.engine.merge import MergeInput, merge_splits
from indextables.engine.source import SourceSpec, open_source
from indextables.engine.store import open_store
from indextables.errors import IndexTablesError
from indextables.model.types import parse_schema

if TYPE_CHECKING:
    from collections.abc import Mapping


def run_merge_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the inputs; return a failure as a result, so that other merges can be committed."""
    source = payload["source"]
    try:
        done = merge_splits(
            [_input(each) for each in payload["inputs"]],
            open_store(payload["url"], payload["store_options"]),
            payload["output"],
            schema=parse_schema(payload["schema"]).to_arrow_schema(),
            fields=payload["fields"],
            options=payload["options"],
            rewrite=payload.get("rewrite", False),
            source=None if source is None else open_source(SourceSpec.from_json(source)),
        )
    except IndexTablesError as failure:
        return {"error": str(failure)}
    return {"info": asdict(done.split), "skipped": done.skipped}


def _input(value: Mapping[str, Any]) -> MergeInput:
    footer, deleted = value["footer"], value["deleted"]
    return MergeInput(
        value["path"],
        (footer[0], footer[1]) if footer else None,
        base64.b64decode(deleted) if deleted else None,
    )
