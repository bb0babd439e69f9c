"""Shared fixtures."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadlines: first calls load libraries, and the machine may be busy.
# `make test` runs the same cases every time, so that failures are caused by the change under
# test; `make test-slow` searches for new ones.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quiet", CALM, derandomize=True)
settings.register_profile("explore", CALM)
settings.load_profile(os.environ.get("INDEXTABLES_CASES", "quiet"))

# For every JVM that a test starts, also indirectly: none lives long enough for the second compiler
# to pay off, and all share a few cores. Without it, the JVM reserves too little for the code of a
# Spark session, so that it discards code and compiles it again. The JVM is not to warn about a
# class archive that does not match, as in a JVM without Spark.
JVM_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC "
    "-Xlog:disable -Xlog:all=error:stderr"
)
_CLASSES = Path(sys.prefix, "spark.jsa")  # written by `make test`
if _CLASSES.exists():
    os.environ.setdefault("JDK_JAVA_OPTIONS", f"{JVM_OPTIONS} -XX:SharedArchiveFile={_CLASSES}")
os.environ.setdefault("JDK_JAVA_OPTIONS", JVM_OPTIONS)
# A client of Spark Connect in this process must not prevent it from starting others: with gRPC's
# handlers for forks, one of eight processes that run Python before their program, as Spark's
# launcher does, aborts.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
# folders whose tests share a server that takes longer to start than the tests run
_ONE_WORKER = ("tests/cluster/", "tests/connect/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `--dist loadfile`, schedule some folders on one worker as if they were one file."""
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrFolder(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            folder = next((name for name in _ONE_WORKER if nodeid.startswith(name)), None)
            return folder or super()._split_scope(nodeid)

    return ByFileOrFolder(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Tables and index files of other writers, and golden tables of this project."""
    return Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def fixtures_054() -> Path:
    """Tables of version 0.5.4 of the existing implementation, which may not be copied here."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "fixtures"
    folder = Path(os.environ.get("INDEXTABLES_FIXTURES", beside))
    if not folder.is_dir():
        pytest.skip(f"no fixture tables at {folder}")
    return folder


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session as users get it from `configure`."""
    from pyspark.sql import SparkSession

    import indextables

    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").appName("indextables tests")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": os.environ.get("INDEXTABLES_TEST_LOG", "OFF"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
    }.items():
        builder = builder.config(key, value)
    session = indextables.configure(builder).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def table_path(tmp_path) -> str:
    """A path without a table."""
    return str(tmp_path / "table")
