"""Keys of object stores: addresses and credentials."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    SECRET,
    SIZE,
    TEXT,
    Option,
    Parser,
    choice,
    ignored,
    integer,
    optional,
)
from indextables.config.secret import Secret

_GROUP = "Storage"
_TEXT: Parser[str | None] = optional(TEXT)
_SECRET: Parser[Secret | None] = optional(SECRET)


def _part_size(text: str) -> int:
    size = SIZE.parse(text)
    if size < 5 << 20:
        raise ValueError(text)
    return size


AWS_ACCESS_KEY = Option(
    "aws.accessKey",
    _SECRET,
    None,
    "Access key of S3; unset, from Hadoop's keys, the environment or the machine's role.",
    _GROUP,
    secret=True,
)
AWS_SECRET_KEY = Option("aws.secretKey", _SECRET, None, "Secret key of S3.", _GROUP, secret=True)
AWS_SESSION_TOKEN = Option(
    "aws.sessionToken",
    _SECRET,
    None,
    "Session token of temporary S3 credentials.",
    _GROUP,
    secret=True,
)
AWS_REGION = Option("aws.region", _TEXT, None, "Region of the bucket.", _GROUP)
S3_ENDPOINT = Option(
    "s3.endpoint",
    _TEXT,
    None,
    "Address of an S3-compatible server.",
    _GROUP,
    aliases=("aws.endpoint", "s3.serviceUrl"),
)
S3_PATH_STYLE = Option(
    "s3.pathStyleAccess",
    optional(BOOLEAN),
    default=None,
    doc="Put the bucket into the path of the address and not before it; unset, for every server "
    "but Amazon's.",
    group=_GROUP,
    aliases=("aws.pathStyleAccess", "aws.forcePathStyle"),
)
AZURE_ACCOUNT = Option("azure.accountName", _TEXT, None, "Storage account of Azure.", _GROUP)
AZURE_KEY = Option("azure.accountKey", _SECRET, None, "Key of the account.", _GROUP, secret=True)
AZURE_CONNECTION_STRING = Option(
    "azure.connectionString",
    _SECRET,
    None,
    "Account, key and address in one text.",
    _GROUP,
    secret=True,
)
AZURE_BEARER_TOKEN = Option(
    "azure.bearerToken", _SECRET, None, "Token of an OAuth sign-in.", _GROUP, secret=True
)
AZURE_TENANT_ID = Option("azure.tenantId", _TEXT, None, "Tenant of an OAuth client.", _GROUP)
AZURE_CLIENT_ID = Option("azure.clientId", _TEXT, None, "Name of an OAuth client.", _GROUP)
AZURE_CLIENT_SECRET = Option(
    "azure.clientSecret", _SECRET, None, "Secret of an OAuth client.", _GROUP, secret=True
)
AZURE_ENDPOINT = Option("azure.endpoint", _TEXT, None, "Address of the account.", _GROUP)
GCP_SERVICE_ACCOUNT_KEY = Option(
    "gcp.serviceAccountKey",
    _SECRET,
    None,
    "Service account key of Google Cloud, as JSON.",
    _GROUP,
    secret=True,
)
GCP_CREDENTIALS_FILE = Option(
    "gcp.credentialsFile", _TEXT, None, "File with a service account key.", _GROUP
)
GCP_ENDPOINT = Option("gcp.endpoint", _TEXT, None, "Address of the service.", _GROUP)
MAX_CONNECTIONS = Option(
    "cloud.maxConnections", integer(1), 50, "Connections held open to one store.", _GROUP
)
CONNECTION_TIMEOUT_MS = Option(
    "cloud.connectionTimeout", integer(1), 10_000, "Milliseconds to wait for a connection.", _GROUP
)
READ_TIMEOUT_MS = Option(
    "cloud.readTimeout", integer(1), 30_000, "Milliseconds to wait for an answer.", _GROUP
)
MAX_RETRIES = Option(
    "cloud.maxRetries",
    integer(0),
    6,
    "How often a request is repeated that was throttled or got no answer, with growing pauses.",
    _GROUP,
)
PROXY_URL = Option(
    "cloud.proxyUrl",
    _SECRET,
    None,
    "Proxy for requests to the store; unset, as the environment says.",
    _GROUP,
    secret=True,
)
CREDENTIALS_PROVIDER = Option(
    "cloud.credentialsProvider",
    _TEXT,
    None,
    "Dotted name of a Python function or class that gives temporary credentials; it is asked "
    "again before they expire.",
    _GROUP,
    aliases=("aws.credentialsProviderClass",),
)
MULTIPART_THRESHOLD = Option(
    "s3.multipartThreshold", SIZE, 16 << 20, "Splits above this size are sent in parts.", _GROUP
)
PART_SIZE = Option(
    "s3.partSize",
    Parser(_part_size, "a size of at least 5M, such as `64M`"),
    16 << 20,
    "Size of the parts of an upload; larger when there would be too many.",
    _GROUP,
)
MAX_CONCURRENCY = Option(
    "s3.maxConcurrency", integer(1), 4, "Parts of one split sent at the same time.", _GROUP
)

_IGNORED = (
    *ignored(
        _GROUP,
        "Has no effect of its own; handed to the credentials provider with the other storage keys.",
        {
            "databricks.workspaceUrl": (_TEXT, None),
            "databricks.clientId": (_TEXT, None),
            "databricks.oauth.scope": (TEXT, "all-apis"),
            "databricks.oauth.refreshBuffer.seconds": (integer(0), 600),
            "databricks.oauth.allowInsecure": (BOOLEAN, False),
            "databricks.credential.refreshBuffer.minutes": (integer(0), 40),
            "databricks.credential.operation": (
                choice("path_read", "path_read_write"),
                "path_read",
            ),
            "databricks.cache.maxSize": (integer(0), 100),
            "databricks.retry.attempts": (integer(0), 3),
        },
        secrets={
            "databricks.apiToken": (_SECRET, None),
            "databricks.clientSecret": (_SECRET, None),
        },
    ),
)

OPTIONS: tuple[Option[Any], ...] = (
    *(value for value in tuple(globals().values()) if isinstance(value, Option)),
    *_IGNORED,
)
