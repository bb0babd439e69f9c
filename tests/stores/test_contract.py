"""The contract of all stores, as used by the log and by the engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.stores.conftest import Place

from indextables.errors import StorageError

ODD_NAMES = ["k=a%2Fb/splits/x.split", "k=%20 é/y#1?.split", "a+b&c=d/z~.split"]


def test_an_object_is_read_back_when_put(place):
    store = place.table()
    assert store.put("a/b.json", b"first")
    assert store.get("a/b.json") == b"first"
    assert store.put("a/b.json", b"second")
    assert place.again(store).get("a/b.json") == b"second"
    assert store.head("a/b.json").size == 6


def test_nothing_is_found_when_nothing_was_put(place):
    store = place.table()
    assert store.find("a/b") is None
    assert store.head("a/b") is None
    assert list(store.list("a")) == []
    assert store.children("a") == []
    store.delete(["a/b"])
    with pytest.raises(StorageError) as caught:
        store.get("a/b")
    assert caught.value.code == "FILE_MISSING"
    assert "a/b" in str(caught.value)


def test_the_first_one_stays_when_put_if_absent(place):
    store = place.table()
    assert store.put("v/0.json", b"mine", if_absent=True)
    assert not place.again(store).put("v/0.json", b"yours", if_absent=True)
    assert store.get("v/0.json") == b"mine"


def test_one_writer_wins_when_many_race(place):
    store = place.table()
    rivals = [place.again(store) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for round_ in range(5):
            path = f"v/{round_}.json"
            won = list(
                pool.map(lambda i, p=path: rivals[i].put(p, b"%d" % i, if_absent=True), range(8))
            )
            assert sum(won) == 1
            assert store.get(path) == b"%d" % won.index(True)


def test_ranges_are_exact_when_read_together(place):
    store = place.table()
    data = bytes(range(256)) * 4096
    store.put("big", data)
    ranges = [(0, 1), (5, 900_000), (1_048_570, 1_048_576), (7, 8)]
    assert store.get_ranges("big", ranges) == [data[a:b] for a, b in ranges]
    assert store.get_range("big", 100, 200) == data[100:200]


def test_names_come_sorted_when_listed(place):
    store = place.table()
    names = [f"log/{number:020d}.json" for number in (2, 0, 11, 1, 100)]
    for name in [*names, "log/state-v1/_manifest.avro", "logger/x", *ODD_NAMES]:
        store.put(name, b"x")
    listed = [meta.path for meta in store.list("log")]
    assert listed == [*sorted(names), "log/state-v1/_manifest.avro"]
    assert next(store.list("log", sorted(names)[2])).path == sorted(names)[3]
    assert store.children("log", after=f"{1:020d}.json", until="state-v") == [
        f"{number:020d}.json" for number in (2, 11, 100)
    ]
    # the name is not a file here, but a prefix of one
    assert store.children("log", after=f"{2:020d}", until="_")[0] == f"{2:020d}.json"
    assert store.children("log")[-1] == "state-v1"
    assert store.children("log", after="state-v1") == []
    assert {meta.path for meta in store.list("")} >= set(ODD_NAMES)


def test_a_folder_is_listed_without_what_is_below_its_folders(place):
    store = place.table()
    for name in ["a", "k=1/b", "k=1/c/d", *ODD_NAMES]:
        store.put(name, b"12")
    files, folders = store.inside("")
    assert [(meta.path, meta.size) for meta in files] == [("a", 2)]
    assert folders == sorted({"k=1", *(name.partition("/")[0] for name in ODD_NAMES)})
    below = [meta.path for folder in folders for meta in store.list(folder)]
    assert sorted(below) == sorted(["k=1/b", "k=1/c/d", *ODD_NAMES])
    files, folders = store.inside("k=1")
    assert ([meta.path for meta in files], folders) == (["k=1/b"], ["k=1/c"])
    assert store.inside("none") == ([], [])


def test_many_objects_are_all_listed_when_there_is_more_than_one_page(place):
    store = place.table()
    count = 1100 if place.kind == "s3" else 120
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: store.put(f"p/{i:06d}", b""), range(count)))
    assert [meta.path for meta in store.list("p")] == [f"p/{i:06d}" for i in range(count)]


def test_deleted_objects_are_gone_when_deleted_twice(place):
    store = place.table()
    store.put("a", b"1")
    store.put("b", b"2")
    store.delete(["a"])
    store.delete(["a", "b"])
    assert list(store.list("")) == []


def test_a_big_object_is_whole_when_read_back(place):
    store = place.table()
    data = os.urandom(1 << 20) * 24
    store.put("big.bin", data)
    assert store.get("big.bin") == data


RACE = """
import sys
from indextables.config.settings import resolve
from indextables.storage import open_store
import json
url, options, name = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
store = open_store(url, resolve(options))
sys.stdin.readline()
print([i for i in range(20) if store.put(f"v/{i:03d}", name.encode(), if_absent=True)])
"""


@pytest.mark.parametrize("kind", ["local", "s3"])
def test_one_process_wins_each_version_when_processes_race(kind, request, tmp_path):
    place = Place("local", str(tmp_path), {}) if kind == "local" else request.getfixturevalue("s3")
    store = place.table()
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, store.url, json.dumps(place.options), f"p{i}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for i in range(3)
    ]
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    won = [json.loads(racer.communicate(timeout=60)[0]) for racer in racers]
    assert sorted(v for versions in won for v in versions) == list(range(20))
    for number, versions in enumerate(won):
        for version in versions:
            assert store.get(f"v/{version:03d}") == b"p%d" % number
