from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


def test_check_fails_and_names_the_way_out_when_a_page_is_stale(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "jvm" / "resources").mkdir(parents=True)
    (tmp_path / "python").symlink_to(ROOT / "python")
    script = tmp_path / "docs" / "generate.py"
    script.write_text((ROOT / "docs" / "generate.py").read_text())
    stale = _run(script, "--check")
    assert stale.returncode == 1
    assert "make docs" in stale.stderr
    assert not (tmp_path / "docs" / "errors.md").exists()
    assert _run(script).returncode == 0
    assert _run(script, "--check").returncode == 0
    assert "spark.indextables.read.mode" in (tmp_path / "docs" / "configuration.md").read_text()


def test_pages_need_no_spark():
    code = "import sys, runpy; sys.argv=['generate.py','--check']\n"
    code += f"try: runpy.run_path({str(ROOT / 'docs' / 'generate.py')!r}, run_name='__main__')\n"
    code += "except SystemExit: pass\nassert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
