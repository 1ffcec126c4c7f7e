"""The Numba decorators: cache, forks and threads, each tested in its own process."""

import ast
import contextlib
import importlib.util
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from strategies import quick

from linforest_precond.backends.cpu.runtime import jit

CONSTANTS = "STEP = 1\n"

HELPER = """
from ..runtime.jit import helper
from . import constants

@helper
def step(x):
    return x + constants.STEP
"""

KERNELS = """
from numba import prange

from ..runtime.jit import kernel
from ..helpers.tools import step

@kernel
def serial(x):
    total = x.dtype.type(0)
    for i in range(x.size):
        total += step(x[i])
    return total

@kernel(parallel=True)
def parallel(x, out):
    for i in prange(x.size):
        out[i] = step(x[i])
"""

# The first lines of every script below.
PROLOGUE = """
import importlib, os, sys
import numpy as np
from tiny.kernels import steps
from tiny.kernels.steps import parallel, serial
from tiny.runtime import jit

def stepped(count):
    x, out = np.arange(count, dtype=np.float64), np.empty(count)
    parallel(x, out)
    return out.tolist()

jit.FEW_ELEMENTS = 0  # threads for small arrays, too
"""


@pytest.fixture
def tiny(tmp_path):
    """A package with three subpackages: a copy of jit.py, a helper, and kernels that call it."""
    package = tmp_path / "site" / "tiny"
    for room in (package, *(package / name for name in ("runtime", "helpers", "kernels"))):
        room.mkdir(parents=True)
        (room / "__init__.py").touch()
    (package / "helpers" / "constants.py").write_text(CONSTANTS)
    (package / "helpers" / "tools.py").write_text(HELPER)
    (package / "kernels" / "steps.py").write_text(KERNELS)
    shutil.copy(jit.__file__, package / "runtime" / "jit.py")
    return package


def run(tiny, script, *, input=None, **environment):
    """Run `script` with the package `tiny` on the path; return the finished process."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NUMBA_", "XDG_", "PYTHONDONTWRITE", "PYTHONPYCACHE", "OMP_"))
    }
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PROLOGUE + textwrap.dedent(script)],
        env=kept | {"PYTHONPATH": str(tiny.parent)} | environment,
        cwd=tiny.parent,
        capture_output=True,
        text=True,
        timeout=300,
        input=input,
    )


def output(tiny, script, **environment):
    process = run(tiny, script, **environment)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


def compiled_files(folder):
    return sorted(path.name for path in Path(folder).rglob("*.nbc"))


USE = """
folder = jit.cache_folder(os.path.dirname(steps.__file__))
print(serial(np.arange(3.0)), sum(serial.stats.cache_hits.values()), folder)
"""
# Functions that are made anew look for their files anew.
USE_TWICE = USE + "serial = importlib.reload(steps).serial" + USE


def block(folder):
    """A folder that cannot be made: a file has its name. (Permissions do not stop root.)"""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way")


def test_configured_cache_folder(tiny, tmp_path):
    cache = tmp_path / "cache"
    first, second = output(tiny, USE_TWICE, NUMBA_CACHE_DIR=str(cache)).splitlines()
    assert first.startswith(f"6.0 0 {cache}") and second.startswith(f"6.0 1 {cache}")
    assert compiled_files(cache)
    assert not compiled_files(tiny)


@pytest.mark.parametrize("variable", quick(["XDG_CACHE_HOME", "HOME"]))
def test_read_only_install_uses_the_user_cache(tiny, tmp_path, variable):
    block(tiny / "kernels" / "__pycache__")
    home = tmp_path / "home"
    user = home if variable == "XDG_CACHE_HOME" else home / ".cache"
    cache = user / "linforest_precond" / "numba"
    first, second = output(tiny, USE_TWICE, **{variable: str(home)}).splitlines()
    assert first.startswith(f"6.0 0 {cache}") and second.startswith(f"6.0 1 {cache}")
    assert compiled_files(cache)


def test_read_only_install_without_a_home_does_without_cache(tiny, tmp_path):
    for room in ("helpers", "kernels"):
        block(tiny / room / "__pycache__")
    block(tmp_path / "home")
    nowhere = str(tmp_path / "home")
    script = USE + "print(stepped(3))"
    seen = output(tiny, script, HOME=nowhere, NUMBA_CACHE_DIR=nowhere + "/numba")
    assert seen.splitlines() == ["6.0 0 None", "[1.0, 2.0, 3.0]"]
    assert not compiled_files(tmp_path)


def test_edited_file_is_noticed_where_it_is_imported(tiny):
    """The kernel imports a helper, whose file imports the constant."""
    here = str(tiny / "kernels" / "__pycache__")
    assert output(tiny, USE) == f"6.0 0 {here}"
    before = (tiny / "kernels" / "steps.py").stat()
    constants = tiny / "helpers" / "constants.py"
    times = constants.stat()
    constants.write_text(CONSTANTS.replace("1", "5"))
    # Same size, same time: only the content differs. Python's bytecode cache does not notice it.
    os.utime(constants, ns=(times.st_atime_ns, times.st_mtime_ns))
    for bytecode in (tiny / "helpers" / "__pycache__").glob("constants.*.pyc"):
        bytecode.unlink()
    assert output(tiny, USE) == f"18.0 0 {here}"
    after = (tiny / "kernels" / "steps.py").stat()
    assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    (tiny / "helpers" / "others.py").write_text("from .constants import STEP\n")
    assert output(tiny, USE) == f"18.0 1 {here}"


BACKENDS = jit.SOURCES.parent
COMPILED_FILES = sorted(jit.SOURCES.rglob("*.py"))


def imported_names(path):
    """The names that Python's parser finds imported, and the modules that they may be in."""
    package = path.relative_to(BACKENDS.parents[1]).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package[: len(package) - node.level + 1]) + "." if node.level else ""
            module = (above + (node.module or "")).rstrip(".")
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield from (name, name.rpartition(".")[0])


def test_stamp_covers_what_is_imported():
    for path in COMPILED_FILES:
        expected = {
            spec.origin
            for name in imported_names(path)
            if name.startswith("linforest_precond.backends.") and (spec := module_spec(name))
            if spec.submodule_search_locations is None
        }
        closure = jit._closure(str(path))
        assert expected <= closure, path
        for imported in expected:
            assert jit._closure(imported) <= closure, path


def module_spec(name):
    """The module of that name, or None where it is a function or a constant."""
    with contextlib.suppress(ModuleNotFoundError):
        return importlib.util.find_spec(name)
    return None


def test_stamp_covers_a_part_of_the_backend():
    """An edit of one file must not compile everything again."""
    sizes = [len(jit._closure(str(path))) for path in COMPILED_FILES]
    assert np.median(sizes) <= 8


def test_names_of_imports():
    """Forms of import statements that the backend has none of, at present."""
    source = textwrap.dedent("""\
        import linforest_precond.backends.krylov_codes as codes, os
        from linforest_precond.backends.cpu import forest, name
        def inside():
            from ..matrix.entries import (  # a comment
                first,
                second as third,
            )
            from .. import no_such_module
    """)
    files = set(jit._imported_files(str(jit.SOURCES / "forest" / "made_up.py"), source))
    names = "krylov_codes.py", "cpu/forest/__init__.py", "cpu/__init__.py", "cpu/matrix/entries.py"
    assert files == {str(BACKENDS / name) for name in names}


@pytest.mark.slow
def test_full_disk_and_broken_index_cost_a_compilation_only(tiny):
    assert output(tiny, USE).startswith("6.0 0 ")
    for index in (tiny / "kernels" / "__pycache__").glob("*.nbi"):
        index.write_bytes(b"")
    assert output(tiny, USE).startswith("6.0 0 ")
    assert output(tiny, USE).startswith("6.0 1 ")
    full_disk = """
        def refuse(*_):
            raise OSError(28, "No space left on device")
        jit._CacheFiles._write = refuse
        print(serial(np.arange(3, dtype=np.float32)))
    """
    assert output(tiny, full_disk) == "6.0"


DAMAGES = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "one byte less": lambda content: content[:-1],
    "garbage": lambda content: bytes(range(256)) * 40,
    "one bit in the machine code": lambda content: flipped(content, 0.6),
    "one bit at the end": lambda content: flipped(content, 0.999),
    "zeros": lambda content: bytes(len(content)),
    "a pickle of something else": lambda content: pickle.dumps([1, 2]) * 2,
    "a pickle that raises": lambda content: b"cbuiltins\nint\n(Vx\ntR.",
    "a pickle that needs a missing module": lambda content: b"cno_such_module\nname\n.",
    "a pickle of much": lambda content: b"\x80\x04\x8e" + (2**62).to_bytes(8, "little") + b"x",
    "twice": lambda content: content * 2,
}
FEW_DAMAGES = ["half", "garbage", "one bit in the machine code", "a pickle that raises"]


def flipped(content, share):
    place = int(len(content) * share)
    return content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :]


@pytest.mark.parametrize("damages", quick([FEW_DAMAGES, list(DAMAGES)]), ids=["few", "all"])
def test_damaged_cache_files_cost_a_compilation_only(tiny, damages):
    """Each kind of damage, to the index and to the code: the same results, from new code."""
    use = "print(serial(np.arange(3.0)), sum(serial.stats.cache_hits.values()))"
    assert output(tiny, use) == "6.0 0"
    index, code = sorted((tiny / "kernels" / "__pycache__").glob("*.nb[ic]"), reverse=True)
    healthy = {path: path.read_bytes() for path in (index, code)}
    cases = [{path: DAMAGES[name](content)} for name in damages for path, content in healthy.items()]
    # One process for all cases, after the one without damage.
    script = f"""
        import pathlib
        {use}
        for line in sys.stdin:
            for path, content in eval(line).items():
                pathlib.Path(path).write_bytes(content)
            serial = importlib.reload(steps).serial
            {use}
    """
    lines = [repr({str(path): content for path, content in (healthy | case).items()}) for case in cases]
    process = run(tiny, script, input="\n".join(lines) + "\n")
    assert process.returncode == 0, process.stderr
    assert process.stdout == "6.0 1\n" + "6.0 0\n" * len(cases)


@pytest.mark.slow
def test_cache_files_of_another_signature_are_not_loaded(tiny):
    """A file that is complete, but under the name of another one."""
    script = "print(serial(np.arange(3, dtype=np.%s)), sum(serial.stats.cache_hits.values()))"
    for dtype in ("float64", "float32"):
        assert output(tiny, script % dtype) == "6.0 0"
    one, other = (tiny / "kernels" / "__pycache__").glob("*serial*.nbc")
    contents = one.read_bytes(), other.read_bytes()
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])
    for dtype in ("float64", "float32"):
        assert output(tiny, script % dtype) == "6.0 0"
        assert output(tiny, script % dtype) == "6.0 1"


@pytest.mark.slow
def test_signatures_never_share_a_data_file(tiny):
    """Two processes that compile at once may both see an empty index."""
    blind = "jit._CacheFiles._load_index = lambda self: {}\nprint(serial(np.arange(3, dtype=np.%s)))"
    output(tiny, blind % "float64")
    output(tiny, blind % "float32")
    names = [name for name in compiled_files(tiny) if "serial" in name]
    assert len(names) == len(set(names)) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_fork_after_openmp_gives_a_readable_error(tiny):
    script = """
        import warnings
        warnings.simplefilter("ignore")  # newer Pythons warn about forks of processes with threads
        before = stepped(3)
        child = os.fork()
        if child == 0:
            try:
                stepped(3)
            except RuntimeError as error:
                print(error, flush=True)
                os._exit(7)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), stepped(3) == before)
    """
    process = run(tiny, script, NUMBA_THREADING_LAYER="omp")
    if "threading layer" in process.stderr:
        pytest.skip("Numba has no OpenMP layer here")
    assert process.returncode == 0, process.stderr
    assert f"{-signal.SIGTERM} " not in process.stdout, "the child was killed"
    assert process.stdout.endswith(("7 True\n", "0 True\n")), process.stdout + process.stderr
    if _openmp_is_gnu():
        assert "'spawn' or 'forkserver'" in process.stdout.replace("get_context('spawn')", "'spawn'")
        assert "tbb" in process.stdout


def _openmp_is_gnu():
    from numba.np.ufunc import omppool

    return omppool.openmp_vendor == "GNU"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize(
    ("parent", "layer"),
    quick([("stepped(3)", "workqueue"), ("serial(np.ones(3))", "omp")]),
    ids=["workqueue", "serial"],
)
def test_harmless_forks_still_compute(tiny, parent, layer):
    script = f"""
        import warnings
        warnings.simplefilter("ignore")
        {parent}
        child = os.fork()
        if child == 0:
            os._exit(stepped(3) != [1.0, 2.0, 3.0])
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert output(tiny, script, NUMBA_THREADING_LAYER=layer) == "0"


@pytest.mark.parametrize("layer", quick(["workqueue", "omp"]))
def test_python_threads(tiny, layer):
    """The workqueue layer terminates the process when two threads are inside parallel functions at once."""
    script = """
        from concurrent.futures import ThreadPoolExecutor
        sys.setswitchinterval(1e-5)
        expected = stepped(20_000)
        with ThreadPoolExecutor(8) as pool:
            print(all(answer == expected for answer in pool.map(stepped, [20_000] * 100)))
    """
    assert output(tiny, script, NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2") == "True"


def test_plain_python_when_numba_is_disabled(tiny):
    script = "print(serial(np.arange(3.0)), stepped(2))"
    assert output(tiny, script, NUMBA_DISABLE_JIT="1") == "6.0 [1.0, 2.0]"


def test_kernels_show_their_python_function_and_signatures():
    def double(x):
        for i in range(x.size):
            x[i] *= 2

    for parallel in (False, True):
        compiled = jit.kernel(parallel=parallel)(double)
        assert compiled.py_func is double
        assert compiled.__name__ == "double"
        assert list(compiled.signatures) == []


def test_options_keep_the_answer_exact():
    @jit.kernel
    def ratio(x, y):
        return x / y

    assert ratio(1.0, 0.0) == np.inf
    assert not ratio.targetoptions["fastmath"]
    assert not ratio.targetoptions["nogil"]


def test_helpers_are_for_compiled_code_alone():
    """They have no wrapper for Python: a call would end the process."""

    @jit.helper
    def ratio(x, y):
        return x / y

    with pytest.raises(TypeError, match="ratio is a helper"):
        ratio(1.0, 0.0)
    assert ratio.py_func(6.0, 3.0) == 2.0


def test_small_arrays_are_processed_by_one_thread(tiny):
    """Threads take longer to start than small arrays take; also where they are compiled for the types."""
    script = """
        jit.FEW_ELEMENTS, jit.ONE_THREAD = 10, 0
        print(stepped(6)[-1], len(parallel.signatures), len(parallel.serial.signatures))
        small = stepped(5)
        print(small == [1.0, 2.0, 3.0, 4.0, 5.0], len(parallel.signatures), len(parallel.serial.signatures))
        single = np.ones(2, np.float32)
        parallel(single, single)
        print(single.tolist(), len(parallel.signatures), len(parallel.serial.signatures))
    """
    assert output(tiny, script).splitlines() == ["6.0 1 0", "True 1 1", "[2.0, 2.0] 1 2"]


def test_threads_are_compiled_once_they_have_enough_to_do(tiny):
    """A kernel that has processed few elements so far runs on one thread, unless the cache has it."""
    script = """
        jit.FEW_ELEMENTS, jit.ONE_THREAD = 10, 100
        def compiled(calls):
            for _ in range(calls):
                assert stepped(6)[-1] == 6.0
            print(len(parallel.signatures), len(parallel.serial.signatures))
        compiled(8)
        compiled(1)
        parallel = importlib.reload(steps).parallel  # as in a new process
        compiled(1)
    """
    assert output(tiny, script).splitlines() == ["0 1", "1 1", "1 0"]


def test_a_large_array_is_processed_by_threads_at_once(tiny):
    script = """
        jit.FEW_ELEMENTS, jit.ONE_THREAD = 10, 100
        print(stepped(50)[-1], len(parallel.signatures))
    """
    assert output(tiny, script) == "50.0 1"


def test_cache_key_has_a_stable_number():
    key = ("signature", (1, 2), "hash")
    assert jit._number_of(key) == jit._number_of(pickle.loads(pickle.dumps(key)))


def updates(tree):
    """Assignments of names that read what they assign, as (name, names read)."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Assign, ast.AugAssign)):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        read = {name.id for name in ast.walk(node.value) if isinstance(name, ast.Name)}
        for target in targets:
            if isinstance(target, ast.Name) and (isinstance(node, ast.AugAssign) or target.id in read):
                yield target.id, read


def nested_reductions(source):
    """Variables that a parallel loop reduces, from others that the same loop accumulates."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for loop in ast.walk(function):
            if not isinstance(loop, ast.For) or not ast.unparse(loop.iter).startswith("prange"):
                continue
            inside = set(ast.walk(loop))
            shared = {
                node.id
                for node in ast.walk(function)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in inside
            }
            accumulated = {name for name, _ in updates(loop)}
            for name, read in updates(loop):
                if name in shared and (read - {name}) & accumulated:
                    yield f"{function.name}: {name}"


def test_loops_reduce_what_they_do_not_accumulate():
    """Numba finds reductions in Python's bytecode: nested sums compile on some versions of Python only.

    A helper that returns the inner sum, or an array of inner sums, compiles on all.
    """
    example = "def f(x):\n  made = 0\n  for i in prange(9):\n    n = 0\n    n += x[i]\n    made += n\n"
    assert list(nested_reductions(example)) == ["f: made"]
    assert [name for path in COMPILED_FILES for name in nested_reductions(path.read_text())] == []
