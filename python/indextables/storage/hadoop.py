"""Read the keys of Hadoop's file systems, so that every location Spark can open opens here too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from indextables.config.secret import Secret


class HadoopKeys:
    """Keys of one bucket or account: the specific key is looked up before the general one.

    `forms` are patterns with `{}` for the key, most specific first, such as
    `fs.s3a.bucket.logs.{}` and `fs.s3a.{}`.
    """

    def __init__(self, keys: Mapping[str, Secret], forms: Sequence[str]) -> None:
        self._keys = keys
        self._forms = forms

    def secret(self, key: str) -> Secret | None:
        """The value of a key, or None if it is unset or empty."""
        for form in self._forms:
            found = self._keys.get(form.format(key))
            if found:
                return found
        return None

    def text(self, key: str) -> str | None:
        """The value of a key that is not a secret."""
        found = self.secret(key)
        return found.reveal().strip() if found else None

    def flag(self, key: str) -> bool | None:
        """The value of a boolean key."""
        found = self.text(key)
        return None if found is None else found.lower() == "true"
