"""Programs that start quietly print nothing unless the start fails."""

from __future__ import annotations

import subprocess
import sys

import pytest

from indextables.spark.local_session import quiet_children


def _print_to_stderr() -> None:
    subprocess.run([sys.executable, "-c", "import sys; sys.stderr.write('notice')"], check=True)


def test_children_are_quiet_and_this_process_is_not(capfd):
    with quiet_children():
        _print_to_stderr()
    sys.stderr.write("ours")
    assert capfd.readouterr().err == "ours"


def _fail() -> None:
    with quiet_children():
        _print_to_stderr()
        raise RuntimeError


def test_what_was_printed_is_shown_when_the_start_fails(capfd):
    with pytest.raises(RuntimeError):
        _fail()
    assert "notice" in capfd.readouterr().err
