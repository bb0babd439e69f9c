"""Memory stores exist as long as their processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from indextables.storage import memory

_OPEN = """
import sys, time
from pathlib import Path
from indextables.storage import memory
memory._SHARED = Path(sys.argv[1])
print(memory.memory_folder("a/b"), flush=True)
if sys.argv[2] == "stay":
    sys.stdin.read()
"""


def process(root, then):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _OPEN, str(root), then],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ended(child):
    child.stdin.close()
    child.wait(60)
    child.stdout.close()


def test_a_folder_goes_when_its_process_ends(tmp_path):
    child = process(tmp_path, "end")
    assert child.stdout.readline().startswith(str(tmp_path))
    ended(child)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_goes_when_its_process_was_killed_and_another_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_SHARED", tmp_path)
    killed, living = process(tmp_path, "stay"), process(tmp_path, "stay")
    gone, kept = (Path(child.stdout.readline().strip()) for child in (killed, living))
    os.kill(killed.pid, signal.SIGKILL)
    ended(killed)
    assert gone.is_dir()
    mine = Path(memory.memory_folder("stale"))
    assert mine.is_dir()
    assert kept.is_dir()
    assert not gone.exists()
    assert not gone.with_name(gone.name + ".lock").exists()
    ended(living)


def test_a_store_is_one_when_it_is_named_twice():
    assert memory.memory_folder("one") == memory.memory_folder("one")
    assert memory.memory_folder("one") != memory.memory_folder("other")
