"""The blocks of the guide that need Delta Lake, and the plan that it shows."""

from __future__ import annotations

import re
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "companions.md"


def block(text: str, head: str) -> str:
    (found,) = re.findall(rf"^```{re.escape(head)}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return found


def plain(plan: str) -> str:
    """A plan without the expression ids and sizes, which differ from run to run."""
    return re.sub(r"#\d+L?|\(\S+ B\)", "", plan).strip()


def test_the_plan_of_a_delta_query_is_the_one_shown(spark, tmp_path):
    text = GUIDE.read_text("utf-8").replace("/tmp/", f"{tmp_path}/")
    *statements, explained = filter(str.strip, block(text, 'sql title="Delta"').split(";\n"))
    try:
        for statement in statements:
            spark.sql(statement).collect()
        shown = spark.sql(explained).first()[0]
        assert plain(shown) == plain(block(text, 'text title="Plan"'))
        assert spark.sql(explained.strip().removeprefix("EXPLAIN")).first()[0] == 11
    finally:
        spark.sql("DROP TABLE IF EXISTS deliveries")
