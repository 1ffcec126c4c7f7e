"""Fixtures of the tests with petsc4py, imported by name: PETSc, its options, programs on several ranks."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import skip_or_fail

PROGRAMS = Path(__file__).with_name("rank_programs.py")
ROOT = PROGRAMS.parents[2]
PATIENCE = 600  # seconds, compilation included


@pytest.fixture(scope="session")
def PETSc():
    try:
        from petsc4py import PETSc
    except ImportError as error:
        skip_or_fail("petsc", f"petsc4py does not import ({error}); `make test-petsc` installs it")
    return PETSc


@pytest.fixture
def options(PETSc):
    """Set options of PETSc's database by a line as on the command line; they are removed after the test."""
    database = PETSc.Options()
    before = database.getAll()

    def insert(line):
        database.insertString(line)

    yield insert
    for name in database.getAll():
        if name not in before:
            database.delValue(name)


def start(ranks, name, *arguments):
    """Run a program of rank_programs.py on several ranks; the completed process."""
    mpiexec = shutil.which("mpiexec", path="/usr/bin:" + os.environ.get("PATH", ""))
    if mpiexec is None:
        skip_or_fail("petsc", "there is no mpiexec")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "NUMBA_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "LINFOREST_TIMEOUT": "120",
    }
    command = [mpiexec, "--oversubscribe", "-n", str(ranks), sys.executable, str(PROGRAMS), name, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)


@pytest.fixture(scope="session")
def on_ranks(PETSc):
    """Run a program on several ranks, once for all tests; what its rank 0 printed as JSON."""
    known = {}

    def result(ranks, name, *arguments):
        key = ranks, name, *arguments
        if key not in known:
            process = start(*key)
            assert process.returncode == 0, process.stdout + process.stderr
            known[key] = json.loads(process.stdout.splitlines()[-1])
        return known[key]

    return result
