"""Keys of object stores: addresses and credentials."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    SIZE,
    TEXT,
    Option,
    Parser,
    choice,
    ignored,
    integer,
    optional,
)

_GROUP = "Storage"
_TEXT: Parser[str | None] = optional(TEXT)

AWS_ACCESS_KEY = Option(
    "aws.accessKey",
    _TEXT,
    None,
    "Access key of S3; unset, as AWS tools find it.",
    _GROUP,
    secret=True,
)
AWS_SECRET_KEY = Option("aws.secretKey", _TEXT, None, "Secret key of S3.", _GROUP, secret=True)
AWS_SESSION_TOKEN = Option(
    "aws.sessionToken",
    _TEXT,
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
    BOOLEAN,
    default=False,
    doc="Put the bucket into the path of the address and not before it.",
    group=_GROUP,
    aliases=("aws.pathStyleAccess", "aws.forcePathStyle"),
)
AZURE_ACCOUNT = Option("azure.accountName", _TEXT, None, "Storage account of Azure.", _GROUP)
AZURE_KEY = Option("azure.accountKey", _TEXT, None, "Key of the account.", _GROUP, secret=True)
AZURE_CONNECTION_STRING = Option(
    "azure.connectionString",
    _TEXT,
    None,
    "Account, key and address in one text.",
    _GROUP,
    secret=True,
)
AZURE_BEARER_TOKEN = Option(
    "azure.bearerToken", _TEXT, None, "Token of an OAuth sign-in.", _GROUP, secret=True
)
AZURE_TENANT_ID = Option("azure.tenantId", _TEXT, None, "Tenant of an OAuth client.", _GROUP)
AZURE_CLIENT_ID = Option("azure.clientId", _TEXT, None, "Name of an OAuth client.", _GROUP)
AZURE_CLIENT_SECRET = Option(
    "azure.clientSecret", _TEXT, None, "Secret of an OAuth client.", _GROUP, secret=True
)
AZURE_ENDPOINT = Option("azure.endpoint", _TEXT, None, "Address of the account.", _GROUP)
GCP_SERVICE_ACCOUNT_KEY = Option(
    "gcp.serviceAccountKey",
    _TEXT,
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
    "cloud.maxRetries", integer(0), 3, "How often a failed request is repeated.", _GROUP
)

_IGNORED = (
    *ignored(
        _GROUP,
        "Bucket and project come with the path or the key.",
        {"gcp.projectId": (_TEXT, None), "gcp.bucketName": (_TEXT, None)},
    ),
    *ignored(
        _GROUP,
        "Classes of the JVM cannot give credentials to the engine; set keys, or use what AWS "
        "tools find.",
        {"aws.credentialsProviderClass": (_TEXT, None)},
    ),
    *ignored(
        _GROUP,
        "Uploads are cut into parts by the engine.",
        {
            "s3.maxConcurrency": (integer(1), 4),
            "s3.maxQueueSize": (integer(1), 3),
            "s3.multipartThreshold": (SIZE, 200 << 20),
            "s3.partSize": (SIZE, 128 << 20),
            "s3.streamingThreshold": (SIZE, 100 << 20),
            "cloud.bufferSize": (SIZE, 16 << 20),
        },
    ),
    *ignored(
        _GROUP,
        "Credentials of Databricks Unity Catalog are not fetched.",
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
        secrets={"databricks.apiToken": (_TEXT, None), "databricks.clientSecret": (_TEXT, None)},
    ),
    *ignored(
        _GROUP,
        "Has no effect in the existing implementation either.",
        {"storage.force.standard": (BOOLEAN, False), "bloom.filters.enabled": (BOOLEAN, False)},
    ),
)

OPTIONS: tuple[Option[Any], ...] = (
    *(value for value in tuple(globals().values()) if isinstance(value, Option)),
    *_IGNORED,
)
