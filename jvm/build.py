"""Compile the hooks into one jar with the Scala compiler in pyspark.

Only a Java runtime is needed. The same sources produce the same jar, byte for byte. It contains
their digest, so that a stale jar is never packed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
_EPOCH = (1980, 1, 1, 0, 0, 0)
_DIGEST = "META-INF/indextables-sources.sha256"


def sources_digest() -> str:
    """Return a digest of everything that goes into the jar."""
    digest = hashlib.sha256()
    folders = (HERE / "services", HERE / "resources")
    packed = (path for folder in folders for path in folder.iterdir())
    for path in sorted([*(HERE / "src").glob("*.scala"), *packed]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_fresh(jar: Path) -> bool:
    """Whether a jar was built from the current sources."""
    if not jar.exists():
        return False
    with zipfile.ZipFile(jar) as archive:
        return _DIGEST in archive.namelist() and archive.read(_DIGEST).decode() == sources_digest()


def spark_jars() -> Path:
    """The jars of the installed pyspark: the compiler and everything to compile against."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise SystemExit("pyspark is not installed: run `make setup`")
    return Path(found.origin).parent / "jars"


def compile_sources(classes: Path) -> None:
    """Compile every Scala file below `src` into a folder."""
    sources = sorted(str(path) for path in (HERE / "src").glob("*.scala"))
    flags = ["-deprecation:false", "-Xlint:-unused,_", "-Wconf:any:s", "-usejavacp"]
    command = ["java", "-Xss8m", "-Xmx1g", "-cp", f"{spark_jars()}/*", "scala.tools.nsc.Main"]
    done = subprocess.run([*command, *flags, "-d", str(classes), *sources], check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.returncode)


def pack(classes: Path, jar: Path) -> None:
    """Zip the classes and service files in a fixed order with a fixed date."""
    found = {str(path.relative_to(classes)): path for path in classes.rglob("*.class")}
    found |= {f"META-INF/services/{path.name}": path for path in (HERE / "services").iterdir()}
    found |= {f"indextables/{path.name}": path for path in (HERE / "resources").iterdir()}
    files = {name: path.read_bytes() for name, path in found.items()}
    files[_DIGEST] = sources_digest().encode()
    jar.parent.mkdir(parents=True, exist_ok=True)
    fresh = jar.with_suffix(".new")
    with zipfile.ZipFile(fresh, "w") as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    fresh.replace(jar)


def compile_jar(jar: Path) -> None:
    """Build the jar at this path."""
    with tempfile.TemporaryDirectory() as folder:
        compile_sources(Path(folder))
        pack(Path(folder), jar)


if __name__ == "__main__":
    compile_jar(Path(sys.argv[1]))
