"""The client configuration of a Hadoop cluster, from the files of HADOOP_CONF_DIR."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from indextables.errors import error

_FILES = ("core-site.xml", "hdfs-site.xml")
_VARIABLE = re.compile(r"\$\{([^}$\s]+)\}")
# Hadoop's own limit for nested variables
_DEPTH = 20


def hadoop_files(environ: Mapping[str, str]) -> dict[str, str]:
    """The keys that the files set, variables replaced; the later file wins."""
    folder = environ.get("HADOOP_CONF_DIR")
    if not folder and environ.get("HADOOP_HOME"):
        folder = f"{environ['HADOOP_HOME']}/etc/hadoop"
    found: dict[str, str] = {}
    for name in _FILES if folder else ():
        found |= _read(Path(folder or "") / name)
    return {key: _expand(value, found, environ) for key, value in found.items()}


def _read(file: Path) -> dict[str, str]:
    from xml.etree import ElementTree as ET

    try:
        # written by the administrator of this host, like Spark's own configuration
        root = ET.parse(file).getroot()  # noqa: S314
    except FileNotFoundError:
        return {}
    except (OSError, ET.ParseError) as cause:
        raise error("STORAGE_BAD_URL", url=str(file), detail=str(cause)) from None
    pairs = ((p.findtext("name"), p.findtext("value")) for p in root.iter("property"))
    return {name.strip(): (value or "").strip() for name, value in pairs if name}


def _expand(value: str, found: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """A value with `${key}` and `${env.NAME}` replaced; unknown variables stay."""
    for _ in range(_DEPTH):
        variable = _VARIABLE.search(value)
        if variable is None:
            break
        name = variable[1]
        known = environ.get(name[4:]) if name.startswith("env.") else found.get(name)
        if known is None:
            break
        value = value[: variable.start()] + known + value[variable.end() :]
    return value
