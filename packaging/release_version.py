"""Fail unless a tag, the version of the crate and the built files agree: TAG DIST."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def version() -> str:
    """Return the version of the package, which rust/Cargo.toml defines."""
    manifest = tomllib.loads((ROOT / "rust" / "Cargo.toml").read_text("utf-8"))
    return str(manifest["package"]["version"])


def problems(tag: str, files: list[str], changelog: str) -> list[str]:
    """Return what does not fit a release of the tag."""
    wanted = version()
    found = [] if tag == f"v{wanted}" else [f"the tag {tag} is not v{wanted}"]
    found += [f"{name} is not of {wanted}" for name in files if f"-{wanted}" not in name]
    found += [] if files else ["there is nothing to publish"]
    found += [] if f"## {wanted}" in changelog else [f"CHANGELOG.md has no section {wanted}"]
    return found


def main(tag: str, dist: str) -> int:
    """Print the problems and return the exit code."""
    names = sorted(path.name for path in Path(dist).iterdir())
    found = problems(tag, names, (ROOT / "CHANGELOG.md").read_text("utf-8"))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
