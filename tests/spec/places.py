"""Locations for the tables of a spec file: a folder, or a bucket of a real object store."""

from __future__ import annotations

import itertools
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from tests.stores import signing
from tests.stores.conftest import ACCESS_KEY, BUCKET, SECRET_KEY, Place

from indextables.storage import open_store

_numbers = itertools.count()


class Folder:
    """A local folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.options: dict[str, str] = {}

    def path(self, name: str) -> str:
        return str(self.root / name)

    def files(self, name: str) -> list[str]:
        root = self.root / name
        return [str(f.relative_to(root)) for f in root.rglob("*") if f.is_file()]

    def remove(self, name: str, files: list[str]) -> None:
        for file in files:
            (self.root / name / file).unlink()

    def age(self, name: str, hours: float) -> None:
        at = time.time() - hours * 3600
        for file in self.files(name):
            os.utime(self.root / name / file, (at, at))


class Bucket:
    """A prefix in a shared bucket; each spec file uses its own prefix, so nothing is cleaned up."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.prefix = f"spec{next(_numbers)}"
        self.options = {f"spark.indextables.{key}": value for key, value in place.options.items()}

    def path(self, name: str) -> str:
        return f"{self.place.root}/{self.prefix}/{name}"

    def _store(self, name):
        return open_store(self.path(name), self.place.settings)

    def files(self, name: str) -> list[str]:
        return [meta.path for meta in self._store(name).list("")]

    def remove(self, name: str, files: list[str]) -> None:
        self._store(name).delete(files)

    def age(self, name: str, hours: float) -> None:
        """Rewrite all objects with an older timestamp, which MinIO accepts for replication."""
        store = self._store(name)
        then = datetime.fromtimestamp(time.time() - hours * 3600, UTC)
        for file in self.files(name):
            url = f"{self.place.server.endpoint}/{BUCKET}/{self.prefix}/{name}/" + quote(file)
            headers = {"x-minio-source-mtime": then.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
            signing.s3_put(url, store.get(file), ACCESS_KEY, SECRET_KEY, headers)
