"""The build backend: maturin's, with the jar and the third-party licenses added first.

An sdist contains the compiled jar, so building a wheel from it needs neither pyspark nor Java. In a
clone the jar is compiled by the Scala compiler of pyspark, which is then a build requirement.
"""

from __future__ import annotations

from typing import Any

import maturin
import third_party

import build

_JAR = build.ROOT / "python" / "indextables" / "jars" / "indextables-hooks.jar"
_COMPILER = "pyspark==4.3.0"


def _prepare() -> None:
    if not build.is_fresh(_JAR):
        build.compile_jar(_JAR)
    third_party.write()


def _requirements(wanted: list[str]) -> list[str]:
    return wanted if build.is_fresh(_JAR) else [*wanted, _COMPILER]


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:  # fmt: skip
    """Add the jar and the licenses, then let maturin compile the engine and pack the wheel."""
    _prepare()
    return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:  # fmt: skip
    """Do the same for `pip install -e .`."""
    _prepare()
    return str(maturin.build_editable(wheel_directory, config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Pack the sources together with the compiled jar."""
    _prepare()
    return str(maturin.build_sdist(sdist_directory, config_settings))


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: dict[str, Any] | None = None
) -> str:
    """Write the metadata, which lists the license files."""
    third_party.write()
    return str(maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings))


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what building a wheel needs: pyspark only if the jar has to be compiled."""
    return _requirements(maturin.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what an editable build needs."""
    return _requirements(maturin.get_requires_for_build_editable(config_settings))


def get_requires_for_build_sdist(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what building an sdist needs."""
    return _requirements(maturin.get_requires_for_build_sdist(config_settings))


if __name__ == "__main__":
    _prepare()
