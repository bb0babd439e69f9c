"""Small files that the processes of one application on one host share."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indextables.errors import error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEPT_SECONDS = 7 * 86400
_STRANGE = re.compile(r"[^A-Za-z0-9_.-]")


def host_folder(app: str, kind: str) -> Path:
    """A private folder of this user for one kind of files of an application."""
    root = Path(tempfile.gettempdir()) / f"indextables-{os.getuid()}"
    folder = root / (_STRANGE.sub("_", app).lstrip(".") or "local") / kind
    if not folder.is_dir():
        root.mkdir(mode=0o700, exist_ok=True)
        _remove_old(root)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # another user may have created the folder first, to read or to plant files
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        raise error("CACHE_FOLDER_FOREIGN", path=str(root))
    return folder


def _remove_old(root: Path) -> None:
    """Folders of applications that ended long ago."""
    for old in root.iterdir():
        if time.time() - old.stat().st_mtime > _KEPT_SECONDS:
            shutil.rmtree(old, ignore_errors=True)


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    """Write a file atomically."""
    partial = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    partial.write_text(json.dumps(value), encoding="utf-8")
    partial.replace(file)


def read_json(file: Path) -> dict[str, Any] | None:
    """The content of a file, or None if it is gone."""
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def all_json(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every file of a folder with its content, sorted by name."""
    for file in sorted(folder.glob("*.json")):
        value = read_json(file)
        if value is not None:
            yield file, value


def is_alive(pid: int) -> bool:
    """Whether a process of this user is still running."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="latin1").rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    # ended, but not yet reaped
    return state != "Z"
