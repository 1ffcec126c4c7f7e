"""Parallel Numba code runs behind its guards alone: with two threads inside, and in forked children."""

import importlib
import os
import pkgutil
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher
from strategies import quick

from linforest_precond.backends import cpu
from linforest_precond.backends.cpu.runtime import jit

FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

# Systems on both sides of the limits between one thread and several.
PROLOGUE = """
import os, sys, warnings
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from scipy.sparse.linalg import aslinearoperator
import linforest_precond as lf
from linforest_precond.backends.cpu.runtime import jit

warnings.simplefilter("ignore")  # newer Pythons warn about forks of processes with threads
sys.setswitchinterval(1e-6)
small, large = (lf.matrices.poisson((side, side)) for side in (30, 140))
few_elements, jit.FEW_ELEMENTS = jit.FEW_ELEMENTS, 2**62  # setups compile without threads
ones = {A.shape[0]: np.ones(A.shape[0]) for A in (small, large)}
multilevel = {A.shape[0]: lf.multilevel(A, max_coarse=50).aspreconditioner("V") for A in (small, large)}
tridiagonal = lf.tridiagonal(small)
jit.FEW_ELEMENTS, jit.ONE_THREAD = few_elements, 0

def cycle(A):
    return multilevel[A.shape[0]] @ ones[A.shape[0]]

def columns(A):
    return multilevel[A.shape[0]] @ np.ones((A.shape[0], 2))

def plain(A):
    return lf.solvers.cg(A, ones[A.shape[0]], maxiter=20)[0]

def preconditioned(A):  # an operator passes no gate, which has parallel kernels
    M = multilevel[A.shape[0]]
    return lf.solvers.bicgstab(aslinearoperator(A), ones[A.shape[0]], M=M, maxiter=5)[0]

def sweep(A):
    return tridiagonal @ ones[small.shape[0]]
"""
WAYS = ["cycle", "columns", "plain", "preconditioned", "sweep"]
# On small systems these use kernels without threads.
SERIAL_WAYS = {"cycle", "columns", "preconditioned"}
# A quick run compiles the kernels of two ways.
each_choice_of_ways = pytest.mark.parametrize("ways", quick([["cycle", "plain"], WAYS]), ids=["few", "all"])


def run(script, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_NUM", "OMP_"))}
    return subprocess.run(
        [sys.executable, "-c", PROLOGUE + textwrap.dedent(script)],
        env=kept | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@each_choice_of_ways
@pytest.mark.parametrize("layer", quick(["workqueue", "omp"]))
def test_small_and_large_problems_in_threads(layer, ways):
    """The workqueue layer ends the process when two threads are inside parallel functions at once."""
    script = f"""
        works = [(way, A) for way in ({", ".join(ways)}) for A in (small, large)]
        expected = [way(A) for way, A in works]
        def repeat(number):
            way, A = works[number]
            times = 30 if A is small else 4
            return all(np.array_equal(way(A), expected[number]) for _ in range(times))
        with ThreadPoolExecutor(len(works)) as pool:
            print(list(pool.map(repeat, range(len(works)))))
    """
    process = run(script, NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")
    if "threading layer" in process.stderr and "omp" in layer:
        pytest.skip("Numba has no OpenMP layer here")
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == str([True] * 2 * len(ways))


@FORKS
@each_choice_of_ways
@pytest.mark.parametrize("layer", quick(["omp", "workqueue"]))
def test_forked_children_compute_or_raise(layer, ways):
    """A child may inherit an operator; GNU OpenMP would end it by SIGTERM at its first parallel loop."""
    script = f"""
        for way in ({", ".join(ways)}):
            for A in (small, large):
                expected = way(A)
                child = os.fork()
                if child == 0:
                    try:
                        os._exit(0 if np.array_equal(way(A), expected) else 1)
                    except RuntimeError as error:
                        os._exit(7 if "forked" in str(error) else 2)
                    except BaseException:
                        os._exit(3)
                print(way.__name__, A.shape[0], os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    process = run(script, NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")
    if "threading layer" in process.stderr and "omp" in layer:
        pytest.skip("Numba has no OpenMP layer here")
    assert process.returncode == 0, process.stderr
    codes = {tuple(line.split()[:2]): int(line.split()[2]) for line in process.stdout.splitlines()}
    assert len(codes) == 2 * len(ways)
    assert -signal.SIGTERM not in codes.values(), codes
    assert set(codes.values()) <= {0, 7}, codes
    assert {codes[way, "900"] for way in SERIAL_WAYS.intersection(ways)} == {0}


def modules():
    names = (found.name for found in pkgutil.walk_packages(cpu.__path__, cpu.__name__ + "."))
    return [importlib.import_module(name) for name in names]


def contents(thing):
    """What a module's global holds: itself, and what is inside containers and classes."""
    yield thing
    if isinstance(thing, dict):
        inside = thing.values()
    elif isinstance(thing, list | tuple | set | frozenset):
        inside = thing
    else:
        inside = vars(thing).values() if isinstance(thing, type) else ()
    for each in inside:
        yield from contents(each)


def test_parallel_functions_are_reached_through_their_guard_alone():
    guarded = set()
    for module in modules():
        for name, value in vars(module).items():
            for thing in contents(value) if not name.startswith("__") else ():
                if isinstance(thing, jit.ParallelKernel):
                    guarded.add(thing)
                elif isinstance(thing, Dispatcher):
                    assert not thing.targetoptions.get("parallel"), f"{module.__name__}.{name}"
    assert len(guarded) > 30
    for kernel in guarded:
        assert not kernel.serial.targetoptions.get("parallel")


def test_sources_compile_by_the_two_decorators_alone():
    for path in Path(cpu.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path != Path(jit.__file__):
            assert not re.search(r"\b_?dispatcher\b|\bn?jit\(|@n?jit\b|import n?jit\b", text), path


def test_serial_versions_have_their_own_cache():
    """Numba's index does not know about options: two variants of a function must not share their files."""
    kernel = next(iter(cpu.krylov.updates.KERNELS.values()))
    own, serial = (each._cache._impl.filename_base for each in (kernel._dispatcher, kernel.serial))
    assert own != serial and len(own) < len(serial)
