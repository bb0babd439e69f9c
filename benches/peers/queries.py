"""The queries for every peer, and the rows they look up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

COMMON = "request"
PHRASE = "connection reset"
ALL_OF = ("timeout", "payment", "cart")
ANY_OF = ("timeout", "reset", "expired")
FILTERED = "timeout"
SUBSTRING = "imeou"
TOP = 10

COUNT_RARE = "count of a rare word"
COUNT_COMMON = "count of a common word"
COUNT_PHRASE = "count of a phrase"
COUNT_ALL_OF = "count of three words, all of them"
COUNT_ANY_OF = "count of three words, any of them"
BEST = "top 10 by score, all columns"
NEWEST = "newest 10 of a word"
LOOKUP = "lookup of one id, all columns"
FILTER_GROUP = "search, filter and group"
GROUP = "group by"
CONTAINS = "count of a substring"


@dataclass
class Wanted:
    """The targets of the next lookups: each one differs, as with real users."""

    id: int = 0
    rare: str = ""

    def choose(self, rows: pa.Table, number: int) -> None:
        """Pick the id of a row anywhere in the table, and a number that only its message has."""
        # a prime far from the periods of the sample
        position = number * 7_919 % rows.num_rows
        found = re.search(r"\b\d{5}\b", rows.column("message")[position].as_py())
        self.id, self.rare = rows.column("id")[position].as_py(), found[0] if found else "31337"


wanted = Wanted()
