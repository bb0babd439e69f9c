from __future__ import annotations

import pytest

from indextables.config.settings import resolve
from indextables.errors import UnsupportedError
from indextables.model.types import Atomic, Field, Struct
from indextables.plan.fields import plan_fields


@pytest.mark.parametrize("place", ["options", "table"])
def test_primary_key_is_refused_wherever_it_is_asked_for(place):
    settings = resolve(**{place: {"primary-key": "id"}})
    with pytest.raises(UnsupportedError, match="PRIMARY_KEY_UNSUPPORTED"):
        plan_fields(Struct((Field("id", Atomic("long")),)), settings)
