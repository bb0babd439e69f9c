"""Index some files of a source, in a task or in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from indextables.config.settings import Settings
from indextables.engine.source import Run, SourceFile, SourceSpec
from indextables.errors import IndexTablesError, describe
from indextables.log.actions import AddFile, CompanionRun
from indextables.log.members import BY_NAME
from indextables.save.source_feed import FedSplit, feed_files
from indextables.save.splits import WriteSpec, WrittenSplit


def run_companion_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Index the files of a group; return a failure as a result, so that other groups count."""
    write = payload["write"]
    spec = WriteSpec(
        url=write["url"],
        store_options=write["store_options"],
        schema_json=write["schema_json"],
        partition_columns=tuple(write["partition_columns"]),
        fields=tuple(write["fields"]),
        settings=Settings(write["settings"]),
    )
    rows = SourceSpec.from_json(payload["source"])
    files = [SourceFile(**file) for file in payload["files"]]
    try:
        fed = feed_files(spec, rows, files, payload["partition_values"], payload["table"])
    except IndexTablesError as failure:
        return {"error": describe(failure)}
    adds = _with_runs(fed, files)
    return {"adds": [BY_NAME["add"].encode(add) for add in adds]}


def _with_runs(fed: Sequence[FedSplit], files: Sequence[SourceFile]) -> list[AddFile]:
    """The splits in the form of the log, with the number of rows of each whole file."""
    totals: dict[str, int] = {}
    for split in fed:
        for run in split.runs:
            totals[run.path] = totals.get(run.path, 0) + run.rows
    adds = [_add(split, split.runs, totals) for split in fed]
    empty = [Run(f.path, 0, 0, f.size, f.stamp) for f in files if f.path not in totals]
    if adds and empty:
        # a file without rows is in no split: record it with the last one, or it would stay pending
        adds[-1] = _add(fed[-1], (*fed[-1].runs, *empty), totals)
    return adds


def _add(split: FedSplit, runs: Sequence[Run], totals: Mapping[str, int]) -> AddFile:
    paths = list(dict.fromkeys(run.path for run in runs))
    places = {path: place for place, path in enumerate(paths)}
    return replace(
        WrittenSplit.to_add(split),
        companion_source_files=tuple(paths),
        companion_runs=tuple(
            CompanionRun(
                places[run.path], run.row, run.rows, totals.get(run.path, 0), run.size, run.stamp
            )
            for run in runs
        ),
    )
