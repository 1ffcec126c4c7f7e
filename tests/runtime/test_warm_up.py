"""Compilation ahead of time covers what users call, and shows its progress."""

import subprocess
import sys
from pathlib import Path

import pytest

import linforest_precond as lf
from linforest_precond.app import cli, warm_up

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def few_steps(monkeypatch):
    """Two steps that compile nothing, and a list of their calls."""
    calls = []
    steps = {name: lambda systems, name=name: calls.append((name, systems)) for name in ("jacobi", "cg")}
    monkeypatch.setattr(warm_up, "STEPS", steps)
    monkeypatch.setattr(warm_up, "cuda_status", lambda: (False, "no GPU"))
    return calls


def test_progress_names_every_step(few_steps, capsys):
    lf.warmup(progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"compiled {name}, {words}"
        for words in ("for small inputs", "with threads")
        for name in ("jacobi", "cg")
    ]
    lf.warmup()
    assert capsys.readouterr().err == ""


def test_the_command_takes_types(few_steps, capsys):
    assert cli.main(["warmup", "--dtype", "float32,complex128", "--index", "int64", "--quiet"]) == 0
    found = [(systems.A.dtype.name, systems.A.indices.dtype.name) for _, systems in few_steps]
    assert found == [("float32", "int64")] * 4 + [("complex128", "int64")] * 4
    out = capsys.readouterr().out
    assert out.startswith("compiled 0 functions in ") and "kept in" in out


def test_wrong_types(capsys):
    assert cli.main(["warmup", "--dtype", "float16"]) == 2
    assert "float16 is none of float64, float32" in capsys.readouterr().err


def test_every_preconditioner_solver_and_graph_function_has_a_step():
    kinds = {"jacobi", "block_jacobi", "tridiagonal", "block_tridiagonal", "ilu", "approximate_inverse"}
    named = {name for name in lf.solvers.__all__ if name.islower()}
    assert kinds | named | {"multilevel", "solve", "pagerank", "matching", "bfs_levels"} <= set(warm_up.STEPS)


@pytest.mark.slow
def test_nothing_is_left_to_compile():
    script = """
import numpy as np
import linforest_precond as lf
from linforest_precond.backends.cpu.runtime import jit
lf.warmup()
look_up, missed = jit._StampedCache.load_overload, []
def load_overload(cache, signature, context):  # before a function is loaded or compiled for new types
    missed.append(cache._py_func.__qualname__)
    return look_up(cache, signature, context)
jit._StampedCache.load_overload = load_overload
for side in (30, 300):  # without and with threads
    A = lf.matrices.poisson((side, side))
    b = np.ones(side * side)
    ml = lf.multilevel(A).aspreconditioner()
    for M in (ml, lf.tridiagonal(A), lf.ilu(A)):
        lf.solvers.fcg(A, b, M=M, maxiter=3)
        lf.solvers.bicgstab(A, b, M=M, maxiter=3)
    lf.graph.connected_components(A), lf.graph.bfs_levels(A, 0), lf.graph.matching(A)
    lf.graph.reverse_cuthill_mckee(A), lf.graph.maximal_independent_set(A)
    lf.graph.fill(A, lf.graph.minimum_degree(A))
print(missed)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"
