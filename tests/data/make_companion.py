"""Write golden companion splits of this version: `python -m tests.data.make_companion NAME`.

They are kept permanently under `companion-<NAME>/`: Parquet files in `source/`, a split of each in
`index/`. Run it with a new name when the layout of splits changes; never rewrite existing ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.engine.source import Run, SourceFile, SourceSpec, open_source, read_source
from indextables.engine.source import source_facts as facts_of
from indextables.engine.store import open_store
from indextables.engine.writer import SplitWriter

FIELDS = [{"name": "message", "role": "text"}, {"name": "noise", "fast": False}]


def rows(start: int) -> pa.Table:
    """Rows with doubles of few digits, of many digits, of none, and with nulls."""
    ids = range(start, start + 300)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "message": [f"request {n} timeout after {n % 7} ms" for n in ids],
            "latency": [None if n % 13 == 0 else (n * 37 % 5000) / 1000 for n in ids],
            "ratio": [n / 7 for n in ids],
            "noise": [n / 10 for n in ids],
        }
    )


def main(name: str) -> None:
    """Write two files, and a split of each."""
    folder = Path(__file__).parent / f"companion-{name}"
    (folder / "source").mkdir(parents=True)
    source, store = (
        open_source(SourceSpec((str(folder / "source"), ""))),
        open_store(str(folder / "index"), ""),
    )
    for number in range(2):
        path = folder / "source" / f"{number}.parquet"
        pq.write_table(rows(number * 300), path)
        file = SourceFile(path.name, path.stat().st_size)
        facts = facts_of(source, file)
        run = Run(file.path, 0, facts.rows, file.size, None, facts.footer)
        schema = rows(0).schema
        writer = SplitWriter(schema, FIELDS, {"layout": "companion", "any_value": True})
        for batch in read_source(source, file, schema):
            writer.write(batch)
        writer.finish(store, f"{number}.split", [run])


if __name__ == "__main__":
    main(*sys.argv[1:])
