"""Fixtures: one test body runs on every usable backend; real matrices come from a folder the user names."""

import contextlib
import csv
import functools
import gc
import importlib
import importlib.util
import itertools
import os
import signal
from pathlib import Path

import harness
import numpy as np
import pytest
import scipy.sparse as sp
import strategies
from hypothesis import HealthCheck, settings
from strategies import make_csr

from linforest_precond.backends import cuda_status
from linforest_precond.backends.cpu.runtime import jit
from linforest_precond.matrices.readers.matrix_market import read_entries

# A program of its own, that needs PETSc to be imported.
collect_ignore = [] if importlib.util.find_spec("petsc4py") else ["petsc/rank_programs.py"]
UNCHECKED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
COMMON = {"deadline": None, "suppress_health_check": UNCHECKED}
settings.register_profile("default", max_examples=60, **COMMON)
settings.register_profile("ci", max_examples=60, derandomize=True, database=None, **COMMON)
settings.register_profile("thorough", max_examples=1000, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))
QUICK_EXAMPLES = 10
# What `lf.solve` chooses is the same on every machine.
os.environ.setdefault("LINFOREST_CALIBRATION", "default")

REQUIRED = {name.strip() for name in os.environ.get("LINFOREST_REQUIRE", "").split(",") if name.strip()}
GPU_USABLE, GPU_REASON = cuda_status()


FEW_ELEMENTS = jit.FEW_ELEMENTS
# The marks of tests that this run leaves out.
LEFT_OUT = set() if GPU_USABLE or "gpu" in REQUIRED else {"gpu"}


def pytest_configure(config):
    """A quick run, one without the slow tests, compiles less and draws fewer matrices.

    These have one type. Kernels run without threads, which give the same bits and compile twice as long,
    unless LINFOREST_TEST_THREADS is set. In other runs they use threads from the first call on.
    """
    os.environ.setdefault("LINFOREST_FUZZ_SEED", str(harness.first_seed()))  # the same in every worker
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in background jobs; children inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    jit.ONE_THREAD = 0
    is_quick = "not slow" in config.option.markexpr
    if is_quick:
        LEFT_OUT.add("slow")
        jit.FEW_ELEMENTS = 0 if "LINFOREST_TEST_THREADS" in os.environ else 2**62
        jit.threads_for_small_arrays = contextlib.nullcontext  # studies compile for threads, too
    strategies.draw_all_types = not is_quick
    if is_quick and "HYPOTHESIS_PROFILE" not in os.environ:
        settings.register_profile("quick", settings.default, max_examples=QUICK_EXAMPLES)
        settings.load_profile("quick")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `--dist loadscope`, a worker takes whole rooms: the files of a room need the same kernels, and two
    workers that need a kernel at once both compile it."""
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Rooms(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return nodeid.partition("::")[0].rpartition("/")[0]

    return Rooms(config, log)


def pytest_report_header():
    """What repeats this run's cases of the fuzzers."""
    return f"LINFOREST_FUZZ_SEED={os.environ['LINFOREST_FUZZ_SEED']}"


def pytest_collection_finish():
    """A quick run looks for garbage less often, and never among collected tests: compilation makes much."""
    if "slow" not in LEFT_OUT or GPU_USABLE:  # memory on the GPU is measured
        return
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def pytest_collection_modifyitems(items):
    """Skip what needs a missing GPU before its fixtures are set up."""
    if "gpu" in LEFT_OUT:
        missing = pytest.mark.skip(reason=f"no usable GPU: {GPU_REASON}")
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(missing)


def skip_or_fail(need, reason):
    """A missing requirement skips the test, or fails it where LINFOREST_REQUIRE lists it."""
    if need in REQUIRED:
        pytest.fail(f"LINFOREST_REQUIRE asks for {need}: {reason}", pytrace=False)
    pytest.skip(reason)


def require_pyamg():
    try:
        import pyamg.gallery
    except ImportError as error:
        skip_or_fail("pyamg", f"PyAMG does not import ({error})")
    return pyamg.gallery


@pytest.fixture
def mpiexec(tmp_path):
    """``mpiexec(ranks, program, *arguments)`` runs the text of a program on ranks of MPI."""
    from mpi_jobs import runner

    return runner(tmp_path)


@pytest.fixture
def bench(monkeypatch):
    """Imports a module of the benchmarks by its room and name."""
    root = Path(__file__).resolve().parents[1]
    if not (root / "benchmarks").exists():
        pytest.skip("tests run outside a source tree")
    monkeypatch.syspath_prepend(str(root))
    return lambda name: importlib.import_module(f"benchmarks.{name}")


@pytest.fixture
def pyamg_gallery():
    return require_pyamg()


class Cpu:
    """Test matrices and arrays of NumPy and SciPy."""

    name = "cpu"
    xp = np

    def csr(self, A):
        """A SciPy matrix on this backend, value and index types kept."""
        return A

    def array(self, x):
        return np.asarray(x)

    def host(self, x):
        return np.asarray(x)

    def __repr__(self):
        return f"<backend {self.name}>"


class Cuda(Cpu):
    """Test matrices and arrays of CuPy."""

    name = "cuda"

    @property
    def xp(self):
        import cupy

        return cupy

    def csr(self, A):
        import cupyx.scipy.sparse as cusparse

        csr_type = getattr(cusparse, "csr_array", None) or cusparse.csr_matrix
        data, indices, indptr = (self.xp.asarray(part) for part in (A.data, A.indices, A.indptr))
        B = csr_type((data, indices, indptr), shape=A.shape)
        # Constructors may narrow the index type.
        B.indices, B.indptr = indices, indptr
        assert B.indices.dtype == A.indices.dtype and B.indptr.dtype == A.indptr.dtype
        return B

    def array(self, x):
        return self.xp.asarray(x)

    def host(self, x):
        return self.xp.asnumpy(x)


CPU, CUDA = Cpu(), Cuda()


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def backend(request):
    """The backend a test body runs on."""
    if request.param == "cpu":
        return CPU
    return request.getfixturevalue("cuda")


@pytest.fixture
def cuda():
    """The GPU, for tests that need it; mark these ``gpu``."""
    if not GPU_USABLE:
        skip_or_fail("gpu", f"no usable GPU: {GPU_REASON}")
    return CUDA


# Largest numbers of nonzeros: small enough for the oracles, and for uncharged iterations until maximal.
REAL_NAMES = {"real_name": None, "medium_real_name": 400_000, "small_real_name": 30_000}
# Small ones with more nonzeros run with the slow tests, and so do two of three.
QUICK_NONZEROS = {"small_real_name": 10_000}
QUICK_STEP = 3


def matrices_folder():
    folder = os.environ.get("LINFOREST_MATRICES", "")
    return Path(folder) if folder and (Path(folder) / "MANIFEST.tsv").is_file() else None


@functools.cache
def manifest():
    """{name: (rows, nonzeros)} of the real matrices available, fewest nonzeros first."""
    folder = matrices_folder()
    if folder is None:
        return {}
    with open(folder / "MANIFEST.tsv", newline="") as lines:
        table = list(csv.DictReader(lines, delimiter="\t"))
    found = {line["name"]: (int(line["rows"]), int(line["nnz_nonzero_expanded"])) for line in table}
    return dict(sorted(found.items(), key=lambda item: item[1][1]))


def real_matrices(most_nonzeros=None):
    """Names of the real matrices available."""
    return [name for name, (_, nnz) in manifest().items() if most_nonzeros is None or nnz <= most_nonzeros]


@functools.cache
def load_real(name):
    """One real matrix as a csr_array with its explicit zeros."""
    A = sp.csr_array(read_entries(matrices_folder() / f"{name}.mtx.gz"))
    A = A if A.dtype.kind in "fc" else A.astype(np.float64)
    return make_csr(A.data, A.indices, A.indptr, A.shape[0])


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """``real_name`` runs over all real matrices, the others over those up to their number of nonzeros."""
    metafunc.parametrize = functools.partial(parametrize_what_runs, metafunc, metafunc.parametrize)
    for fixture, most_nonzeros in REAL_NAMES.items():
        if fixture in metafunc.fixturenames:
            names = real_matrices(most_nonzeros) or [None]
            metafunc.parametrize(
                fixture, [slow_or_quick(fixture, *each) for each in enumerate(names)], indirect=True
            )


def parametrize_what_runs(
    metafunc, parametrize, names, values, *arguments, ids=None, _param_mark=None, **options
):
    """Parametrize a test without the values that would be left out: collecting thousands of them takes time.

    One value stays where all are left out, so that the test is still reported. Pytest stores in `_param_mark`
    the names of all values, for other tests with the same mark, where other values may be left out.
    """
    values = list(values)
    whole_test = any(metafunc.definition.get_closest_marker(mark) for mark in LEFT_OUT)
    kept = [not whole_test and not LEFT_OUT.intersection(marks_of(value)) for value in values]
    kept = kept if any(kept) else [True] + [False] * (len(values) - 1)
    if ids is not None and not callable(ids):
        ids = list(itertools.compress(ids, kept))
    return parametrize(names, list(itertools.compress(values, kept)), *arguments, ids=ids, **options)


def marks_of(value):
    return [mark.name for mark in getattr(value, "marks", ())]


def slow_or_quick(fixture, place, name):
    rows, nonzeros = manifest().get(name, (0, 0))
    large = rows > 100_000 or nonzeros > QUICK_NONZEROS.get(fixture, nonzeros)
    return pytest.param(name, marks=pytest.mark.slow) if large or place % QUICK_STEP else name


def name_at_hand(request):
    if request.param is None:
        skip_or_fail("matrices", "LINFOREST_MATRICES names no folder with a MANIFEST.tsv")
    return request.param


real_name = pytest.fixture(name_at_hand, name="real_name")
medium_real_name = pytest.fixture(name_at_hand, name="medium_real_name")
small_real_name = pytest.fixture(name_at_hand, name="small_real_name")


@pytest.fixture
def with_threads(monkeypatch):
    """In a quick run, too, kernels use threads for arrays that are not small."""
    monkeypatch.setattr(jit, "FEW_ELEMENTS", FEW_ELEMENTS)


@pytest.fixture
def without_pictures(monkeypatch):
    """In a quick run reports of studies have empty pictures: drawing them takes most of the time."""
    if "slow" in LEFT_OUT:
        from linforest_precond.study import report

        monkeypatch.setattr(report, "as_svg", lambda figure: "<svg/>")


@pytest.fixture
def small_files():
    """A context in which files cannot grow beyond a few kB, as on a full disk."""
    resource = pytest.importorskip("resource")

    @contextlib.contextmanager
    def limited(size=4096):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited
