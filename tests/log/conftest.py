"""Fixtures of the log tests."""

from __future__ import annotations

import pytest
from tests.log.tables import Table


@pytest.fixture
def table():
    return Table()


@pytest.fixture
def make_table():
    return Table
