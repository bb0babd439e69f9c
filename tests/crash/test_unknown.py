"""Commits with an unknown outcome: no verb loses or duplicates anything.

In the worst case, the store accepts the put of a version but never answers, the verb gives up, and
the version appears later. The files it names must exist then.
"""

from __future__ import annotations

import contextlib
import random

import pytest
from tests.crash import faulty, verbs
from tests.crash.faulty import KINDS, LATE, NEVER, NO_ANSWER, TWICE, FaultyDisk
from tests.crash.verbs import ALL, check_whole, expected, prepared

from indextables.errors import CommitUnknownError, TableNotFoundError


def rows_or_none(location: verbs.Location) -> list[verbs.Row] | None:
    try:
        return location.rows()
    except TableNotFoundError:
        return None


def attempt(verb: str, location: verbs.Location, disk: FaultyDisk) -> bool:
    """Run a verb over a failing disk; return whether it reports success."""
    with pytest.MonkeyPatch.context() as patch:
        disk.install(patch)
        try:
            verbs.run(verb, location)
        except CommitUnknownError:
            return False
    return True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", ALL)
def test_a_verb_is_done_once_when_its_first_put_fails(tmp_path, verb, kind):
    wanted = expected(verb)
    location = prepared(verb, str(tmp_path))
    disk = FaultyDisk(faulty.first(1, kind))
    assert attempt(verb, location, disk)
    assert disk.hit == 1
    disk.deliver()
    assert location.rows() == wanted
    check_whole(location)


@pytest.mark.parametrize("kind", [NEVER, NO_ANSWER, LATE, TWICE])
@pytest.mark.parametrize("verb", ALL)
def test_the_table_is_whole_when_every_put_fails(tmp_path, verb, kind):
    wanted = expected(verb)
    location = prepared(verb, str(tmp_path))
    before = rows_or_none(location) if verb != "repair" else None
    disk = FaultyDisk(faulty.always(kind))
    done = attempt(verb, location, disk)
    assert done == (kind in (NO_ANSWER, TWICE))
    disk.deliver()
    found = rows_or_none(location)
    # a table that is created in a separate version may be empty
    assert found in ([wanted] if done else [wanted, before, []])
    if kind == LATE and verb not in (*verbs.FIRST_VERBS, "repair"):
        assert found == wanted, "a late version has lost its files"
    if found is not None:
        check_whole(location)


def run_seed(verb: str, root: str, seed: int, wanted: list[verbs.Row]) -> None:
    rng = random.Random(f"{verb}{seed}")
    location = prepared(verb, root)
    before = rows_or_none(location) if verb != "repair" else None
    disk = FaultyDisk(faulty.drawn(rng))
    done = attempt(verb, location, disk)
    disk.deliver(rng)
    found = rows_or_none(location)
    assert found in ([wanted] if done else [wanted, before, []])
    if found is not None:
        check_whole(location)
        with contextlib.suppress(CommitUnknownError):
            location.save("append", verbs.rows(5000, 3))
        assert len(location.rows()) == len(found) + 3


@pytest.mark.parametrize("verb", ALL)
def test_nothing_is_lost_or_doubled_when_any_put_may_fail(tmp_path, verb):
    wanted = expected(verb)
    for seed in range(3):
        run_seed(verb, str(tmp_path), seed, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ALL)
def test_nothing_is_lost_or_doubled_when_any_put_may_fail_for_long(tmp_path, verb):
    wanted = expected(verb)
    for seed in range(1000, 1100):
        run_seed(verb, str(tmp_path), seed, wanted)
