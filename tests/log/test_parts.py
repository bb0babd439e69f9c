"""JSON checkpoints of several parts, with the head in all forms of other writers."""

from __future__ import annotations

import json

import pytest
from tests.log.tables import Table, paths

from indextables.errors import CorruptError
from indextables.log import names

ID = "0c0ffee0-0000-4000-8000-000000000000"


@pytest.fixture
def table():
    """A table with only a checkpoint of three parts left."""
    table = Table({"checkpoint.enabled": "false"})
    for name in "abcd":
        table.append(name)
    options = {"state.format": "json", "state.entriesPerManifest": "2"}
    table.reopen(**options).checkpoint()
    table.log.store.delete(names.version_file(version) for version in range(5))
    return table


def head_of(table):
    return json.loads(table.log.store.get(names.checkpoint_file(4)))


FORMS = {
    "names": lambda head: head,
    "a number": lambda head: {**head, "parts": len(head["parts"])},
    "under a name": lambda head: {"multiPartCheckpointManifest": head},
    "in another order": lambda head: dict(reversed(head.items())),
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("form", FORMS)
def test_parts_are_found_however_the_head_tells_of_them(table, form, indent):
    text = json.dumps(FORMS[form](head_of(table)), indent=indent)
    table.log.store.put(names.checkpoint_file(4), text.encode())
    assert paths(table.reopen().snapshot()) == ["a", "b", "c", "d"]


def test_parts_of_another_checkpoint_of_the_version_are_not_taken(table):
    head = head_of(table)
    stray = names.part_name(4, ID, 1)
    store = table.log.store
    store.put(f"{names.FOLDER}/{stray}", store.get(f"{names.FOLDER}/{head['parts'][0]}"))
    store.put(names.checkpoint_file(4), json.dumps({**head, "parts": 3}).encode())
    assert paths(table.reopen().snapshot()) == ["a", "b", "c", "d"]


def test_a_part_that_is_missing_is_an_error(table):
    head = head_of(table)
    table.log.store.put(names.checkpoint_file(4), json.dumps({**head, "parts": 3}).encode())
    table.log.store.delete([f"{names.FOLDER}/{head['parts'][1]}"])
    with pytest.raises(CorruptError, match="3 parts, and 2 files"):
        table.reopen().snapshot()


def test_a_head_without_parts_is_an_error(table):
    head = {key: value for key, value in head_of(table).items() if key != "parts"}
    table.log.store.put(names.checkpoint_file(4), json.dumps(head).encode())
    with pytest.raises(CorruptError, match="parts"):
        table.reopen().snapshot()
