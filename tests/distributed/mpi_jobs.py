"""Ranks of MPI in tests: programs under mpiexec, with a time-out."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import skip_or_fail

ROOT = Path(__file__).resolve().parents[2]
# Ranks share the cores, and Open MPI asks twice before it runs as root.
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "NUMBA_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "LINFOREST_TIMEOUT": "60",
}


@dataclass
class Outcome:
    """How a job of MPI ended."""

    code: int
    output: str


def runner(folder):
    """A function that runs the text of a Python program on ranks of MPI; a hang fails the test."""
    command = _mpiexec_command()

    def run(ranks, program, *arguments, timeout=120, flags=()):
        path = folder / "program.py"
        path.write_text(textwrap.dedent(program), encoding="utf-8")
        line = [command, "-n", str(ranks), sys.executable, *flags, str(path), *map(str, arguments)]
        return _outcome(line, timeout)

    return run


def _mpiexec_command():
    try:
        from mpi4py import MPI  # noqa: F401
    except ImportError as error:
        skip_or_fail("mpi", f"mpi4py does not import ({error})")
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    return found or skip_or_fail("mpi", "there is no mpiexec")


def _outcome(line, timeout):
    job = subprocess.Popen(
        line,
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = job.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        output, _ = job.communicate()
        pytest.fail(f"the ranks did not end within {timeout} s:\n{output}", pytrace=False)
    return Outcome(job.returncode, output)
