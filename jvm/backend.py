"""The build backend: maturin's, with the jar compiled first.

`pip install .` must yield a working package, and the jar is part of it. The Scala compiler comes
with pyspark, which is a build requirement for that reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import maturin

import build

_ROOT = Path(__file__).resolve().parents[1]
_JAR = _ROOT / "python" / "indextables" / "jars" / "indextables-hooks.jar"


def _compile_jar() -> None:
    if not build.is_fresh(_JAR):
        build.compile_jar(_JAR)


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:  # fmt: skip
    """Compile the jar, then let maturin compile the engine and pack the wheel."""
    _compile_jar()
    return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:  # fmt: skip
    """The same for `pip install -e .`."""
    _compile_jar()
    return str(maturin.build_editable(wheel_directory, config_settings, metadata_directory))


build_sdist = maturin.build_sdist
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_wheel
get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_editable = maturin.get_requires_for_build_editable
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
