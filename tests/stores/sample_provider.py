"""A sample credentials provider of a user; workers import it by name."""

from __future__ import annotations

import time

calls: list[str] = []


def keys(url, options):
    """Credentials from settings that the test sets and that mean nothing to the store itself."""
    calls.append(url)
    return {
        "access_key_id": options["databricks.clientId"],
        "secret_access_key": options["databricks.clientSecret"],
        "expires_at": time.time() + 3600,
    }


def short(url, options):
    """Credentials that expire soon."""
    return keys(url, options) | {"expires_at": time.time() + 0.1}


class AccountKey:
    def __init__(self, url, options):
        self.options = options

    def __call__(self):
        return {"account_key": self.options["databricks.clientSecret"]}


def broken(url, options):
    msg = f"cannot reach the token service with {options}"
    raise ConnectionError(msg)
