"""What every peer is asked, and the rows that are looked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

COMMON = "request"
PHRASE = "connection reset"
ALL_OF = ("timeout", "payment", "cart")
ANY_OF = ("timeout", "reset", "expired")
FILTERED = "timeout"
SUBSTRING = "imeou"
ID = 54_321
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


def rare_word(rows: pa.Table) -> str:
    """A number in the messages that stands for nothing else."""
    found = re.search(r"\b\d{5}\b", rows.column("message")[rows.num_rows // 2].as_py())
    return found[0] if found else "31337"
