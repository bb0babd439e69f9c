"""The client configuration of a Hadoop cluster, as the files of HADOOP_CONF_DIR have it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from indextables.errors import error

_FILES = ("core-site.xml", "hdfs-site.xml")


def hadoop_files(environ: Mapping[str, str]) -> dict[str, str]:
    """The keys that the files set; the later file wins."""
    folder = environ.get("HADOOP_CONF_DIR")
    found: dict[str, str] = {}
    for name in _FILES if folder else ():
        found |= _read(Path(folder or "") / name)
    return found


def _read(file: Path) -> dict[str, str]:
    try:
        # the administrator of this machine wrote it, as Spark's own configuration
        root = ET.parse(file).getroot()  # noqa: S314
    except FileNotFoundError:
        return {}
    except (OSError, ET.ParseError) as cause:
        raise error("STORAGE_BAD_URL", url=str(file), detail=str(cause)) from None
    pairs = ((p.findtext("name"), p.findtext("value")) for p in root.iter("property"))
    return {name.strip(): (value or "").strip() for name, value in pairs if name}
