"""Pending files of a companion's source: indexed on the fly, then read like splits.

The split of a file has only the columns that a query needs from the index. It is cached on local
disk by the file's identity, for the next query and for other processes of this user.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.config import write as keys
from indextables.engine.query import Query
from indextables.engine.source import Run, SourceFile, expected_facts, open_source, read_source
from indextables.engine.split import Split
from indextables.engine.writer import SplitWriter
from indextables.runtime.handles import native_store
from indextables.runtime.host_files import host_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from indextables.read.spec import ReadSpec, Source

# bytes of all splits of pending files on local disk
_MOST_BYTES = 2 << 30
# version of the cached splits: increment it when their content changes
_FORMAT = "1"


def open_pending(spec: ReadSpec, source: Source) -> Split:
    """The open split of a pending file."""
    assert spec.source is not None, "a pending file without its source"
    assert source.size is not None, source.path
    file = SourceFile(source.path, source.size, source.pending or None, source.rows)
    rows = open_source(spec.source)
    names = asked_columns(spec, spec.queries[source.query])
    schema = pa.schema([field for field in spec.split_schema if field.name in names])
    fields = spec.source.fields(f for f in spec.source_fields if f["name"] in names)
    folder = host_folder("pending", "splits")
    facts = expected_facts(rows, file)
    name = _name(spec, file, facts.footer, schema, fields)
    store = native_store(str(folder), "")
    deleted = None if source.hidden is None else b64decode(source.hidden)

    def opened() -> Split:
        return Split(store, name, None, deleted, spec.split_schema, source=rows)

    path = folder / name
    if path.exists():
        # the oldest files are evicted first
        with contextlib.suppress(FileNotFoundError):
            path.touch()
            return opened()
    run = Run(file.path, 0, facts.rows, file.size, file.stamp, facts.footer)
    for any_value in (False, True):
        options = {**_options(spec), "any_value": any_value}
        writer = SplitWriter(schema, fields, options)
        if _fill(writer, read_source(rows, file, schema)):
            writer.finish(store, name, [run])
            break
    split = opened()
    _make_room(folder)
    return split


def asked_columns(spec: ReadSpec, query: Query) -> frozenset[str]:
    """The columns that a read needs from the index: others are read from the file."""
    named = set(_fields(query.tree, spec))
    if spec.aggregate is not None:
        named.update(_fields(spec.aggregate.request, spec))
    named.update(_fields(spec.order, spec))
    named.update(() if spec.snippet is None else spec.snippet["fields"])
    # the first part of a path is the column
    known = set(spec.split_schema.names)
    return frozenset(
        name for name in known if name in named or any(n.startswith(f"{name}.") for n in named)
    )


def _fields(value: object, spec: ReadSpec) -> Iterator[str]:
    if isinstance(value, dict):
        if value.get("type") == "search":
            yield from _searched(value, spec)
            return
        if isinstance(value.get("field"), str):
            yield value["field"]
        for part in value.values():
            yield from _fields(part, spec)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _fields(part, spec)


def _searched(node: Mapping[str, Any], spec: ReadSpec) -> Iterator[str]:
    """The columns that a query may search: those it names, or all that are indexed."""
    yield from node.get("fields") or ()
    text = str(node.get("query", ""))
    for field in spec.source_fields:
        if not node.get("fields") or field["name"] in text:
            yield field["name"]


def _name(
    spec: ReadSpec,
    file: SourceFile,
    footer: int,
    schema: pa.Schema,
    fields: list[dict[str, Any]],
) -> str:
    assert spec.source is not None
    parts = [_FORMAT, spec.source.place[0], file.to_json(), footer, str(schema), fields]
    parts.append(spec.source.lookup)
    text = json.dumps(parts, sort_keys=True)
    return f"{hashlib.sha256(text.encode()).hexdigest()}.split"


def _options(spec: ReadSpec) -> dict[str, Any]:
    return {"layout": "companion", "heap_bytes": spec.settings.get(keys.HEAP_BYTES)}


def _fill(writer: SplitWriter, batches: Iterable[pa.RecordBatch]) -> bool:
    """Write batches; return whether the encodings of the first one fit all of them."""
    for batch in batches:
        if not writer.accepts(batch):
            writer.abort()
            return False
        writer.write(batch)
    return True


def _make_room(folder: Path) -> None:
    """Remove the least recently used splits while there are too many bytes."""
    found = []
    for path in folder.glob("*.split"):
        with contextlib.suppress(FileNotFoundError):
            facts = path.stat()
            found.append((facts.st_mtime, facts.st_size, path))
    held = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if held <= _MOST_BYTES:
            return
        path.unlink(missing_ok=True)
        held -= size
