"""Programs are compiled ahead in threads: once, while others wait, with errors where a kernel is used."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.backends.cuda.runtime import loader, prefetch
from linforest_precond.graph.forest.factor import check_options
from linforest_precond.graph.forest.pairs import check_block_options
from linforest_precond.matrix.checked import checked

ROOT = Path(__file__).resolve().parents[2]
# Seconds until a test fails instead of waiting.
PATIENCE = 30


class Module:
    """Compiles as CuPy's RawModule does: in the thread that asks first, kept for each device."""

    def __init__(self, **options):
        self.device, self.compiled, self.calls = None, False, 0
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()
        self.error = None

    def compile(self):
        if not self.compiled:
            self.calls += 1
            self.begun.set()
            assert self.may_end.wait(PATIENCE)
            if self.error is not None:
                raise self.error
            self.compiled = True

    def get_function(self, name):
        self.compile()
        return name


@pytest.fixture
def devices(monkeypatch):
    """The devices that threads have chosen; there is no CuPy."""
    chosen = []

    @contextlib.contextmanager
    def device(number):
        chosen.append((number, threading.current_thread()))
        yield

    fake = SimpleNamespace(Device=device, runtime=SimpleNamespace(getDevice=lambda: 3))
    monkeypatch.setitem(vars(loader.cupy), "cuda", fake)
    monkeypatch.setitem(vars(loader.cupy), "RawModule", Module)
    loader.kernels.cache_clear()
    yield chosen
    finish()
    loader.kernels.cache_clear()
    assert not prefetch._queue and not prefetch._threads


def finish():
    """Wait until everything that is queued has been compiled."""
    end = time.monotonic() + PATIENCE
    while (prefetch._queue or prefetch._threads) and time.monotonic() < end:
        time.sleep(0.001)


def start(monkeypatch, *modules):
    """Prefetch the programs of modules."""
    programs = [loader.Kernels(module, f"program {i}") for i, module in enumerate(modules)]
    monkeypatch.setitem(prefetch.LISTS, "call", lambda: programs)
    prefetch.prefetch("call")
    return programs


def test_all_programs_are_compiled_on_the_callers_device(devices, monkeypatch):
    modules = [Module() for _ in range(3 * prefetch.MOST_THREADS)]
    start(monkeypatch, *modules)
    finish()
    assert [module.calls for module in modules] == [1] * len(modules)
    assert {number for number, _ in devices} == {3}
    assert threading.main_thread() not in {thread for _, thread in devices}


def test_programs_are_handed_in_once(devices, monkeypatch):
    start(monkeypatch, Module())
    prefetch.prefetch("call")
    finish()
    assert len(devices) == 1
    monkeypatch.setattr(loader.cupy.cuda.runtime, "getDevice", lambda: 4)
    prefetch.prefetch("call")
    finish()
    assert [number for number, _ in devices] == [3, 4]


def test_whoever_needs_a_program_waits_for_it(devices, monkeypatch):
    module = Module()
    module.may_end.clear()
    (program,) = start(monkeypatch, module)
    assert module.begun.wait(PATIENCE)
    found = []
    users = [threading.Thread(target=lambda: found.append(program.propose)) for _ in range(4)]
    for user in users:
        user.start()
    time.sleep(0.05)
    assert not found
    module.may_end.set()
    for user in users:
        user.join(PATIENCE)
    assert found == ["propose"] * 4 and module.calls == 1


def test_a_queued_program_is_compiled_by_whoever_needs_it(devices, monkeypatch):
    monkeypatch.setattr(prefetch, "MOST_THREADS", 1)
    first, second = Module(), Module()
    first.may_end.clear()
    _, program = start(monkeypatch, first, second)
    assert first.begun.wait(PATIENCE)
    assert program.propose == "propose" and second.calls == 1
    first.may_end.set()
    finish()
    assert second.calls == 1


def test_threads_that_ask_first_compile_once(devices):
    module = Module()
    module.may_end.clear()
    # Two threads may both create the kernels of a program.
    programs = [loader.Kernels(module, "a program") for _ in range(2)]
    users = [threading.Thread(target=lambda program=program: program.propose) for program in programs]
    for user in users:
        user.start()
    assert module.begun.wait(PATIENCE)
    module.may_end.set()
    for user in users:
        user.join(PATIENCE)
    assert module.calls == 1


def test_an_error_is_raised_where_the_kernel_is_used(devices, monkeypatch, capfd):
    broken, good = Module(), Module()
    broken.error = RuntimeError("line 3: expected a ;")
    program, other = start(monkeypatch, broken, good)
    finish()
    assert other.propose == "propose" and capfd.readouterr().err == ""
    for _ in range(2):
        with pytest.raises(RuntimeError, match="line 3"):
            program.propose  # noqa: B018
    broken.error = None
    assert program.propose == "propose"


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="POSIX signals")
def test_ctrl_c_ends_the_wait(devices, monkeypatch):
    module = Module()
    module.may_end.clear()
    (program,) = start(monkeypatch, module)
    assert module.begun.wait(PATIENCE)
    main, ended = threading.get_ident(), threading.Event()

    def interrupt():
        # A signal between Python's check for signals and the wait for a lock does not end that wait: again.
        time.sleep(0.1)
        while not ended.is_set():
            signal.pthread_kill(main, signal.SIGINT)
            ended.wait(PATIENCE / 6)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        program.propose  # noqa: B018
    ended.set()
    assert not loader.NOTICE._running
    module.may_end.set()
    finish()
    assert program.propose == "propose" and module.calls == 1


def test_without_threads_kernels_compile_as_ever(devices, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        (program,) = start(monkeypatch, Module())
    prefetch._queue.clear()
    assert program._module.calls == 0
    assert program._lock().acquire(blocking=False)
    program._lock().release()


def run(script):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + script], capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


SCRIPT = """
import os, sys, threading, time
from linforest_precond.backends.cuda.runtime import loader, prefetch
prefetch.MOST_THREADS = 1
begun = threading.Event()
"""


def test_at_exit_what_runs_is_finished_and_what_waits_is_dropped():
    script = """
def run():
    begun.set()
    while prefetch._queue:  # until it is dropped
        time.sleep(0.01)
    time.sleep(0.2)
    print("finished", flush=True)
prefetch.run_in_threads([run, lambda: print("queued", flush=True)])
begun.wait()
print("leaving", flush=True)
"""
    assert run(script) == ["leaving", "finished"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX processes")
def test_a_forked_process_waits_for_nothing():
    script = """
import warnings
warnings.simplefilter("ignore")  # Python warns of forks beside threads
class Module:
    def get_function(self, name):
        return name
program = loader.Kernels(Module(), "a program")
program._lock().acquire()  # by a thread that will not be in the child
ended = threading.Event()
def wait():
    begun.set()
    ended.wait()
prefetch.run_in_threads([wait])
begun.wait()
child = os.fork()
if child == 0:
    print(program.propose, flush=True)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
ended.set()
"""
    assert run(script) == ["propose"]


def facts(value, index):
    """The facts of every call, for a symmetric and for a nonsymmetric matrix."""
    for matrix in (lf.matrices.poisson((8, 8)), lf.matrices.stencil(64, [1, 4, 2])):
        matrix = matrix.astype(value)
        matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
        csr = checked(matrix)
        graph, dtype = checked(csr).graph, csr.data.dtype
        options = check_options(2, "auto", 5, 0, 0.5, 0)
        blocks = check_block_options(2, "auto", "auto", 0, 0.5, 0)
        for method in ("list_ranking", "bidirectional_scan"):
            yield "linear_forest", (graph, options, method)
            yield "bands_along_forest", (csr, graph, options, method)
        yield "bands_along_block_forest", (csr, graph, blocks, True)
        yield "tridiagonal", (csr, dtype, 1)
        yield "tridiagonal", (csr, dtype, 2)
        yield "solver", (dtype,)
        yield "product", (csr, dtype)
        yield "smoothed_aggregation", (csr, dtype, csr.symmetric)
        yield "approximate_inverse", (csr, dtype, "fsai" if csr.symmetric else "spai")


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float32, np.float64, np.complex64, np.complex128])
def test_lists_name_programs_that_exist(devices, value, index):
    seen = set()
    for call, given in facts(value, index):
        seen.add(call)
        for program in prefetch.LISTS[call](*given):
            name, options = program._key
            declared = loader.PROGRAMS[name]
            assert options in [declared.options(**case) for case in declared.cases], (call, name)
    assert seen == set(prefetch.LISTS)


# What is used before anything is known of the matrix.
FIRST = {"matrix/entries"}


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("call", "first"),
    [
        ("lf.tridiagonal(A)", FIRST),
        ("lf.tridiagonal(B)", {*FIRST, "matrix/hermitian"}),
        ("lf.tridiagonal(A, dtype='float32')", FIRST),
        ("lf.block_tridiagonal(A)", FIRST),
        ("lf.linear_forest(A)", FIRST),
        ("lf.solvers.cg(A, b, rtol=0.5)", FIRST),
        ("lf.solvers.bicgstab(A, b, rtol=0.5)", FIRST),
        ("lf.multilevel(A).aspreconditioner() @ b", {*FIRST, "multigrid/strength"}),
    ],
)
def test_the_programs_of_a_call_are_those_in_its_lists(cuda, call, first):
    script = f"""
import numpy as np
import linforest_precond as lf
from linforest_precond.backends.cuda.runtime import loader
programs, create = [], loader.Kernels.__init__
def listed(self, *arguments):
    create(self, *arguments)
    programs.append(self)
loader.Kernels.__init__ = listed
A = lf.matrices.poisson((300, 300), device="cuda")
B = lf.matrices.stencil(90000, [1, 4, 2], device="cuda")
b = A @ __import__("cupy").ones(90000)
programs.clear()
loader.kernels.cache_clear()
{call}
used = {{each._key for each in programs if any(not name.startswith("_") for name in vars(each))}}
ahead = {{each._key for each in programs if each._devices}}
print("unused", sorted(ahead - used))
print("late", sorted(used - ahead))
late = {{name for name, _ in used - ahead}}
assert ahead <= used and late == {first!r}
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
