"""Hosts with another version of the package, or without it: one error names host and versions."""

from __future__ import annotations

import shutil
import sys

import pytest
from tests.cluster import work
from tests.cluster.driver import driver

from indextables import __version__

pytestmark = pytest.mark.spark
# the packages of the first and the second worker, as the error names them
OTHERS = {
    "indextables 0.0.9": '__version__ = "0.0.9"',
    "no indextables": "raise ModuleNotFoundError(\"No module named 'indextables'\")",
}
# the interpreter of every host; it finds the package of its host if there is one
INTERPRETER = """#!/bin/sh
if [ -d "$TMPDIR/other" ]; then PYTHONPATH="$TMPDIR/other:$PYTHONPATH"; export PYTHONPATH; fi
exec {python} "$@"
"""


@pytest.fixture
def application(cluster, tmp_path):
    """An application whose executors use the interpreter of their host."""
    python = tmp_path / "python"
    python.write_text(INTERPRETER.format(python=sys.executable))
    python.chmod(0o755)
    others = [folder / "other" for folder in cluster.scratch[: len(OTHERS)]]
    for other, text in zip(others, OTHERS.values(), strict=True):
        (other / "indextables").mkdir(parents=True)
        (other / "indextables" / "__init__.py").write_text(text)
    with driver(cluster.url, tmp_path, None, {"PYSPARK_PYTHON": str(python)}) as found:
        yield found
    for other in others:
        shutil.rmtree(other)


def test_an_executor_with_another_package_is_one_clear_error(application, table_path):
    # both run a task on every executor
    write = application.run(work.failing_append, table_path)
    command = application.run(work.failure, "DESCRIBE INDEXTABLES ENVIRONMENT")
    for output in (write, command):
        # PySpark appends a stack trace to the message of every failed job
        message = output.partition("\n\tat ")[0]
        assert message.count("[EXECUTOR_MISMATCH]") == 1, output
        assert any(name in message for name in OTHERS), output
        assert f"the driver has indextables {__version__}" in message
        assert "Traceback" not in output, output
