"""Collect the licenses of the Rust crates inside the engine into `licenses/THIRD-PARTY.txt`.

The file is part of the wheel and the sdist. It is generated from the locked dependencies, so it is
not in version control. An sdist already contains it.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "licenses" / "THIRD-PARTY.txt"
_MANIFEST = ROOT / "rust" / "Cargo.toml"
_NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")
_WIDTH = 78


def crates() -> list[dict[str, Any]]:
    """Return the crates that are compiled into the engine, sorted by name."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--features", "python"]
    done = subprocess.run(  # noqa: S603
        [*command, "--manifest-path", str(_MANIFEST)], check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    used, waiting = set(), [found["resolve"]["root"]]
    while waiting:
        current = waiting.pop()
        if current in used:
            continue
        used.add(current)
        waiting += [edge["pkg"] for edge in nodes[current]["deps"] if _is_linked(edge)]
    used.remove(found["resolve"]["root"])
    packages = [package for package in found["packages"] if package["id"] in used]
    return sorted(packages, key=lambda package: (package["name"], package["version"]))


def _is_linked(edge: dict[str, Any]) -> bool:
    """Whether a dependency ends up in the engine: not one of tests or of build scripts."""
    return any(kind["kind"] is None for kind in edge["dep_kinds"])


def license_texts(package: dict[str, Any]) -> list[str]:
    """Return the license and notice files that a crate ships."""
    folder = Path(package["manifest_path"]).parent
    files = [path for path in sorted(folder.iterdir()) if path.name.upper().startswith(_NAMES)]
    return [path.read_text("utf-8", errors="replace").strip() for path in files if path.is_file()]


def render(packages: list[dict[str, Any]]) -> str:
    """Render the list of crates, then each license text once with the crates it belongs to."""
    owners: dict[str, list[str]] = defaultdict(list)
    lines = ["The native engine of IndexTables contains these Rust crates.", ""]
    for package in packages:
        label = f"{package['name']} {package['version']}"
        lines.append(f"{label}: {package['license'] or 'see its license file'}")
        for text in license_texts(package):
            owners[text].append(label)
    for text, labels in owners.items():
        lines += ["", "=" * _WIDTH, ", ".join(labels), "=" * _WIDTH, "", text]
    return "\n".join(lines) + "\n"


def write() -> None:
    """Write the file; an sdist, which has no lock of its own to change, keeps the one it has."""
    if FILE.exists() and not (ROOT / ".git").exists():
        return
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(render(crates()), encoding="utf-8")


if __name__ == "__main__":
    write()
