"""The files that versions refer to, however their version files are read."""

from __future__ import annotations

import pytest
from tests.log.changes import append
from tests.log.tables import Table, add

from indextables.commands.references import find_references
from indextables.log.actions import DeletionVector, RemoveFile
from indextables.log.lines import LogActions
from indextables.log.transaction import Operation, Transaction

# their version file is read as columns
MANY = 600
INDEX = "index/index-00000000-0000-4000-8000-{:012d}-0"


def vector(number: int) -> DeletionVector:
    return DeletionVector(INDEX.format(number), 0, 10, 1)


@pytest.mark.parametrize("splits", [3, MANY])
def test_all_files_of_all_versions_are_found(splits: int) -> None:
    table = Table()
    adds = [
        add(
            f"{n}",
            deletion_vector=vector(n % 7) if n % 2 else None,
            extra={"later": INDEX.format(100 + n).removeprefix("index/")} if n % 3 == 0 else {},
        )
        for n in range(splits)
    ]
    version = table.log.commit(append(table.log.snapshot(), adds)).version
    # the newest version refers to none of them
    gone = tuple(RemoveFile(each.path) for each in adds)
    table.log.commit(Transaction(Operation.DELETE, version, gone))
    commit = table.log.reader.commit(version)
    assert commit is not None
    assert isinstance(commit.actions, LogActions) == (splits == MANY)
    expected = {a.path for a in adds}
    expected |= {INDEX.format(n % 7) for n in range(splits) if n % 2}
    expected |= {INDEX.format(100 + n) for n in range(0, splits, 3)}
    versions = range(version + 5)
    assert find_references(table.log, versions, ()) == expected
    assert find_references(table.log, [], ()) == set()


def test_more_versions_than_are_fetched_at_once() -> None:
    table = Table({"checkpoint.enabled": "false"})
    last = [table.append(f"{n}").version for n in range(300)][-1]
    assert len(list(table.log.reader.existing(range(last + 1)))) == last + 1
    found = find_references(table.log, range(last + 1), ())
    assert found == {f"splits/{n}.split" for n in range(300)}
