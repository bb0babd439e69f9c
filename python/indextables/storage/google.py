"""Options of a Google store. Pure: settings, Hadoop's keys and environment in, options out."""

from __future__ import annotations

from collections.abc import Mapping

from indextables.config import storage as keys
from indextables.config.secret import Secret
from indextables.config.settings import Settings
from indextables.storage.hadoop import HadoopKeys

Config = dict[str, str | Secret]


def google_options(settings: Settings, environ: Mapping[str, str], *, provided: bool) -> Config:
    """The options of a bucket; `provided` if a credentials provider of the user is set."""
    hadoop = HadoopKeys(settings.hadoop, ("fs.gs.{}",))
    config: Config = {}
    endpoint = settings.get(keys.GCP_ENDPOINT) or hadoop.text("storage.root.url")
    if endpoint:
        config["google_base_url"] = endpoint.rstrip("/")
    if not provided:
        config |= _credentials(settings, hadoop, environ)
    return config


def _credentials(settings: Settings, hadoop: HadoopKeys, environ: Mapping[str, str]) -> Config:
    """Credentials from the first source that has any: a key, a file, none, or the host's role."""
    key = settings.get(keys.GCP_SERVICE_ACCOUNT_KEY)
    file = settings.get(keys.GCP_CREDENTIALS_FILE) or hadoop.text(
        "auth.service.account.json.keyfile"
    )
    if key or file:
        return (
            {"google_service_account_key": key} if key else {"google_service_account": file or ""}
        )
    if (hadoop.text("auth.type") or "").upper() == "UNAUTHENTICATED":
        return {"google_skip_signature": "true"}
    for name in (
        "google_service_account_key",
        "google_service_account",
        "google_service_account_path",
        "google_application_credentials",
    ):
        if found := environ.get(name.upper()):
            return {name.removesuffix("_path"): Secret(found)}
    anonymous = environ.get("GOOGLE_SKIP_SIGNATURE", "").lower() == "true"
    return {"google_skip_signature": "true"} if anonymous else {}
