from __future__ import annotations

import re
from pathlib import Path

import pytest

from indextables.config.option import PREFIX, Scope, Status
from indextables.config.registry import OPTIONS
from indextables.config.settings import _find


def test_every_key_is_declared_once():
    names = [name.lower() for option in OPTIONS for name in (option.key, *option.aliases)]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_row_is_complete(option):
    assert not option.key.startswith(PREFIX)
    assert option.doc.endswith(".")
    assert option.group
    assert option.parser.allowed
    assert option.scopes


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_default_is_what_its_own_text_parses_to(option):
    value = option.default
    if value is None:
        return
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    assert option.parser.parse(text) == value


def test_names_that_look_secret_are_secret():
    pattern = re.compile(
        r"(secretkey|accesskey|password|token|accountkey|clientsecret|connectionstring)$"
    )
    for option in OPTIONS:
        if pattern.search(option.key.lower()):
            assert option.secret, option.key


def test_secrets_are_no_table_properties():
    assert not [o.key for o in OPTIONS if o.secret and Scope.TABLE in o.scopes]


def test_keys_of_the_existing_implementation_are_known():
    """Every key of its users is used, or ignored with a reason; none is rejected."""
    listed = (Path(__file__).parent / "upstream_keys.txt").read_text().split()
    assert len(listed) > 200
    unknown = [key for key in listed if _find(key.lower())[0] is None]
    assert unknown == []
    assert any(option.status is Status.IGNORED for option in OPTIONS)
