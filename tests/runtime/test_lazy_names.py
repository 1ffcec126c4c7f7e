"""The package imports nothing until it is used."""

import subprocess
import sys

import pytest

import linforest_precond as lf

HEAVY = "numpy", "scipy", "numba", "matplotlib", "cupy"


@pytest.mark.parametrize("statement", ["import linforest_precond", "import linforest_precond.app.cli"])
def test_importing_is_light(statement):
    script = f"{statement}\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_work_on_a_gpu_imports_no_numba():
    """The CPU backend, whose import takes half a second, is imported where arrays of NumPy come in."""
    names = "lf.tridiagonal, lf.multilevel, lf.solve, lf.solvers.cg, lf.graph.matching"
    script = (
        f"import sys, linforest_precond as lf, linforest_precond.backends.cuda\n{names}\n"
        "print('numba' in sys.modules, 'linforest_precond.backends.cpu' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "False False"


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_answers_without_heavy_imports(option):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "linforest_precond", option],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "linforest" in done.stdout
    assert not any(f" {name}\n" in done.stderr for name in HEAVY)


def test_every_name_is_there():
    assert all(getattr(lf, name) is not None for name in lf.__all__)
    assert set(dir(lf)) == {*lf.__all__, "__version__"}


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="no attribute 'tridiagonals'"):
        lf.tridiagonals  # noqa: B018
