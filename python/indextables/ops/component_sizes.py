"""DESCRIBE COMPONENT SIZES: what takes the room within splits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from indextables.ops.partition_choice import choose, parse_choice
from indextables.ops.split_footer import SplitFooter, read_footer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.ops.context import Context
    from indextables.ops.opened import OpenTable, Row

# ending of a file in the split -> component
_TOTALS = {
    ".term": ("_term_total", "term"),
    ".idx": ("_postings_total", "postings"),
    ".pos": ("_positions_total", "positions"),
    ".store": ("_store", "store"),
    ".fast": ("_fastfield_total", "fastfield"),
    ".fieldnorm": ("_fieldnorm_total", "fieldnorm"),
}


def run_component_sizes(table: OpenTable, where: str | None, context: Context) -> list[Row]:
    """One row per component of every split, of the chosen partitions or all."""
    files = table.snapshot.files()
    if where is not None:
        predicate = parse_choice(where, table.snapshot, context)
        files = choose(files, predicate, table.snapshot, where)
    rows: list[Row] = []
    maps = files["partitionValues"].to_pylist()
    for path, values in zip(files["path"].to_pylist(), maps, strict=True):
        shown = json.dumps(dict(values)) if values else None
        head: Row = {"split_path": path, "partition_values": shown}
        footer = read_footer(table.store, path)
        rows += [head | component for component in _components(footer)]
    return rows


def _components(footer: SplitFooter) -> Iterator[Row]:
    sizes = dict.fromkeys(_TOTALS, 0)
    for name, (start, end) in footer.files.items():
        ending = "." + name.rpartition(".")[2]
        if ending in sizes:
            sizes[ending] += end - start
    for ending, size in sizes.items():
        key, kind = _TOTALS[ending]
        yield {"component_key": key, "size_bytes": size, "component_type": kind}
