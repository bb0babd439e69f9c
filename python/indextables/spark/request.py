"""One call of the hooks as a value: which table, which settings, what is asked."""

from __future__ import annotations

import json
import os
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
    """The document of a call, with what every operation needs read out of it."""

    # holds the session's keys of stores: not to be printed
    body: Mapping[str, Any] = field(repr=False)

    @property
    def session(self) -> Mapping[str, str]:
        """The session's settings: ours, and those that decide how Spark computes."""
        return self.body.get("session") or {}

    @cached_property
    def options(self) -> Mapping[str, str]:
        """Table properties with the options of this read or write laid over them."""
        return {**(self.body.get("properties") or {}), **(self.body.get("options") or {})}

    @cached_property
    def settings(self) -> Settings:
        """What the user set, without a table's own configuration."""
        return self.settings_for({})

    def settings_for(self, configuration: Mapping[str, str]) -> Settings:
        """The settings in force for a table with this configuration."""
        return resolve(self.options, self.session, configuration)

    @cached_property
    def path(self) -> str:
        """Where the table lies."""
        found = self.find_path()
        if found is None:
            raise error("PATH_MISSING")
        return found

    def find_path(self) -> str | None:
        """Where the table lies, or None when the call does not say."""
        given = {key.lower(): value for key, value in self.options.items()}
        for key in ("path", "location"):
            if given.get(key):
                return self.qualify(given[key])
        paths = json.loads(given.get("paths", "[]"))
        if len(paths) > 1:
            raise error("PATHS_SEVERAL", paths=", ".join(paths))
        return self.qualify(str(paths[0])) if paths else None

    def qualify(self, path: str) -> str:
        """A path as Spark's own file sources resolve it; this process may work elsewhere."""
        base = self.body.get("base")
        return path if base is None else qualify(path, base)

    def schema(self, key: str) -> Struct:
        """A schema of the document, as a value."""
        return Struct(tuple(parse_field(f) for f in self.body[key]["fields"]))

    @property
    def app(self) -> str:
        """Spark's name of the application."""
        return self.session.get("spark.app.id", "")

    @property
    def time_zone(self) -> str:
        """The session's time zone."""
        return self.session.get("spark.sql.session.timeZone", "")

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
    """Who runs tasks."""
    return [Executor(e["id"], e["host"]) for e in request.body.get("executors") or []]
