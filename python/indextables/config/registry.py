"""All keys there are, gathered from the rooms they belong to."""

from __future__ import annotations

from typing import Any

from indextables.config import log
from indextables.config.option import Option

OPTIONS: tuple[Option[Any], ...] = (*log.OPTIONS,)
