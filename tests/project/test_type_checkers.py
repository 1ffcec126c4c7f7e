"""Type checkers know the options and the results: a user's script is checked, and choices are compared."""

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from linforest_precond.backends import annotations
from linforest_precond.graph.forest import factor
from linforest_precond.precond.approximate_inverse import approximate_inverse
from linforest_precond.precond.ilu import row_orders
from linforest_precond.precond.multigrid import hierarchy, multilevel_options, pairwise_aggregation
from linforest_precond.precond.scaling import matrix_scaling
from linforest_precond.precond.tridiagonal import several_forests, tridiagonal, tridiagonal_part

SCRIPT = Path(__file__).with_name("typed_script.py")
ROOT = SCRIPT.parents[2]
CHOICES = multilevel_options.CHOICES
# What type checkers know, and what the functions accept.
NAMES = {
    "Accelerator": hierarchy.ACCELERATORS,
    "Charge": factor.CHARGES,
    "CoarseningName": CHOICES["coarsening"],
    "Combination": several_forests.COMBINATIONS,
    "CouplingWeights": pairwise_aggregation.WEIGHTS,
    "CycleName": CHOICES["cycle"],
    "IluOrder": ("auto", *row_orders.ORDERS),
    "InverseMethod": approximate_inverse.METHODS,
    "OrderingName": tridiagonal.ORDERINGS,
    "Repair": tridiagonal_part.REPAIRS,
    "ScalingMethod": matrix_scaling.METHODS,
    "ScalingName": ("auto", *matrix_scaling.METHODS),
    "SmootherName": CHOICES["smoother"],
    "Ties": factor.TIES,
}


@pytest.mark.parametrize("name", NAMES)
def test_literals_are_what_functions_accept(name):
    assert get_args(getattr(annotations, name)) == tuple(NAMES[name])


@pytest.mark.slow
def test_mypy_accepts_a_users_script(tmp_path):
    """With the strictest settings, but without those of this repository."""
    pytest.importorskip("mypy")
    command = [
        sys.executable, "-m", "mypy", "--config-file", os.devnull, "--strict", "--follow-imports=silent",
        "--cache-dir", str(tmp_path / "cache"), str(SCRIPT),
    ]  # fmt: skip
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_script_runs():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
