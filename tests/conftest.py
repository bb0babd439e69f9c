"""Fixtures every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# first calls load libraries; a busy machine is no reason to fail
settings.register_profile("quiet", deadline=None)
settings.load_profile("quiet")


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Tables and index files written by other systems; absent on some machines."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "fixtures"
    folder = Path(os.environ.get("INDEXTABLES_FIXTURES", beside))
    if not folder.is_dir():
        pytest.skip(f"no fixture tables at {folder}")
    return folder
