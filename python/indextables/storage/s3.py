"""Options of an S3 store. Pure: settings, Hadoop's keys and environment in, options out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from indextables.config import storage as keys
from indextables.config.secret import Secret
from indextables.config.settings import Settings
from indextables.errors import error
from indextables.storage.address import Address
from indextables.storage.hadoop import HadoopKeys

Config = dict[str, str | Secret]

_ANONYMOUS = "anonymousawscredentialsprovider"
# environment variables besides credentials, by the names that the stores use
_ENVIRONMENT = (
    "aws_checksum_algorithm",
    "aws_imdsv1_fallback",
    "aws_metadata_endpoint",
    "aws_request_payer",
    "aws_s3_express",
    "aws_server_side_encryption",
    "aws_sse_bucket_key_enabled",
    "aws_sse_kms_key_id",
    "aws_unsigned_payload",
)
# roles: the store fetches temporary credentials itself
_ROLES = (
    "aws_web_identity_token_file",
    "aws_role_arn",
    "aws_role_session_name",
    "aws_endpoint_url_sts",
    "aws_container_credentials_relative_uri",
    "aws_container_credentials_full_uri",
    "aws_container_authorization_token_file",
)
_GENERAL = ("s3.amazonaws.com", "https://s3.amazonaws.com")
_ADDRESS = re.compile(r"^(\d+\.\d+\.\d+\.\d+|\[.*\]|localhost)$")


def s3_options(
    address: Address, settings: Settings, environ: Mapping[str, str], *, provided: bool
) -> Config:
    """The options of a bucket; `provided` if a credentials provider of the user is set."""
    hadoop = HadoopKeys(settings.hadoop, (f"fs.s3a.bucket.{address.bucket}.{{}}", "fs.s3a.{}"))
    config: Config = {k: environ[k.upper()] for k in _ENVIRONMENT if environ.get(k.upper())}
    region = (
        settings.get(keys.AWS_REGION)
        or hadoop.text("endpoint.region")
        or environ.get("AWS_REGION")
        or environ.get("AWS_DEFAULT_REGION")
    )
    if region:
        config["aws_region"] = region
    config |= _encryption(hadoop)
    config |= _place(address, settings, hadoop, environ)
    config |= _credentials(address, settings, hadoop, environ) if not provided else {}
    config.setdefault("aws_skip_signature", "false")
    config["aws_conditional_put"] = "etag"
    return config


def _place(
    address: Address, settings: Settings, hadoop: HadoopKeys, environ: Mapping[str, str]
) -> Config:
    """The endpoint, and whether the bucket is part of the host name or of the path."""
    endpoint = (
        settings.get(keys.S3_ENDPOINT)
        or _named(hadoop.text("endpoint"))
        or environ.get("AWS_ENDPOINT_URL_S3")
        or environ.get("AWS_ENDPOINT_URL")
        or environ.get("AWS_ENDPOINT")
    )
    path_style = settings.get(keys.S3_PATH_STYLE)
    if path_style is None:
        path_style = hadoop.flag("path.style.access")
    if not endpoint:
        # a bucket name with a dot would not match the certificate of the bucket's host
        dotted = "." in address.bucket
        return {"aws_virtual_hosted_style_request": _flag(not (path_style or dotted))}
    if "://" not in endpoint:
        plain = hadoop.flag("connection.ssl.enabled") is False
        endpoint = f"{'http' if plain else 'https'}://{endpoint}"
    scheme, _, host = endpoint.rstrip("/").partition("://")
    if path_style is None:
        path_style = not host.endswith(".amazonaws.com")
    if not path_style and not _ADDRESS.match(host.rsplit(":", 1)[0]):
        host = f"{address.bucket}.{host}"
        return {
            "aws_endpoint_url_s3": f"{scheme}://{host}",
            "aws_virtual_hosted_style_request": "true",
        }
    return {
        "aws_endpoint_url_s3": f"{scheme}://{host}",
        "aws_virtual_hosted_style_request": "false",
    }


def _named(endpoint: str | None) -> str | None:
    """Ignore Amazon's general endpoint, which Spark sets itself: it does not name a region."""
    return None if endpoint in _GENERAL else endpoint


def _credentials(
    address: Address, settings: Settings, hadoop: HadoopKeys, environ: Mapping[str, str]
) -> Config:
    """All credentials come from the first source that has any: sources are never mixed."""
    places = (
        (
            settings.get(keys.AWS_ACCESS_KEY),
            settings.get(keys.AWS_SECRET_KEY),
            settings.get(keys.AWS_SESSION_TOKEN),
        ),
        (hadoop.secret("access.key"), hadoop.secret("secret.key"), hadoop.secret("session.token")),
        tuple(
            Secret(environ[name]) if environ.get(name) else None
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        ),
    )
    for at, (key, secret, token) in enumerate(places):
        if at == 2 and _is_anonymous(hadoop, environ):  # noqa: PLR2004 (before the environment)
            return {"aws_skip_signature": "true"}
        if not key and not secret:
            continue
        if not key or not secret:
            raise error(
                "STORAGE_CREDENTIALS", url=address.url, detail="one of access and secret key only"
            )
        found: Config = {"aws_access_key_id": key, "aws_secret_access_key": secret}
        return found | ({"aws_session_token": token} if token else {})
    return {name: environ[name.upper()] for name in _ROLES if environ.get(name.upper())}


def _is_anonymous(hadoop: HadoopKeys, environ: Mapping[str, str]) -> bool:
    providers = (hadoop.text("aws.credentials.provider") or "").lower()
    return _ANONYMOUS in providers or environ.get("AWS_SKIP_SIGNATURE", "").lower() == "true"


def _encryption(hadoop: HadoopKeys) -> Config:
    """Server-side encryption, from Hadoop's keys."""
    names = {"aes256": "AES256", "sse-kms": "aws:kms", "dsse-kms": "aws:kms:dsse"}
    algorithm = names.get((hadoop.text("encryption.algorithm") or "").lower())
    if algorithm is None:
        return {}
    config: Config = {"aws_server_side_encryption": algorithm}
    key = hadoop.secret("encryption.key")
    if key and algorithm != "AES256":
        config["aws_sse_kms_key_id"] = key
    return config


def _flag(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"
