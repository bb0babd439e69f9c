"""Try the built wheel and sdist as a user would: in empty environments, without a compiler.

    python packaging/release_check.py DIST [--spark VERSION] [--wheel-only]

The wheel goes into a new virtual environment with pyspark. There the example of README.md, the
doctor, the demo, the command line, Spark Connect, a packed environment and plain Python run, with a
PATH that has Java but no compiler. The sdist must contain the jar, so that building it does
not need pyspark.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_SPARK = "4.3.0"
_TOOLS = "java bash sh env dirname ps uname ls readlink rm chmod id whoami groups cat tr tar gzip"
# the largest wheel we publish; PyPI takes 100 MB
_BUDGET_MB = 30
_ALLOWED = re.compile(r"-cp311-abi3-(manylinux_2_\d+_\w+|macosx_\d+_\d+_\w+|linux_\w+)\.whl$")

PLAIN = """
import pyarrow as pa, indextables, sys
rows = pa.table({"id": [1, 2], "message": ["timeout of payment", "cart opened"]})
indextables.write(rows, "/tmp/plain", options={"indexing.typemap.message": "text"})
assert indextables.open("/tmp/plain").search("timeout").num_rows == 1
assert "pyspark" not in sys.modules
"""

CONNECT = """
import indextables
from pyspark.sql import SparkSession
builder = SparkSession.builder.remote("local[1]")
for key, value in indextables.spark_conf().items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
spark.createDataFrame([(1, "timeout"), (2, "cart")], "id long, message string").write.format(
    "indextables").option("indexing.typemap.message", "text").save("/tmp/connect")
found = spark.sql("SELECT id FROM indextables.`/tmp/connect` WHERE message indexquery 'timeout'")
assert [row.id for row in found.collect()] == [1]
spark.stop()
"""

# tasks run in an environment that travels as an archive, as docs/guides/clusters.md shows it
ARCHIVE = """
import os
os.environ["PYSPARK_PYTHON"] = "./environment/bin/python"
import indextables
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local-cluster[1,1,1024]")
builder = builder.config("spark.archives", "/tmp/env.tar.gz#environment")
spark = indextables.configure(builder).getOrCreate()
spark.range(90).write.format("indextables").save("/tmp/archive")
found = spark.read.format("indextables").option("read.local.enabled", "false").load("/tmp/archive")
assert sorted(row.id for row in found.collect()) == list(range(90))
python = spark.sparkContext.range(1).map(lambda _: __import__("sys").executable).first()
assert python.endswith("/environment/bin/python"), python
spark.stop()
"""


def wheel_problems(wheel: Path) -> list[str]:
    """Return what is wrong with the wheel itself: tag, size, contents."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    size = wheel.stat().st_size / 1e6
    wanted = {
        "the engine": "indextables/_native.abi3.so",
        "the jar": "indextables/jars/indextables-hooks.jar",
        "the license": "licenses/LICENSE",
        "licenses of crates": "licenses/licenses/THIRD-PARTY.txt",
        "an SBOM": ".cyclonedx.json",
    }
    found = [] if _ALLOWED.search(wheel.name) else [f"unexpected tag: {wheel.name}"]
    found += [f"{size:.1f} MB is more than {_BUDGET_MB}"] if size > _BUDGET_MB else []
    for what, end in wanted.items():
        found += [] if any(name.endswith(end) for name in names) else [f"{what} is missing"]
    return found


def sdist_problems(sdist: Path) -> list[str]:
    """Return what is missing in the sdist to build it without pyspark."""
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    wanted = ("indextables-hooks.jar", "packaging/backend.py", "licenses/THIRD-PARTY.txt")
    return [f"{end} is missing" for end in wanted if not any(n.endswith(end) for n in names)]


def readme_example() -> str:
    """Return the first Python block of README.md."""
    text = (ROOT / "README.md").read_text("utf-8")
    found = re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit("README.md has no Python example")
    return found[1]


class Environment:
    """A virtual environment with the wheel, whose PATH has Java and nothing else."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        self.work = folder / "work"
        venv.create(folder / "venv", with_pip=True)
        self.work.mkdir()
        tools = folder / "tools"
        tools.mkdir()
        # what Spark and Hadoop call, and no compiler
        for name in _TOOLS.split():
            path = shutil.which(name)
            if path is not None:
                (tools / name).symlink_to(path)
        kept = {k: v for k, v in os.environ.items() if k in {"HOME", "JAVA_HOME", "LANG", "TMPDIR"}}
        self.environ = {**kept, "PATH": f"{self.bin}{os.pathsep}{tools}"}

    def install(self, *what: str) -> None:
        """Install with this program's own settings, by uv if it is there: it has a cache."""
        uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}")
        python = str(self.bin / "python")
        installer = (
            [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
        )
        subprocess.run([*installer, "--quiet", *what], check=True)  # noqa: S603

    def has(self, name: str) -> bool:
        """Whether a program is on the PATH of the environment."""
        return shutil.which(name, path=self.environ["PATH"]) is not None

    def run(self, *command: str) -> str:
        """Run a program of the environment and return its output."""
        done = subprocess.run(  # noqa: S603
            [str(self.bin / command[0]), *command[1:]], cwd=self.work, env=self.environ,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{command[:2]} failed:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def python(self, code: str) -> str:
        """Run Python code in the environment; paths under /tmp stay inside its folder."""
        (self.work / "program.py").write_text(code.replace("/tmp/", f"{self.work}/"))  # noqa: S108
        return self.run("python", "program.py")


def try_wheel(wheel: Path, spark: str, folder: Path) -> None:
    """Install the wheel and run what a new user runs."""
    environment = Environment(folder / "driver")
    steps: dict[str, Callable[[], object]] = {
        "pip install": lambda: environment.install(f"{wheel}[connect,spark]", f"pyspark=={spark}"),
        "no compiler": lambda: _no_compiler(environment),
        "README example": lambda: _says(environment.python(readme_example()), "connection reset"),
        "plain Python": lambda: environment.python(PLAIN),
        "doctor": lambda: environment.run("indextables", "doctor"),
        "command line": lambda: _says(
            environment.run("indextables", "search", "plain", "timeout", "--json"), "payment"
        ),
        "Spark Connect": lambda: environment.python(CONNECT),
        "archive": lambda: _try_archive(wheel, environment, folder / "archive"),
        "demo": lambda: _says(environment.run("indextables", "demo"), "IndexTables"),
    }
    for name, step in steps.items():
        step()
        print(f"ok  {name}", flush=True)


def _try_archive(wheel: Path, driver: Environment, folder: Path) -> None:
    """Pack an environment without Spark, and let the tasks of a small cluster run in it."""
    packed = Environment(folder)
    packed.install(str(wheel), "venv-pack")
    archive = str(driver.work / "env.tar.gz")
    packed.run("venv-pack", "--quiet", "--prefix", str(packed.bin.parent), "--output", archive)
    driver.python(ARCHIVE)


def _no_compiler(environment: Environment) -> None:
    found = [name for name in ("cc", "gcc", "cargo", "rustc", "scala") if environment.has(name)]
    if found:
        raise SystemExit(f"the environment has {', '.join(found)}")


def _says(output: str, wanted: str) -> None:
    if wanted not in output:
        raise SystemExit(f"`{wanted}` is not in the output:\n{output}")


def main(arguments: list[str]) -> int:
    """Check everything; the exit code is 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path)
    parser.add_argument("--spark", default=_SPARK)
    parser.add_argument("--wheel-only", action="store_true")
    given = parser.parse_args(arguments)
    (wheel,) = given.dist.glob("indextables-*.whl")
    problems = wheel_problems(wheel)
    if not given.wheel_only:
        (sdist,) = given.dist.glob("indextables-*.tar.gz")
        problems += sdist_problems(sdist)
    if problems:
        print("\n".join(problems))
        return 1
    print(f"ok  {wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB of at most {_BUDGET_MB}")
    with tempfile.TemporaryDirectory() as folder:
        try_wheel(wheel.resolve(), given.spark, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
