"""The rules for planning a connection to a store."""

from __future__ import annotations

import json
import pickle

import pytest

from indextables.config.secret import Secret
from indextables.config.settings import resolve
from indextables.errors import StorageError
from indextables.storage.connection import plan_connection, plan_reading, reveal

KEYS = {"aws.accessKey": "AK", "aws.secretKey": "SK"}
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "env-ak",
    "AWS_SECRET_ACCESS_KEY": "env-sk",
    "AWS_SESSION_TOKEN": "env-token",
    "AWS_REGION": "eu-west-3",
}


def config(url, options=None, session=None, environ=None):
    return reveal(plan_connection(url, resolve(options, session), environ or {}).config)


def test_credentials_come_whole_from_the_nearest_place_when_several_have_some():
    hadoop = {"spark.hadoop.fs.s3a.access.key": "h-ak", "spark.hadoop.fs.s3a.secret.key": "h-sk"}
    found = config("s3://b/t", KEYS, hadoop, ENVIRONMENT)
    assert (found["aws_access_key_id"], found["aws_secret_access_key"]) == ("AK", "SK")
    # the session token of the environment belongs to the environment's access key
    assert "aws_session_token" not in found
    assert found["aws_region"] == "eu-west-3"
    found = config("s3://b/t", {}, hadoop, ENVIRONMENT)
    assert (found["aws_access_key_id"], found.get("aws_session_token")) == ("h-ak", None)
    found = config("s3://b/t", {}, {}, ENVIRONMENT)
    assert (found["aws_access_key_id"], found["aws_session_token"]) == ("env-ak", "env-token")


def test_keys_of_a_bucket_win_when_hadoop_has_both():
    session = {
        "fs.s3a.bucket.b.access.key": "b-ak",
        "fs.s3a.bucket.b.secret.key": "b-sk",
        "fs.s3a.access.key": "ak",
        "fs.s3a.secret.key": "sk",
        "fs.s3a.bucket.b.endpoint": "store.example:9000",
        "fs.s3a.connection.ssl.enabled": "false",
    }
    found = config("s3a://b/t", session)
    assert found["aws_access_key_id"] == "b-ak"
    assert found["aws_endpoint_url_s3"] == "http://store.example:9000"
    assert config("s3a://c/t", session)["aws_access_key_id"] == "ak"


def test_the_role_of_the_machine_is_used_when_nobody_gives_keys():
    environ = {"AWS_ROLE_ARN": "arn:x", "AWS_WEB_IDENTITY_TOKEN_FILE": "/token", "AWS_OTHER": "x"}
    found = config("s3://b/t", environ=environ)
    assert found["aws_role_arn"] == "arn:x"
    assert not [key for key in found if "other" in key or "access_key" in key]


def test_half_a_credential_is_refused_when_the_other_half_is_elsewhere():
    with pytest.raises(StorageError) as caught:
        config("s3://b/t", {"aws.accessKey": "AK"}, environ=ENVIRONMENT)
    assert caught.value.code == "STORAGE_CREDENTIALS"


def test_requests_are_not_signed_when_hadoop_says_anonymous():
    provider = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
    found = config("s3a://b/t", {"fs.s3a.aws.credentials.provider": provider}, environ=ENVIRONMENT)
    assert found["aws_skip_signature"] == "true"
    assert "aws_access_key_id" not in found


@pytest.mark.parametrize(
    ("options", "endpoint", "hosted"),
    [
        ({}, None, "true"),
        ({"s3.pathStyleAccess": "true"}, None, "false"),
        ({"s3.endpoint": "http://127.0.0.1:9000"}, "http://127.0.0.1:9000", "false"),
        ({"aws.endpoint": "https://minio.example/"}, "https://minio.example", "false"),
        (
            {"s3.serviceUrl": "https://minio.example", "aws.pathStyleAccess": "false"},
            "https://b.minio.example",
            "true",
        ),
        (
            {"s3.endpoint": "https://s3.eu-west-1.amazonaws.com"},
            "https://b.s3.eu-west-1.amazonaws.com",
            "true",
        ),
        (
            {"s3.endpoint": "http://127.0.0.1:9000", "s3.pathStyleAccess": "false"},
            "http://127.0.0.1:9000",
            "false",
        ),
    ],
)
def test_the_bucket_goes_into_path_or_host_when_the_endpoint_asks_for_it(options, endpoint, hosted):
    found = config("s3://b/t", options)
    assert found.get("aws_endpoint_url_s3") == endpoint
    assert found["aws_virtual_hosted_style_request"] == hosted


def test_plain_http_is_allowed_only_when_the_endpoint_says_so():
    def client(url, options):
        return reveal(plan_connection(url, resolve(options), {}).client)

    assert client("s3://b/t", KEYS)["allow_http"] == "false"
    assert client("s3://b/t", {"s3.endpoint": "https://h"})["allow_http"] == "false"
    assert client("s3://b/t", {"s3.endpoint": "http://h"})["allow_http"] == "true"
    assert client("gs://b/t", {"gcp.endpoint": "http://h"})["allow_http"] == "true"
    assert "allow_invalid_certificates" not in client("s3://b/t", KEYS)


def test_hadoop_proxy_is_used_when_set():
    session = {"fs.s3a.proxy.host": "p", "fs.s3a.proxy.port": "8080"}
    assert reveal(plan_connection("s3a://b/t", resolve(session), {}).client)["proxy_url"] == (
        "http://p:8080"
    )


AZURE = "abfss://c@acc.dfs.core.windows.net/t"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"azure.accountKey": "k"}, {"azure_storage_account_key": "k"}),
        ({"azure.bearerToken": "b"}, {"azure_storage_token": "b"}),
        (
            {"azure.clientId": "i", "azure.clientSecret": "s", "azure.tenantId": "t"},
            {"azure_client_id": "i", "azure_client_secret": "s", "azure_tenant_id": "t"},
        ),
        (
            {"azure.connectionString": "AccountName=acc;AccountKey=k==;BlobEndpoint=http://h/acc/"},
            {"azure_storage_account_key": "k==", "azure_storage_endpoint": "http://h/acc"},
        ),
        (
            {"azure.connectionString": "AccountName=acc;SharedAccessSignature=sv=1&sig=2"},
            {"azure_storage_sas_token": "sv=1&sig=2"},
        ),
        (
            {"fs.azure.account.key.acc.dfs.core.windows.net": "h"},
            {"azure_storage_account_key": "h"},
        ),
        (
            {"spark.hadoop.fs.azure.account.key.acc.blob.core.windows.net": "h"},
            {"azure_storage_account_key": "h"},
        ),
        ({"fs.azure.sas.c.acc.blob.core.windows.net": "s"}, {"azure_storage_sas_token": "s"}),
        (
            {
                "fs.azure.account.oauth2.client.id": "i",
                "fs.azure.account.oauth2.client.secret": "s",
                "fs.azure.account.oauth2.client.endpoint": "https://login/ten/oauth2/token",
            },
            {"azure_client_id": "i", "azure_client_secret": "s", "azure_tenant_id": "ten"},
        ),
    ],
)
def test_azure_credentials_are_found_when_spelled_so(options, wanted):
    found = config(AZURE, options, environ={"AZURE_STORAGE_ACCOUNT_KEY": "environment"})
    account = {"azure_storage_account_name": "acc", "azure_skip_signature": "false"}
    assert found == account | wanted


def test_azure_environment_is_used_when_nothing_else_is_set():
    found = config("azure://c/t", environ={"AZURE_STORAGE_ACCOUNT": "a", "AZURE_STORAGE_KEY": "k"})
    assert (found["azure_storage_account_name"], found["azure_storage_account_key"]) == ("a", "k")
    with pytest.raises(StorageError, match="account"):
        config("azure://c/t")


def test_other_clouds_have_their_own_endpoint_when_the_address_names_them():
    found = config("wasbs://c@acc.blob.core.chinacloudapi.cn/t", {"azure.accountKey": "k"})
    assert found["azure_storage_endpoint"] == "https://acc.blob.core.chinacloudapi.cn"
    found = config("abfss://w@onelake.dfs.fabric.microsoft.com/t", {"azure.bearerToken": "k"})
    assert found["azure_use_fabric_endpoint"] == "true"


def test_google_credentials_are_found_when_spelled_so():
    assert config("gs://b/t", {"gcp.serviceAccountKey": "{}"}) == {
        "google_service_account_key": "{}"
    }
    assert config("gs://b/t", {"gcp.credentialsFile": "/f"}) == {"google_service_account": "/f"}
    hadoop = {"fs.gs.auth.service.account.json.keyfile": "/g"}
    assert config("gs://b/t", hadoop) == {"google_service_account": "/g"}
    environ = {"GOOGLE_APPLICATION_CREDENTIALS": "/h"}
    assert config("gs://b/t", environ=environ) == {"google_application_credentials": "/h"}


def test_the_engine_gets_every_option_when_a_store_is_opened():
    connection = plan_connection("s3://b/a t", resolve(KEYS | {"cloud.maxRetries": "9"}), {})
    address, text = connection.native()
    options = json.loads(text)
    assert address == "s3://b/a%20t"
    shared = reveal(connection.config) | reveal(connection.client)
    assert shared.items() <= options.items()
    assert options["retry_max"] == 9
    assert "cloud.maxRetries (9)" in options["limits"]
    assert options["redact"] == sorted(connection.secrets())
    assert options["upload_part_bytes"] == 16 << 20
    assert options["read_gap_bytes"] == 512 << 10


def test_reads_are_joined_by_the_profile_when_no_key_overrides_it():
    batch = "read.batchOptimization."
    balanced = plan_reading(resolve({}))
    assert balanced == {
        "read_range_bytes": 16 << 20,
        "read_gap_bytes": 512 << 10,
        "read_least_ranges": 50,
        "read_concurrency": 8,
    }
    changed = resolve({f"{batch}profile": "aggressive", f"{batch}gapTolerance": "1M"})
    assert plan_reading(changed) == {
        "read_range_bytes": 64 << 20,
        "read_gap_bytes": 1 << 20,
        "read_least_ranges": 10,
        "read_concurrency": 16,
    }
    general = {"cache.coalesceMaxGap": "2M", "cache.maxConcurrentLoads": "3"}
    planned = plan_reading(resolve(general))
    assert (planned["read_gap_bytes"], planned["read_concurrency"]) == (2 << 20, 3)
    nearer = {f"{batch}gapTolerance": "1M", f"{batch}maxConcurrentPrefetch": "5"}
    planned = plan_reading(resolve(general | nearer))
    assert (planned["read_gap_bytes"], planned["read_concurrency"]) == (1 << 20, 5)
    for off in ({f"{batch}enabled": "false"}, {f"{batch}profile": "disabled"}):
        assert plan_reading(resolve(off)) == {"read_gap_bytes": 0}


def test_no_secret_shows_when_a_connection_is_printed():
    options = KEYS | {"fs.s3a.session.token": "hush", "databricks.apiToken": "hush"}
    options |= {"aws.secretKey": "hush", "cloud.proxyUrl": "http://u:hush@p", "cloud.x": "y"}
    options["cloud.credentialsProvider"] = "a.b"
    settings = resolve(options)
    connection = plan_connection("s3://b/t", settings, {})
    assert "hush" not in repr(connection) + repr(settings) + repr(settings.hadoop)
    assert set(connection.secrets()) >= {"hush", "http://u:hush@p"}


def test_a_secret_never_prints_when_formatted():
    secret = Secret("hush")
    shown = [str(secret), repr(secret), f"{secret}", f"{secret!s:>20}", "%s" % secret]  # noqa: UP031
    shown += [repr({"k": secret}), repr([secret])]
    assert not [text for text in shown if "hush" in text]
    assert pickle.loads(pickle.dumps(secret)) == secret
    assert len({secret, Secret("hush"), Secret("other")}) == 2
    with pytest.raises(TypeError):
        json.dumps(secret)
