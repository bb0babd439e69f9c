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
    "Access key of S3. Defaults to Hadoop's keys, the environment or the role of the host.",
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
    "URL of an S3-compatible server.",
    _GROUP,
    aliases=("aws.endpoint", "s3.serviceUrl"),
)
S3_PATH_STYLE = Option(
    "s3.pathStyleAccess",
    optional(BOOLEAN),
    default=None,
    doc="Put the bucket into the path of the URL instead of the host name. By default this is done "
    "for every server except Amazon's.",
    group=_GROUP,
    aliases=("aws.pathStyleAccess", "aws.forcePathStyle"),
)
AZURE_ACCOUNT = Option("azure.accountName", _TEXT, None, "Azure storage account.", _GROUP)
AZURE_KEY = Option("azure.accountKey", _SECRET, None, "Key of the account.", _GROUP, secret=True)
AZURE_CONNECTION_STRING = Option(
    "azure.connectionString",
    _SECRET,
    None,
    "Account, key and URL in one string.",
    _GROUP,
    secret=True,
)
AZURE_BEARER_TOKEN = Option("azure.bearerToken", _SECRET, None, "OAuth token.", _GROUP, secret=True)
AZURE_TENANT_ID = Option("azure.tenantId", _TEXT, None, "Tenant of the OAuth client.", _GROUP)
AZURE_CLIENT_ID = Option("azure.clientId", _TEXT, None, "Id of the OAuth client.", _GROUP)
AZURE_CLIENT_SECRET = Option(
    "azure.clientSecret", _SECRET, None, "Secret of the OAuth client.", _GROUP, secret=True
)
AZURE_ENDPOINT = Option("azure.endpoint", _TEXT, None, "URL of the account.", _GROUP)
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
GCP_ENDPOINT = Option("gcp.endpoint", _TEXT, None, "URL of the service.", _GROUP)
MAX_CONNECTIONS = Option(
    "cloud.maxConnections", integer(1), 50, "Open connections per store.", _GROUP
)
CONNECTION_TIMEOUT_MS = Option(
    "cloud.connectionTimeout", integer(1), 10_000, "Milliseconds to wait for a connection.", _GROUP
)
READ_TIMEOUT_MS = Option(
    "cloud.readTimeout", integer(1), 30_000, "Milliseconds to wait for a response.", _GROUP
)
RETRY_TIMEOUT_MS = Option(
    "cloud.retryTimeout",
    integer(1),
    120_000,
    "Milliseconds after which a request is not retried any more; together with `cloud.readTimeout` "
    "this limits the wait for a store that does not respond.",
    _GROUP,
)
MAX_RETRIES = Option(
    "cloud.maxRetries",
    integer(0),
    6,
    "Maximum retries of a request that was throttled or got no response, with growing pauses.",
    _GROUP,
)
HEDGE_AFTER_MS = Option(
    "cloud.hedgeAfter",
    integer(0),
    2_000,
    "Milliseconds after which a read of part of a file without a response is sent a second time; "
    "the first response is used. At most one read in twenty is sent twice. 0 turns it off.",
    _GROUP,
)
PROXY_URL = Option(
    "cloud.proxyUrl",
    _SECRET,
    None,
    "Proxy for requests to the store. Defaults to the environment's.",
    _GROUP,
    secret=True,
)
CREDENTIALS_PROVIDER = Option(
    "cloud.credentialsProvider",
    _TEXT,
    None,
    "Dotted name of a Python function or class that returns temporary credentials; it is called "
    "again before they expire.",
    _GROUP,
    aliases=("aws.credentialsProviderClass",),
)
DATABRICKS_WORKSPACE = Option(
    "databricks.workspaceUrl",
    _TEXT,
    None,
    "URL of a Databricks workspace or a Unity Catalog server. If it is set and no other "
    "credentials are, temporary credentials are requested from the catalog.",
    _GROUP,
)
DATABRICKS_TOKEN = Option(
    "databricks.apiToken", _SECRET, None, "Token to sign in to the catalog.", _GROUP, secret=True
)
DATABRICKS_CLIENT_ID = Option(
    "databricks.clientId",
    _TEXT,
    None,
    "OAuth client that signs in to the catalog, if there is no token.",
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
    "How long before it expires that token is renewed.",
    _GROUP,
)
DATABRICKS_INSECURE = Option(
    "databricks.oauth.allowInsecure",
    BOOLEAN,
    default=False,
    doc="Sign in to a catalog whose URL does not start with `https://`.",
    group=_GROUP,
)
DATABRICKS_BUFFER = Option(
    "databricks.credential.refreshBuffer.minutes",
    integer(0),
    40,
    "How long before they expire credentials of the catalog are renewed; a tenth of their lifetime "
    "if it is shorter than this.",
    _GROUP,
)
DATABRICKS_OPERATION = Option(
    "databricks.credential.operation",
    optional(choice("path_read", "path_read_write")),
    None,
    "Kind of credentials to request. Defaults to read and write, or read only if the catalog "
    "grants no more.",
    _GROUP,
)
DATABRICKS_CACHE_SIZE = Option(
    "databricks.cache.maxSize", integer(0), 100, "Cached credentials per process.", _GROUP
)
DATABRICKS_RETRIES = Option(
    "databricks.retry.attempts",
    integer(0),
    3,
    "Maximum retries of a request to a catalog that is busy or unreachable.",
    _GROUP,
)
MULTIPART_THRESHOLD = Option(
    "s3.multipartThreshold", SIZE, 16 << 20, "Larger splits are uploaded in parts.", _GROUP
)
PART_SIZE = Option(
    "s3.partSize",
    Parser(_part_size, "a size of at least 5M, such as `64M`"),
    16 << 20,
    "Size of the parts of an upload; larger if there would be too many.",
    _GROUP,
)
MAX_CONCURRENCY = Option(
    "s3.maxConcurrency", integer(1), 4, "Parts of one split uploaded concurrently.", _GROUP
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
