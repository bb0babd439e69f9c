"""A real Kerberos on loopback: a key distribution center with its own realm."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.stores.servers import free_port, wait_for_port

REALM = "SHIPS.TEST"
HOST = f"hdfs/localhost@{REALM}"
WEB = f"HTTP/localhost@{REALM}"
USER = f"me@{REALM}"
# folders that are on root's PATH only
_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
_CLIENT = """[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
[realms]
{realm} = {{
  kdc = 127.0.0.1:{port}
}}
"""
_SERVER = """[kdcdefaults]
kdc_listen = 127.0.0.1:{port}
kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  supported_enctypes = aes256-cts-hmac-sha1-96:normal
}}
"""


def is_installed() -> bool:
    return all(shutil.which(name, path=_PATH) for name in ("krb5kdc", "kadmin.local", "kinit"))


@dataclass
class Kerberos:
    """A realm with the services of HDFS and one user, all in one keytab."""

    folder: Path
    environ: dict[str, str]
    process: subprocess.Popen

    @property
    def keys(self) -> str:
        return str(self.folder / "keytab")

    def run(self, *command: str, **more: str) -> None:
        environ = {**os.environ, **self.environ, **more, "PATH": _PATH}
        subprocess.run(command, env=environ, check=True, capture_output=True)

    def ticket(self, cache: Path) -> dict[str, str]:
        """The environment of a program with a ticket of the user."""
        self.run("kinit", "-kt", self.keys, USER, KRB5CCNAME=str(cache))
        return {**self.environ, "KRB5CCNAME": str(cache)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def start(folder: Path) -> Kerberos:
    port = free_port()
    for name, text in (("krb5.conf", _CLIENT), ("kdc.conf", _SERVER)):
        (folder / name).write_text(text.format(realm=REALM, port=port, folder=folder))
    environ = {
        "KRB5_CONFIG": str(folder / "krb5.conf"),
        "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
    }
    everything = {**os.environ, **environ, "PATH": _PATH}
    create = ["kdb5_util", "create", "-s", "-r", REALM, "-P", "secret"]
    subprocess.run(create, env=everything, check=True, capture_output=True)
    with (folder / "kdc.log").open("wb") as log:
        process = subprocess.Popen(["krb5kdc", "-n"], env=everything, stdout=log, stderr=log)
    found = Kerberos(folder, environ, process)
    for name in (HOST, WEB, USER):
        found.run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {name}")
        found.run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {found.keys} {name}")
    wait_for_port(process, port, folder / "kdc.log")
    return found
