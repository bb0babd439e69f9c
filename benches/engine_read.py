"""Reading splits: rows against Parquet, counts and aggregates against tantivy's own searcher.

Figures are CPU time of one thread, so the machine may be busy. The reference searcher is compiled
into the engine only with the feature `bench`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap

from benches import corpus, engine_write
from benches.report import Result
from indextables.engine.query import EVERY_ROW, Query

ROOT = Path(__file__).resolve().parents[1]
ROWS = int(os.environ.get("INDEXTABLES_BENCH_ROWS", corpus.ROWS))
REPEAT = 7


def run() -> list[Result]:
    """Run in a separate process, with the bench variant of the engine."""
    library = engine_write.build()
    corpus.parquet(ROWS)
    command = [sys.executable, "-m", "benches.engine_read", str(library)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return [Result(**line) for line in json.loads(done.stdout.splitlines()[-1])]


def cpu_ms(work: Callable[[], object]) -> float:
    """The minimum CPU time of several runs: the cost of the work itself."""
    work()
    times = []
    for _ in range(REPEAT):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1000)
    return min(times)


def many(work: Callable[[], object], times: int) -> Callable[[], object]:
    """Repeat the work often enough to be measurable."""

    def repeated() -> None:
        for _ in range(times):
            work()

    return repeated


def measure(native: Any) -> list[dict[str, Any]]:
    """Measure all cases."""
    rows = corpus.table(ROWS)
    folder = corpus.folder() / f"engine-read-{ROWS}"
    folder.mkdir(exist_ok=True)
    store = native.Store(str(folder))
    splits = {}
    for layout in ("compatible", "lean"):
        path = f"{layout}.split"
        if not (folder / path).exists():
            options = {"layout": layout, "heap_bytes": engine_write.HEAP}
            writer = native.SplitWriter(rows.schema, engine_write.FIELDS, options)
            for batch in rows.to_batches(max_chunksize=8192):
                writer.write(batch)
            writer.finish(store, path)
        splits[layout] = native.Split(store, path, None, None, rows.schema)
    found = exports(splits, rows.schema)
    plain = native.PlainSearcher(store, "compatible.split")
    found += counts(splits["compatible"], plain)
    found += aggregates(splits["compatible"], plain)
    found += deletions(native, store, splits["compatible"], rows.schema)
    found += requests(native, folder, rows)
    return found


def exports(splits: dict[str, Any], schema: pa.Schema) -> list[dict[str, Any]]:
    """Export all rows of some columns, as a ratio of Parquet's rate."""
    found = []
    path = corpus.parquet(ROWS)
    for names, bars in (
        (("id", "latency_ms", "message"), {"compatible": 1.0, "lean": 0.85}),
        (("id", "latency_ms"), {"compatible": 3.0, "lean": 3.0}),
        (("level", "service", "host"), {}),
    ):
        wanted = pa.schema([schema.field(name) for name in names])
        parquet = cpu_ms(lambda n=names: pq.read_table(path, columns=list(n), use_threads=False))
        for layout, split in splits.items():
            ours = cpu_ms(lambda s=split, w=wanted: pa.table(s.search(EVERY_ROW, w)))
            found.append(
                {
                    "what": f"{layout}: export of {', '.join(names)}, rate of Parquet",
                    "value": parquet / ours,
                    "bar": bars.get(layout),
                    "at_most": False,
                }
            )
    return found


def counts(split: Any, plain: Any) -> list[dict[str, Any]]:
    """Count four kinds of query."""
    words = {
        "term": ("message", ["timeout"]),
        "phrase": ("message", ["connection", "reset"]),
        "boolean": ("message", ["request", "completed"]),
        "range": ("latency_ms", ["50", "100"]),
    }
    found = []
    for kind, (field, values) in words.items():
        query: dict[str, Any] = {
            "term": {"type": "token_term", "field": field, "text": values[0]},
            "phrase": {"type": "phrase", "field": field, "text": " ".join(values)},
            "boolean": {
                "type": "and",
                "args": [{"type": "token_term", "field": field, "text": v} for v in values],
            },
            "range": {
                "type": "range",
                "field": field,
                "lower": {"value": 50, "inclusive": True},
                "upper": {"value": 100, "inclusive": False},
            },
        }[kind]
        parsed = Query(query)
        assert split.count(parsed) == plain.count(kind, field, values), kind
        times = 2000 if kind == "term" else 5
        ours = cpu_ms(many(lambda q=parsed: split.count(q), times))
        theirs = cpu_ms(many(lambda k=kind, f=field, v=values: plain.count(k, f, v), times))
        found.append({"what": f"count of a {kind}, of tantivy", "value": ours / theirs, "bar": 1.1})
    return found


def aggregates(split: Any, plain: Any) -> list[dict[str, Any]]:
    """Compare exact results with tantivy's approximate ones."""
    number = pa.int64()
    stats = [{"op": op, "field": "latency_ms"} for op in ("sum", "min", "max", "count")]
    fields = [("s", pa.float64()), ("a", pa.float64()), ("b", pa.float64()), ("n", number)]
    inner = {"stats": {"stats": {"field": "latency_ms"}}}
    found = []
    for what, keys, theirs in (
        ("sum, min, max and count", [], inner),
        ("group by service", ["service"], terms("service", 100, inner)),
        ("group by host", ["host"], terms("host", 100_000, inner)),
    ):
        request = {"group_by": [{"field": k} for k in keys], "functions": stats}
        schema = pa.schema([*((k, pa.string()) for k in keys), *fields])
        other = json.dumps(theirs)
        ours = cpu_ms(lambda r=request, s=schema: pa.table(split.aggregate(EVERY_ROW, r, s)))
        base = cpu_ms(lambda o=other: plain.aggregate(o))
        found.append(
            {"what": f"{what}, of tantivy's aggregation", "value": ours / base, "bar": 1.0}
        )
    return found


def terms(field: str, size: int, inner: dict[str, Any]) -> dict[str, Any]:
    return {"terms": {"terms": {"field": field, "size": size}, "aggs": inner}}


def deletions(native: Any, store: Any, whole: Any, schema: pa.Schema) -> list[dict[str, Any]]:
    """Repeat counts and aggregates with a tenth of the rows deleted."""
    gone = BitMap(range(3, ROWS, 10)).serialize()
    cut = native.Split(store, "compatible.split", None, gone, schema)
    word = Query({"type": "token_term", "field": "message", "text": "timeout"})
    request = {"functions": [{"op": "sum", "field": "latency_ms"}]}
    out = pa.schema([("s", pa.float64())])
    slower = cpu_ms(many(lambda: pa.table(cut.aggregate(EVERY_ROW, request, out)), 3)) / cpu_ms(
        many(lambda: pa.table(whole.aggregate(EVERY_ROW, request, out)), 3)
    )
    counted = cpu_ms(many(lambda: cut.count(word), 20)) / cpu_ms(
        many(lambda: len(pa.table(whole.search(word, DOC))), 20)
    )
    return [
        {"what": "10 % deleted: column aggregate, of none deleted", "value": slower, "bar": 3.5},
        {
            "what": "10 % deleted: term count, of going through the term's rows",
            "value": counted,
            "bar": 1.5,
        },
    ]


DOC = pa.schema([("_doc", pa.int64())])


def requests(native: Any, folder: Path, rows: pa.Table) -> list[dict[str, Any]]:
    """Count the requests for a cold split in an object store."""
    data = (folder / "compatible.split").read_bytes()
    about = native.Split(native.Store(str(folder)), "compatible.split").describe()
    footer = (about["footer_start"], about["footer_end"])
    native.Store("memory:///bench").put("cold.split", data)
    found = []
    for what, query, options in (
        ("term count", {"type": "token_term", "field": "message", "text": "timeout"}, None),
        ("60 rows", {"type": "range", "field": "id", "lower": None, "upper": None}, 60),
    ):
        store = native.Store("memory:///bench")
        split = native.Split(store, "cold.split", footer, None, rows.schema)
        if options is None:
            split.count(Query(query))
            count, size = store.counters()
            found.append({"what": f"cold {what}: requests", "value": count, "unit": "", "bar": 2})
            found.append(
                {"what": f"cold {what}: bytes", "value": size / 1024, "unit": "KB", "bar": 300}
            )
        else:
            ids = [int(n) for n in range(0, ROWS, ROWS // options)][:options]
            scattered = {"type": "set", "field": "id", "values": ids}
            pa.table(split.search(Query(scattered), rows.schema))
            count, size = store.counters()
            found.append({"what": f"cold {what}: requests", "value": count, "unit": ""})
            found.append({"what": f"cold {what}: bytes", "value": size / 1024, "unit": "KB"})
    return found


if __name__ == "__main__":
    print(json.dumps(measure(engine_write._load(sys.argv[1]))))  # noqa: SLF001
