"""The program that counts messages of graphs on R x C ranks runs, and the page has its sections."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import skip_or_fail

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "benchmarks" / "pages" / "grid2d.py"


@pytest.mark.slow
@pytest.mark.skipif(not PROGRAM.exists(), reason="tests run outside a source tree")
def test_the_program_makes_the_sections_of_the_page(tmp_path):
    for name in ("matplotlib", "mpi4py"):
        try:
            __import__(name)
        except ImportError as error:
            skip_or_fail("mpi", f"{name} does not import ({error})")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = [sys.executable, "-m", "benchmarks.pages.grid2d"]
    command = [*program, "--quick", "--data", str(tmp_path / "data.json")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (ROOT / "docs" / "distributed_2d.md").read_text(encoding="utf-8")
    heads = re.findall(r"^#+ .*$", page, re.MULTILINE)
    assert heads == re.findall(r"^#+ .*$", done.stdout, re.MULTILINE) and len(heads) > 8
