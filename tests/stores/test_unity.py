"""A table in S3 with credentials from Unity Catalog, which are renewed before they expire."""

from __future__ import annotations

import time

import pyarrow as pa
from tests.stores.catalog import Catalog
from tests.stores.conftest import ACCESS_KEY, SECRET_KEY

import indextables

ROWS = pa.table({"id": [1, 2, 3]})
LIVES_S = 0.2


def test_a_table_is_used_with_credentials_of_the_catalog(s3, capfd):
    keys = {"access_key_id": ACCESS_KEY, "secret_access_key": SECRET_KEY}
    with Catalog({"aws_temp_credentials": keys}, lives=LIVES_S) as catalog:
        options = {
            "aws.region": "us-east-1",
            "s3.endpoint": s3.server.endpoint,
            "databricks.workspaceUrl": catalog.url,
            "databricks.oauth.allowInsecure": "true",
            "databricks.apiToken": catalog.token,
        }
        path = f"{s3.root}/unity"
        indextables.write(ROWS, path, options=options)
        before = len(catalog.requests)
        time.sleep(LIVES_S)
        assert indextables.open(path, options=options).scan().num_rows == 3
        assert len(catalog.requests) > before
        assert {each["url"] for each in catalog.requests} == {path}
    assert "planted" not in "".join(capfd.readouterr())
