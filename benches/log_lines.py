"""Reading version files and JSON checkpoints: text to actions to live splits, in one process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from benches.report import Result

LINES = 200_000
_RATE, _MEMORY = 50, 3


def run() -> Iterator[Result]:
    """Read each kind of line in a fresh process, so that its memory is measured alone."""
    for kind in ("add with statistics", "small add", "remove"):
        found = [_measure(kind) for _ in range(3)]
        rate = max(each["rate"] for each in found)
        memory = min(each["memory"] for each in found)
        yield Result(f"{kind}: text to live splits", rate, "MB/s CPU", _RATE, at_most=False)
        yield Result(f"{kind}: memory to text", memory, "ratio", _MEMORY)


def _measure(kind: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benches.log_lines", kind]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _line(kind: str, number: int) -> str:
    path = f"day=2025-01-01/splits/split-0a1b2c3d-4e5f-6789-abcd-{number:012d}.split"
    if kind == "remove":
        body = {"path": path, "deletionTimestamp": 1_700_000_000_000, "dataChange": True}
        return json.dumps({"remove": {**body, "partitionValues": {}, "size": number}})
    columns = 10 if kind == "add with statistics" else 1
    body = {
        "path": path,
        "partitionValues": {"day": "2025-01-01"},
        "size": 1_000_000 + number,
        "modificationTime": 1_700_000_000_000 + number,
        "dataChange": True,
        "minValues": {f"c{n}": str(number * 31 + n) for n in range(columns)},
        "maxValues": {f"c{n}": str(number * 31 + n + 1_000_000_007) for n in range(columns)},
        "numRecords": 10_000,
        "footerStartOffset": 900_000 + number,
        "footerEndOffset": 1_000_000 + number,
        "hasFooterOffsets": True,
        "docMappingRef": "z7TwwZ-tDWGD-uX5",
        "uncompressedSizeBytes": 3000 * number,
    }
    return json.dumps({"add": body})


def _probe(kind: str) -> dict[str, float]:
    from indextables.log import codec
    from indextables.log.replay import Change, Commit, replay

    text = "\n".join(_line(kind, number) for number in range(LINES)).encode()
    replay(Change(), [Commit(1, codec.decode_actions(text[:2000].rpartition(b"\n")[0], "f"))])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    change = replay(Change(), [Commit(1, codec.decode_actions(text, "f"))])
    entries = change.adds.entries
    seconds = time.process_time() - start
    assert entries.num_rows + len(change.removes) == LINES
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    # includes the text itself, which is in memory while it is read
    return {"rate": len(text) / seconds / 1e6, "memory": 1 + grown / len(text)}


if __name__ == "__main__":
    print(json.dumps(_probe(sys.argv[1])))
