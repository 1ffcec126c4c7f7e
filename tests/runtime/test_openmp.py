"""OpenMP's threads sleep soon where they have nothing to do, and the environment stays as it was."""

import os
import re
import subprocess
import sys

import pytest

from linforest_precond.backends.cpu.runtime import openmp

PROGRAM = """
import os
import linforest_precond.backends.cpu.runtime.jit
print("GOMP_SPINCOUNT" in os.environ)
"""


def spin_count(then="", **settings):
    """What GNU OpenMP says when it is loaded (None: it was not), and whether the setting is left behind."""
    kept = {name: value for name, value in os.environ.items() if name not in openmp.SETTINGS}
    environment = {**kept, "OMP_DISPLAY_ENV": "verbose", **settings}
    command = [sys.executable, "-c", PROGRAM + then]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = re.search(r"GOMP_SPINCOUNT = '(\d+)'", done.stderr)
    return found and int(found[1]), done.stdout.strip() == "True"


@pytest.fixture(scope="module", autouse=True)
def gnu_openmp():
    layer = pytest.importorskip("numba.np.ufunc.omppool")
    if layer.openmp_vendor != "GNU":
        pytest.skip(f"Numba's OpenMP is {layer.openmp_vendor}'s")


def test_waits_are_short_and_the_environment_is_as_before():
    assert spin_count(NUMBA_THREADING_LAYER="default") == (openmp.SPIN_COUNT, False)


@pytest.mark.slow
def test_the_users_setting_counts():
    assert spin_count("import numba.np.ufunc.omppool", GOMP_SPINCOUNT="123") == (123, True)


@pytest.mark.slow
def test_other_layers_do_not_load_it():
    assert spin_count(NUMBA_THREADING_LAYER="workqueue") == (None, False)
