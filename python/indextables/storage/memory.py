"""Stores that live as long as the process: private folders in the memory file system."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import threading
from pathlib import Path
from urllib.parse import quote

_SHARED = Path("/dev/shm")  # noqa: S108 (private folders are made there)
_PREFIX, _LOCK = "indextables-", ".lock"
_folders: dict[tuple[int, str], str] = {}
_lock = threading.Lock()


def memory_folder(name: str) -> str:
    """The folder of a memory store; a folder, so that the engine sees the same files.

    Folders of killed processes are removed by the next process that creates one.
    """
    with _lock:
        key = (os.getpid(), name)
        if key not in _folders:
            parent = _SHARED if os.access(_SHARED, os.W_OK) else Path(tempfile.gettempdir())
            _remove_abandoned(parent)
            _folders[key] = _make(parent, name)
        return _folders[key]


def _make(parent: Path, name: str) -> str:
    """Create a folder, and beside it a file that is locked while this process lives."""
    while True:
        handle, lock = tempfile.mkstemp(
            prefix=f"{_PREFIX}{quote(name, safe='')[:40]}-", suffix=_LOCK, dir=parent
        )
        fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_same(handle, lock):
            break
        os.close(handle)  # removed as abandoned before it was locked
    folder = lock.removesuffix(_LOCK)
    Path(folder).mkdir(mode=0o700)
    # the handle stays open: the lock ends with the process, however it ends
    atexit.register(_remove, os.getpid(), folder)
    return folder


def _is_same(handle: int, file: str) -> bool:
    try:
        return os.fstat(handle).st_ino == Path(file).stat().st_ino
    except FileNotFoundError:
        return False


def _remove(pid: int, folder: str) -> None:
    if pid == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)
        Path(folder + _LOCK).unlink(missing_ok=True)


def _remove_abandoned(parent: Path) -> None:
    for lock in parent.glob(f"{_PREFIX}*{_LOCK}"):
        try:
            handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue  # gone meanwhile, or another user's
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(os.getpid(), str(lock).removesuffix(_LOCK))
        except BlockingIOError:
            pass  # its process lives
        finally:
            os.close(handle)
