"""Options of an Azure store. Pure: settings, Hadoop's keys and environment in, options out."""

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

_PUBLIC = ("", "dfs.core.windows.net", "blob.core.windows.net")
_FABRIC = ("dfs.fabric.microsoft.com", "blob.fabric.microsoft.com")
# managed identity of the host or pod: the store fetches tokens itself
_ROLES = {
    "azure_client_id": ("AZURE_CLIENT_ID", "AZURE_STORAGE_CLIENT_ID"),
    "azure_tenant_id": ("AZURE_TENANT_ID", "AZURE_STORAGE_TENANT_ID", "AZURE_STORAGE_AUTHORITY_ID"),
    "azure_authority_host": ("AZURE_AUTHORITY_HOST", "AZURE_STORAGE_AUTHORITY_HOST"),
    "azure_federated_token_file": ("AZURE_FEDERATED_TOKEN_FILE",),
    "azure_msi_endpoint": ("IDENTITY_ENDPOINT", "MSI_ENDPOINT", "AZURE_MSI_ENDPOINT"),
    "azure_object_id": ("AZURE_OBJECT_ID",),
    "azure_msi_resource_id": ("AZURE_MSI_RESOURCE_ID",),
    "azure_use_azure_cli": ("AZURE_USE_AZURE_CLI",),
}
_PLACE = {"azure_storage_account_name", "azure_storage_endpoint", "azure_use_fabric_endpoint"}
_TENANT = re.compile(r"^https?://[^/]+/([^/]+)/oauth2/")


def azure_options(
    address: Address, settings: Settings, environ: Mapping[str, str], *, provided: bool
) -> Config:
    """The options of a container; `provided` if a credentials provider of the user is set."""
    connection = _connection_string(address, settings, environ)
    account = (
        address.account
        or settings.get(keys.AZURE_ACCOUNT)
        or connection.get("accountname")
        or _first(environ, "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT")
    )
    if not account:
        raise error("STORAGE_CREDENTIALS", url=address.url, detail="no storage account is named")
    config: Config = {"azure_storage_account_name": account}
    config |= _place(address, account, settings, connection, environ)
    if not provided:
        config |= _credentials(address, account, settings, connection, environ)
    anonymous = environ.get("AZURE_SKIP_SIGNATURE", "").lower() == "true"
    unsigned = anonymous and not (config.keys() - _PLACE)
    config["azure_skip_signature"] = "true" if unsigned else "false"
    return config


def _place(
    address: Address,
    account: str,
    settings: Settings,
    connection: Mapping[str, str],
    environ: Mapping[str, str],
) -> Config:
    endpoint = settings.get(keys.AZURE_ENDPOINT) or connection.get("blobendpoint")
    suffix = connection.get("endpointsuffix", "core.windows.net")
    if not endpoint and suffix != "core.windows.net":
        endpoint = f"https://{account}.blob.{suffix}"
    if not endpoint and address.domain in _FABRIC:
        return {"azure_use_fabric_endpoint": "true"}
    if not endpoint and address.domain not in _PUBLIC:
        # another cloud: both services of an account share the domain after their own name
        endpoint = f"https://{account}.blob.{_base(address.domain)}"
    endpoint = endpoint or _first(environ, "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
    return {"azure_storage_endpoint": endpoint.rstrip("/")} if endpoint else {}


def _credentials(
    address: Address,
    account: str,
    settings: Settings,
    connection: Mapping[str, str],
    environ: Mapping[str, str],
) -> Config:
    """All credentials come from the first source that has any: sources are never mixed."""
    named: dict[str, Secret | str | None] = {
        "azure_storage_account_key": settings.get(keys.AZURE_KEY)
        or _secret(connection.get("accountkey")),
        "azure_storage_sas_token": _secret(connection.get("sharedaccesssignature")),
        "azure_storage_token": settings.get(keys.AZURE_BEARER_TOKEN),
    }
    client = {
        "azure_client_id": settings.get(keys.AZURE_CLIENT_ID),
        "azure_client_secret": settings.get(keys.AZURE_CLIENT_SECRET),
        "azure_tenant_id": settings.get(keys.AZURE_TENANT_ID),
    }
    for found in (
        {key: value for key, value in named.items() if value},
        {key: value for key, value in client.items() if value} if all(client.values()) else {},
        _hadoop(address, account, settings),
        _environment(environ),
    ):
        if found:
            return dict(found)
    roles = {key: _first(environ, *names) for key, names in _ROLES.items()}
    return {key: value for key, value in roles.items() if value}


def _hadoop(address: Address, account: str, settings: Settings) -> Config:
    base = _base(address.domain) or "core.windows.net"
    hosts = (f"{account}.dfs.{base}", f"{account}.blob.{base}")
    forms = [f"fs.azure.{{}}.{host}" for host in hosts] + ["fs.azure.{}"]
    hadoop = HadoopKeys(settings.hadoop, forms)
    if key := hadoop.secret("account.key"):
        return {"azure_storage_account_key": key}
    token = hadoop.secret("sas.fixed.token") or hadoop.secret(f"sas.{address.bucket}")
    if token:
        return {"azure_storage_sas_token": token}
    client, secret = (
        hadoop.text("account.oauth2.client.id"),
        hadoop.secret("account.oauth2.client.secret"),
    )
    endpoint = _TENANT.match(hadoop.text("account.oauth2.client.endpoint") or "")
    tenant = endpoint[1] if endpoint else hadoop.text("account.oauth2.msi.tenant")
    if client and secret and tenant:
        return {
            "azure_client_id": client,
            "azure_client_secret": secret,
            "azure_tenant_id": tenant,
        }
    return {}


def _environment(environ: Mapping[str, str]) -> Config:
    for key, names in {
        "azure_storage_account_key": (
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_KEY",
        ),
        "azure_storage_sas_token": ("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"),
        "azure_storage_token": ("AZURE_STORAGE_TOKEN",),
    }.items():
        if value := _first(environ, *names):
            return {key: Secret(value)}
    client = {
        "azure_client_id": _first(environ, *_ROLES["azure_client_id"]),
        "azure_client_secret": _secret(
            _first(environ, "AZURE_CLIENT_SECRET", "AZURE_STORAGE_CLIENT_SECRET")
        ),
        "azure_tenant_id": _first(environ, *_ROLES["azure_tenant_id"]),
    }
    return {k: v for k, v in client.items() if v} if all(client.values()) else {}


def _connection_string(
    address: Address, settings: Settings, environ: Mapping[str, str]
) -> dict[str, str]:
    given = settings.get(keys.AZURE_CONNECTION_STRING)
    text = given.reveal() if given else environ.get("AZURE_STORAGE_CONNECTION_STRING", "")
    pairs = [part.partition("=") for part in text.split(";") if part.strip()]
    if any(not separator for _, separator, _ in pairs):
        raise error("STORAGE_CREDENTIALS", url=address.url, detail="a broken connection string")
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _base(domain: str) -> str:
    return re.sub("^(dfs|blob)[.]", "", domain)


def _first(environ: Mapping[str, str], *names: str) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def _secret(text: str | None) -> Secret | None:
    return Secret(text) if text else None
