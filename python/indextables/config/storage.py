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
RETRY_TIMEOUT_MS = Option(
    "cloud.retryTimeout",
    integer(1),
    120_000,
    "Milliseconds after which a request is not repeated again; with `cloud.readTimeout` it bounds "
    "how long a store that hangs is waited for.",
    _GROUP,
)
MAX_RETRIES = Option(
    "cloud.maxRetries",
    integer(0),
    6,
    "How often a request is repeated that was throttled or got no answer, with growing pauses.",
    _GROUP,
)
HEDGE_AFTER_MS = Option(
    "cloud.hedgeAfter",
    integer(0),
    2_000,
    "Milliseconds after which a read of a part of a file that has no response yet is sent once "
    "more; the first response is used. At most one read in twenty is sent twice. 0 turns it off.",
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
DATABRICKS_WORKSPACE = Option(
    "databricks.workspaceUrl",
    _TEXT,
    None,
    "Address of a Databricks workspace or a Unity Catalog server; where it is set and no other "
    "credentials are given, the catalog is asked for temporary ones.",
    _GROUP,
)
DATABRICKS_TOKEN = Option(
    "databricks.apiToken", _SECRET, None, "Token to sign in to the catalog.", _GROUP, secret=True
)
DATABRICKS_CLIENT_ID = Option(
    "databricks.clientId",
    _TEXT,
    None,
    "OAuth client that signs in to the catalog, where no token is given.",
    _GROUP,
)
DATABRICKS_CLIENT_SECRET = Option(
    "databricks.clientSecret", _SECRET, None, "Secret of that client.", _GROUP, secret=True
)
DATABRICKS_SCOPE = Option(
    "databricks.oauth.scope", TEXT, "all-apis", "Scope of that client's token.", _GROUP
)
DATABRICKS_TOKEN_BUFFER = Option(
    "databricks.oauth.refreshBuffer.seconds",
    integer(0),
    600,
    "How long before its end that token is replaced.",
    _GROUP,
)
DATABRICKS_INSECURE = Option(
    "databricks.oauth.allowInsecure",
    BOOLEAN,
    default=False,
    doc="Sign in to a catalog whose address does not start with `https://`.",
    group=_GROUP,
)
DATABRICKS_BUFFER = Option(
    "databricks.credential.refreshBuffer.minutes",
    integer(0),
    40,
    "How long before their end credentials of the catalog are replaced; a tenth of their life, if "
    "they live shorter than this.",
    _GROUP,
)
DATABRICKS_OPERATION = Option(
    "databricks.credential.operation",
    optional(choice("path_read", "path_read_write")),
    None,
    "What credentials are asked for; unset, to read and write, or to read where the catalog grants "
    "no more.",
    _GROUP,
)
DATABRICKS_CACHE_SIZE = Option(
    "databricks.cache.maxSize", integer(0), 100, "Tables whose credentials a process holds.", _GROUP
)
DATABRICKS_RETRIES = Option(
    "databricks.retry.attempts",
    integer(0),
    3,
    "How often a request to the catalog is repeated when it is busy or out of reach.",
    _GROUP,
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

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
