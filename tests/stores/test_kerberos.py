"""Tables in an HDFS that requires Kerberos tickets, with signed and with encrypted connections."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.stores import hadoop, kerberos

PROGRAM = """
import json, sys
import pyarrow as pa
import indextables
options = json.loads(sys.argv[2])
rows = pa.table({"id": [1, 2], "message": ["timeout of payment", "cart opened"]})
indextables.write(rows, sys.argv[1], options=options | {"indexing.typemap.message": "text"})
found = indextables.open(sys.argv[1], options=options).search("cart", ["id"])
print(found.column("id").to_pylist())
"""


@pytest.fixture(scope="module")
def realm(tmp_path_factory):
    if not kerberos.is_installed():
        pytest.skip("no krb5kdc: apt-get install krb5-kdc krb5-admin-server krb5-user")
    if not hadoop.MINICLUSTER.is_file():
        pytest.skip(f"no {hadoop.MINICLUSTER}: run `make servers`")
    with kerberos.start(tmp_path_factory.mktemp("kerberos")) as found:
        yield found


def use_table(url: str, options: dict[str, str], environ: dict[str, str]):
    kept = {key: value for key, value in os.environ.items() if key != "HADOOP_USER_NAME"}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, url, json.dumps(options)],
        env={**kept, **environ},
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        timeout=300,
    )


@pytest.mark.parametrize("protection", ["authentication", "privacy"])
def test_a_ticket_opens_a_secure_cluster(realm, tmp_path, protection):
    with hadoop.start(tmp_path, realm, protection) as cluster:
        cluster.make_home("me")
        url = f"hdfs://localhost:{cluster.port(0)}/user/me/events"
        options = hadoop.secure_keys(protection)
        done = use_table(url, options, realm.ticket(tmp_path / "ticket"))
        assert done.stdout == "[2]\n", done.stderr
        assert cluster.owner("/user/me/events/splits") == "me"
        nobody = use_table(url, options, realm.environ | {"KRB5CCNAME": str(tmp_path / "none")})
        assert "STORAGE_CREDENTIALS" in nobody.stderr
        assert "no valid Kerberos ticket; run kinit" in nobody.stderr
