"""A release has one version, pinned workflows and complete packages."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import indextables

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "packaging"), str(ROOT / "jvm")]
import release_check  # noqa: E402
import release_version  # noqa: E402
import third_party  # noqa: E402

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_version_is_the_engines():
    assert indextables.__version__ == release_version.version()
    project = (ROOT / "pyproject.toml").read_text("utf-8").partition("[project]")[2]
    assert not re.search(r"^version =", project.partition("[tool.")[0], re.MULTILINE)


def test_a_release_needs_its_tag_its_files_and_its_changes():
    version = release_version.version()
    name = f"indextables-{version}-cp311-abi3-manylinux_2_28_x86_64.whl"
    assert release_version.problems(f"v{version}", [name], f"## {version}\n") == []
    assert len(release_version.problems("v0.0.0", ["indextables-0.0.0.tar.gz"], "")) == 3
    assert "there is nothing to publish" in release_version.problems(f"v{version}", [], "")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_jobs_can_only_read(workflow: Path):
    text = workflow.read_text("utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert [u for u in used if not u.startswith("./") and not re.search(r"@[0-9a-f]{40}$", u)] == []
    assert re.search(r"^permissions:( \{\}|\n  contents: read)$", text, re.MULTILINE)
    assert "secrets." not in text


def _wheel(folder: Path, name: str, *files: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            archive.writestr(file, "")
    return path


def test_problems_of_a_wheel_are_named(tmp_path):
    info = "indextables-1.dist-info/"
    complete = (
        "indextables/_native.abi3.so", "indextables/jars/indextables-hooks.jar",
        f"{info}licenses/LICENSE", f"{info}licenses/licenses/THIRD-PARTY.txt",
        f"{info}sboms/engine.cyclonedx.json",
    )  # fmt: skip
    tag = "indextables-1-cp311-abi3-manylinux_2_28_x86_64.whl"
    assert release_check.wheel_problems(_wheel(tmp_path, tag, *complete)) == []
    assert len(release_check.wheel_problems(_wheel(tmp_path, tag))) == 5
    other = "indextables-1-cp311-cp311-linux_x86_64.whl"
    assert len(release_check.wheel_problems(_wheel(tmp_path, other, *complete))) == 1


def test_problems_of_an_sdist_are_named(tmp_path):
    with tarfile.open(tmp_path / "empty.tar.gz", "w:gz"):
        pass
    assert len(release_check.sdist_problems(tmp_path / "empty.tar.gz")) == 3


def test_licenses_are_listed_once_with_their_crates(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "LICENSE-MIT").write_text("the same text")
    packages = [
        {"name": name, "version": "1.0", "license": "MIT", "manifest_path": tmp_path / name / "C"}
        for name in ("one", "two")
    ]
    text = third_party.render(packages)
    assert text.count("the same text") == 1
    assert "one 1.0, two 1.0" in text


def test_pyspark_is_needed_to_build_only_without_the_jar(monkeypatch):
    import backend

    monkeypatch.setattr(backend.build, "is_fresh", lambda _: True)
    assert not any("pyspark" in need for need in backend.get_requires_for_build_wheel())
    monkeypatch.setattr(backend.build, "is_fresh", lambda _: False)
    assert any("pyspark" in need for need in backend.get_requires_for_build_wheel())
