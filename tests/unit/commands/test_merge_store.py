from __future__ import annotations

import json

from indextables.commands.merge_store import merge_store_options
from indextables.config.settings import resolve


def test_merges_have_requests_of_their_own_where_set():
    options = json.dumps({"retry_max": 6, "upload_concurrency": 4, "bucket": "b"})
    assert merge_store_options(options, resolve()) == options
    given = {
        "merge.upload.maxConcurrency": "9",
        "merge.download.retries": "0",
        "merge.download.retryBaseDelayMs": "7",
        "merge.download.retryMaxDelayMs": "70",
    }
    assert json.loads(merge_store_options(options, resolve(given))) == {
        "retry_max": 0,
        "retry_first_pause_ms": 7,
        "retry_longest_pause_ms": 70,
        "upload_concurrency": 9,
        "bucket": "b",
    }
    assert merge_store_options("{}", resolve(given)) == "{}"
