"""The commands of the guide, as they are printed there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from petsc_fixtures import PATIENCE, ROOT, PETSc

GUIDE = (ROOT / "docs" / "guide" / "petsc.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (mpiexec .*)\n(.*)$", GUIDE, flags=re.MULTILINE)


def test_the_guide_has_commands():
    assert len(COMMANDS) >= 1


@pytest.mark.parametrize("command, printed", COMMANDS)
def test_a_command_prints_what_the_guide_says(PETSc, command, printed):
    environment = {
        **os.environ,
        # As the activated environment has it.
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    done = subprocess.run(
        command.split(), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout.splitlines()
