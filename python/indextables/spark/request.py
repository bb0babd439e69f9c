"""A call of the hooks as a value: its table, settings and document."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from indextables.config.settings import Settings, resolve
from indextables.errors import error
from indextables.model.types import Struct, parse_field
from indextables.runtime.context import Executor
from indextables.storage.address import qualify


@dataclass(frozen=True)
class Request:
    """The document of a call, with accessors for what operations need."""

    # holds credentials of stores: never print it
    body: Mapping[str, Any] = field(repr=False)

    @property
    def session(self) -> Mapping[str, str]:
        """The session's settings: ours, and those that affect how Spark computes."""
        return self.body.get("session") or {}

    @cached_property
    def options(self) -> Mapping[str, str]:
        """Table properties overridden by the options of this read or write."""
        return {**(self.body.get("properties") or {}), **(self.body.get("options") or {})}

    @cached_property
    def settings(self) -> Settings:
        """The settings of the user, without the table's own configuration."""
        return self.settings_for({})

    def settings_for(self, configuration: Mapping[str, str]) -> Settings:
        """The effective settings for a table with this configuration."""
        return resolve(self.options, self.session, configuration)

    @cached_property
    def path(self) -> str:
        """The location of the table."""
        found = self.find_path()
        if found is None:
            raise error("PATH_MISSING")
        return found

    def find_path(self) -> str | None:
        """The location of the table, or None if the call has none."""
        given = {key.lower(): value for key, value in self.options.items()}
        for key in ("path", "location"):
            if given.get(key):
                return self.qualify(given[key])
        paths = json.loads(given.get("paths", "[]"))
        if len(paths) > 1:
            raise error("PATHS_SEVERAL", paths=", ".join(paths))
        return self.qualify(str(paths[0])) if paths else None

    def qualify(self, path: str) -> str:
        """A path resolved like Spark's file sources do; this process may have another directory."""
        base = self.body.get("base")
        return path if base is None else qualify(path, base)

    def schema(self, key: str) -> Struct:
        """A schema of the document, as a value."""
        return Struct(tuple(parse_field(f) for f in self.body[key]["fields"]))

    @property
    def app(self) -> str:
        """The id of the Spark application."""
        return self.session.get("spark.app.id", "")

    @property
    def time_zone(self) -> str:
        """The session's time zone."""
        return self.session.get("spark.sql.session.timeZone", "")

    @property
    def now(self) -> int:
        """The value of `now` in searches of this statement, in microseconds since 1970."""
        given = self.body.get("now")
        return time.time_ns() // 1000 if given is None else int(given)

    @property
    def cores(self) -> int:
        """How many tasks Spark runs at once."""
        given = self.session.get("spark.default.parallelism")
        return int(given) if given else os.cpu_count() or 1

    @property
    def ansi(self) -> bool:
        """Whether Spark raises on overflow instead of wrapping."""
        return self.session.get("spark.sql.ansi.enabled", "true").lower() == "true"


def executors_of(request: Request) -> list[Executor]:
    """The executors."""
    return [Executor(e["id"], e["host"]) for e in request.body.get("executors") or []]
