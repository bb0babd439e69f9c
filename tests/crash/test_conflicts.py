"""Every pair of verbs: the outcome of a change when another one commits first.

The verbs run as their doors run them. The rival runs when the verb puts its version, so the verb
has read, planned and written everything. The table is the one of docs/spec/PROTOCOL.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.crash import verbs
from tests.crash.verbs import VERSION_FILE, Location, change, check_whole, rows

from indextables.errors import ConflictError
from indextables.log import open_log
from indextables.save.alter import alter_table
from indextables.storage import open_store
from indextables.storage.store import Store


def alter(changes: list[dict]) -> Callable[[Location], object]:
    def run(location: Location) -> None:
        log = open_log(open_store(location.path))
        alter_table(log, log.snapshot(), changes)

    return run


# rows 0 to 29 of parts 0, 1 and 2; of part 1: 1, 4, 7 ...
MINE: dict[str, Callable[[Location], object]] = {
    "append": verbs.VERBS["append"],
    "overwrite": verbs.VERBS["overwrite"],
    "replace where": verbs.VERBS["replace rows"],
    "delete": verbs.VERBS["delete"],
    "update": verbs.VERBS["update"],
    "merge into": verbs.VERBS["merge into"],
    "upsert": verbs.KEYED_VERBS["upsert"],
    "merge splits": verbs.VERBS["merge splits"],
    "reindex": verbs.VERBS["reindex"],
    "drop partitions": verbs.VERBS["drop partitions"],
    "alter": alter([{"set": "note", "value": "1"}]),
    "restore": verbs.VERBS["restore"],
    "purge": lambda p: p.sql("PURGE INDEXTABLE '{path}'"),
}
WINNERS: dict[str, Callable[[Location], object]] = {
    "append": lambda p: p.save("append", rows(700, 6, "rival")),
    "overwrite": lambda p: p.save("overwrite", rows(700, 6, "rival")),
    "replace where": lambda p: p.save("overwrite", rows(1, 3, "rival"), replaceWhere="id < 4"),
    "delete": lambda p: change(p, "DELETE", "id < 4"),
    "delete elsewhere": lambda p: change(p, "DELETE", "id > 26"),
    "update": lambda p: change(p, "UPDATE", "id < 4", "rival"),
    "merge splits": verbs.VERBS["merge splits"],
    "reindex": verbs.VERBS["reindex"],
    "drop partitions": verbs.VERBS["drop partitions"],
    "alter": alter([{"set": "other", "value": "2"}]),
    "restore": lambda p: p.sql("RESTORE INDEXTABLES '{path}' TO VERSION AS OF 0"),
}
# the outcome of the row's change after the column's: + applied as if it started later, = applied
# without the rows that are gone, x fails
TABLE = {
    "append":          "+ + + + + + + x + + +",
    "overwrite":       "+ + + + + + + x + + +",
    "replace where":   "+ + + + + + + x + + +",
    "delete":          "+ = = = + = + + = + x",
    "update":          "+ x x x + x + x x + x",
    "merge into":      "+ x x x + x + x x + x",
    "upsert":          "+ + + + + + + x + + +",
    "merge splits":    "+ x x x x x x + + + x",
    "reindex":         "+ + + + + + + + + + +",
    "drop partitions": "+ + + + + + + + + + +",
    "alter":           "+ + + + + + + + + + +",
    "restore":         "+ + + + + + + + + + +",
    "purge":           "+ + + + + + + + + + +",
}  # fmt: skip
PAIRS = [(mine, winner) for mine in TABLE for winner in WINNERS]


def race(location: Location, mine: str, winner: str) -> bool:
    """Run a verb, and another one just before its commit; return whether the verb committed."""
    whole = Store.put
    with pytest.MonkeyPatch.context() as patch:

        def put(store: Store, path: str, data: bytes, *, if_absent: bool = False) -> bool:
            if VERSION_FILE.search(path):
                patch.undo()
                WINNERS[winner](location)
            return whole(store, path, data, if_absent=if_absent)

        patch.setattr(Store, "put", put)
        try:
            MINE[mine](location)
        except ConflictError:
            return False
    return True


def in_order(mine: str, winner: str, root: str) -> list[verbs.Row]:
    """The rows when one verb runs after the other."""
    location = verbs.prepared(mine, root)
    WINNERS[winner](location)
    MINE[mine](location)
    return location.rows()


def only(winner: str, mine: str, root: str) -> Location:
    """The rows after the rival alone."""
    location = verbs.prepared(mine, root)
    WINNERS[winner](location)
    return location


@pytest.mark.parametrize(("mine", "winner"), PAIRS)
def test_a_pair_does_what_the_table_says(tmp_path, mine, winner):
    verdict = TABLE[mine].split()[list(WINNERS).index(winner)]
    location = verbs.prepared(mine, str(tmp_path))
    if mine == "purge":
        WINNERS[winner](location)  # it commits nothing, so there is no race
    committed = race(location, mine, winner)
    found = location.rows()
    alone = only(winner, mine, str(tmp_path))
    if mine == "merge splits":
        # it skips what was changed, so it does not fail but commits nothing
        committed = location.open().version > alone.open().version
    assert committed == (verdict != "x")
    if verdict == "x" or mine == "purge":
        assert found == alone.rows()
    elif verdict == "+":
        assert found == in_order(mine, winner, str(tmp_path))
    else:
        assert are_gone(found, alone)
    check_whole(location)


def are_gone(found: list[verbs.Row], alone: Location) -> bool:
    """Rows that the rival replaced are different rows: a delete that found them keeps them."""
    old = [row for row in found if row[2].startswith("first") and row[0] < 10]
    return set(found) <= set(alone.rows()) and not old


def test_the_specification_has_the_same_table():
    text = (Path(__file__).parents[2] / "docs/spec/PROTOCOL.md").read_text()
    cells = re.findall(r"^\| \*\*(.+?)\*\* \|(.+)\|$", text, re.MULTILINE)
    written = {name: " ".join(cell.strip() for cell in row.split("|")) for name, row in cells}
    assert written == TABLE
