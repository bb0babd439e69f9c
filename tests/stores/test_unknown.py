"""Every verb on real stores behind a proxy that loses, holds back and repeats puts of versions."""

from __future__ import annotations

import random

import pytest
from tests.crash import verbs
from tests.crash.test_unknown import rows_or_none
from tests.crash.verbs import ALL, VERSION_FILE, check_whole, expected, prepared
from tests.stores.proxy import CUT_AFTER, CUT_BEFORE, HOLD, PASS, TWICE, Proxy

from indextables.errors import CommitUnknownError

KINDS = (CUT_BEFORE, CUT_AFTER, HOLD, TWICE)
PATIENCE = {"cloud.maxRetries": "1"}


@pytest.fixture(params=["s3", "azure"])
def cloud(request):
    """A store behind a proxy: the proxy, the root of tables, and the options for it."""
    place = request.getfixturevalue(request.param)
    proxy = Proxy(place.server.port)
    key = "s3.endpoint" if request.param == "s3" else "azure.endpoint"
    behind = place.options[key].replace(place.server.endpoint, proxy.endpoint)
    yield proxy, f"{place.root}/unknown", {**place.options, key: behind, **PATIENCE}
    proxy.close()


def is_version(request) -> bool:
    return request.method == "PUT" and VERSION_FILE.search(request.path) is not None


def attempt(verb, place, proxy, rule) -> bool:
    proxy.rule = lambda request: rule() if is_version(request) else PASS
    try:
        verbs.run(verb, place)
    except CommitUnknownError:
        return False
    finally:
        proxy.rule = lambda _: PASS
    return True


def check(verb, place, wanted, before, done) -> None:
    found = rows_or_none(place)
    assert found in ([wanted] if done else [wanted, before, []])
    if found is not None:
        check_whole(place)


@pytest.mark.parametrize("verb", ALL)
def test_what_arrives_late_has_its_files(cloud, verb):
    proxy, root, options = cloud
    wanted = expected(verb)
    place = prepared(verb, root, options)
    before = rows_or_none(place) if verb != "repair" else None
    assert not attempt(verb, place, proxy, lambda: HOLD)
    proxy.deliver()
    check(verb, place, wanted, before, done=False)
    if verb not in (*verbs.FIRST_VERBS, "repair"):
        assert place.rows() == wanted


def run_seed(cloud, verb, seed) -> None:
    proxy, root, options = cloud
    rng = random.Random(f"{verb}{seed}")
    wanted = expected(verb)
    place = prepared(verb, root, options)
    before = rows_or_none(place) if verb != "repair" else None
    chance = rng.choice([0.3, 0.6, 0.9])
    rule = lambda: rng.choice(KINDS) if rng.random() < chance else PASS  # noqa: E731
    done = attempt(verb, place, proxy, rule)
    proxy.deliver()
    check(verb, place, wanted, before, done)


@pytest.mark.parametrize("verb", ALL)
def test_nothing_is_lost_or_doubled_when_any_put_may_fail(cloud, verb):
    run_seed(cloud, verb, 0)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ALL)
def test_nothing_is_lost_or_doubled_when_any_put_may_fail_for_long(cloud, verb):
    for seed in range(100, 120):
        run_seed(cloud, verb, seed)
