"""Background jobs of PREWARM ... ASYNC MODE on one host.

A job is a separate process: Spark ends a Python worker that is idle for a minute, and the process
that runs the command must stay available. The progress of a job is in a file that every process of
the application on this host can read. Its work, including credentials, is passed through standard
input and never written to disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from indextables.commands.prewarm_task import run_prewarm_task
from indextables.runtime.host_files import all_json, host_folder, is_alive, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER = "prewarm"
_POLL_SECONDS = 0.1
RUNNING, COMPLETED, FAILED = "RUNNING", "COMPLETED", "FAILED"


def run_start_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Start a job unless the maximum number is already running."""
    running = [job for job in _jobs(payload) if job["status"] == RUNNING]
    if len(running) >= payload["max_concurrent"]:
        return {"status": "rejected"}
    job = {
        "job_id": payload["job_id"],
        "table_path": payload["table_path"],
        "status": RUNNING,
        "total_splits": len(payload["work"]["splits"]),
        "completed_splits": 0,
        "failed_splits": 0,
        "started_ms": _now_ms(),
        "ended_ms": None,
        "error_message": None,
        "pid": None,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "indextables.commands.prewarm_jobs"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        start_new_session=True,
    )
    job["pid"] = process.pid
    _save(payload["app"], job)
    assert process.stdin is not None
    process.stdin.write(json.dumps({**payload, "job": job}).encode())
    process.stdin.close()
    return {"status": "job_started"}


def run_list_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the jobs of this host."""
    return {"jobs": _jobs(payload)}


def run_wait_task(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Wait for the requested jobs, or until the timeout, and return them."""
    deadline = time.monotonic() + payload["timeout"]
    while True:
        wanted = [job for job in _jobs(payload) if _is_wanted(job, payload)]
        over = all(job["status"] != RUNNING for job in wanted)
        if over or time.monotonic() >= deadline:
            return {"jobs": wanted}
        time.sleep(_POLL_SECONDS)


def _is_wanted(job: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
    by_id = payload["job_id"] in (None, job["job_id"])
    return by_id and payload["table_path"] in (None, job["table_path"])


def _jobs(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the recorded jobs, oldest first."""
    found = []
    for file, job in all_json(host_folder(payload["app"], _FOLDER)):
        gone = job["status"] == RUNNING and not is_alive(job["pid"])
        seen = job | {"status": FAILED, "error_message": "its process ended"} if gone else job
        ended = seen["ended_ms"]
        if ended is not None and _now_ms() - ended > payload["retention_ms"]:
            file.unlink(missing_ok=True)
        else:
            found.append(seen)
    return sorted(found, key=lambda job: job["started_ms"])


def _save(app: str, job: Mapping[str, Any]) -> None:
    write_json(host_folder(app, _FOLDER) / f"{job['job_id']}.json", job)


def _now_ms() -> int:
    return int(time.time() * 1000)


def work(payload: Mapping[str, Any]) -> None:
    """Run a job in its own process."""
    job = dict(payload["job"])

    def note() -> None:
        job["completed_splits"] += 1
        _save(payload["app"], job)

    failures: list[str] = []
    try:
        done = run_prewarm_task(payload["work"], note)
        failures = [split["error"] for split in done["splits"] if "error" in split]
    except Exception as failure:  # noqa: BLE001 (any failure must reach the waiting caller)
        failures = [f"{type(failure).__name__}: {failure}"]
    job["failed_splits"] = len(failures)
    job["status"] = FAILED if failures else COMPLETED
    job["error_message"] = failures[0] if failures else None
    job["ended_ms"] = _now_ms()
    _save(payload["app"], job)


if __name__ == "__main__":
    work(json.load(sys.stdin))
