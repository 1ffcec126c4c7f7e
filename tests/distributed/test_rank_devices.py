"""Preconditioners over ranks on arrays of CuPy: set up on the host, applied on the GPU, as on the host."""

import ast
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
import strategies as graphs
from conftest import CPU, skip_or_fail

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.distributed import scatter, simulate
from linforest_precond.distributed.partition import device_messages
from linforest_precond.distributed.partition.device_messages import MpiMessages, NcclMessages, nccl_ranks
from linforest_precond.distributed.partition.mpi import is_aware_of_cuda

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
ROOM = Path(distributed.__file__).parent
N = 144


def nonsymmetric():
    A = lf.matrices.aniso(2, 12)
    return sp.csr_array(A + sp.diags_array([0.3 * np.ones(N - 1), -0.3 * np.ones(N - 1)], offsets=[1, -1]))


def indefinite():
    """A zero diagonal: it needs pivoting along the paths."""
    A = lf.matrices.aniso(1, 12)
    return sp.csr_array(A - sp.diags_array(A.diagonal()))


def complex_values():
    A = lf.matrices.aniso(2, 12)
    phases = np.exp(1j * np.random.default_rng(0).standard_normal(A.nnz))
    return sp.csr_array((A.data * phases, A.indices, A.indptr), shape=A.shape)


MATRICES = {
    "grid": lambda: lf.matrices.aniso(2, 12),
    "nonsymmetric": nonsymmetric,
    "indefinite": indefinite,
    "complex": complex_values,
    "one path": lambda: sp.csr_array(lf.matrices.poisson((N,))),
}


def multigrid(A, **options):
    return distributed.multilevel(A, **{"gather_below": 40, "max_coarse": 20, **options}).aspreconditioner()


SETUPS = {
    "jacobi": (distributed.jacobi, {}),
    "jacobi, stored in single precision": (distributed.jacobi, {"dtype": np.float32}),
    "tridiagonal": (distributed.tridiagonal, {}),
    "tridiagonal, scaled": (distributed.tridiagonal, {"scaling": "matching"}),
    "tridiagonal, local": (distributed.tridiagonal, {"scope": "local"}),
    "blocks": (distributed.block_tridiagonal, {}),
    "blocks of 4": (distributed.block_tridiagonal, {"block_size": 4}),
    "ilu": (distributed.ilu, {"ordering": "natural"}),
    "approximate inverse": (distributed.approximate_inverse, {}),
    "multigrid": (multigrid, {}),
    "multigrid, all levels over ranks": (multigrid, {"gather_below": 0}),
    "multigrid, all levels on every rank": (multigrid, {"gather_below": 1000}),
    "multigrid, K-cycle of pairs": (multigrid, {"coarsening": "matching", "cycle": "K"}),
    "multigrid, W-cycle of lines": (multigrid, {"cycle": "W", "smoother": "tridiagonal"}),
}


def products(backend, size, A, setup, right, other=None, offsets=None):
    """The joined products with M, M.T and M.H, also of one column; after an update by another matrix."""
    make, options = setup

    def multiply(comm):
        own = scatter(backend.csr(A), comm, offsets)
        M = make(own, **options)
        if other is not None:
            M.update(scatter(backend.csr(other), comm, offsets))
        r = backend.array(right[own.first : own.first + own.n_local])
        found = [M @ r, M.T @ r, M.H @ r, M @ r[:, 0]]
        assert all(isinstance(each, backend.xp.ndarray) for each in found)
        assert str(M) and M.nbytes > 0
        return [backend.host(each) for each in found]

    return [np.concatenate(parts) for parts in zip(*simulate(size, multiply))]


def assert_like_the_host(backend, size, A, setup, exactly=False, tolerance=1e-9, **options):
    rng = np.random.default_rng(1)
    right = rng.standard_normal((A.shape[0], 2)).astype(A.dtype)
    found = products(backend, size, A, setup, right, **options)
    expected = found if backend is CPU else products(CPU, size, A, setup, right, **options)
    for x, y in zip(found, expected):
        assert x.dtype == y.dtype
        if exactly:
            np.testing.assert_array_equal(x, y)
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * abs(y).max())


@pytest.mark.parametrize("name", SETUPS)
@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_products_are_those_of_the_host(backend, name, size):
    tolerance = 1e-5 if "single" in name else 1e-9
    A = MATRICES["grid"]()
    assert_like_the_host(backend, size, A, SETUPS[name], exactly=name == "jacobi", tolerance=tolerance)


@pytest.mark.parametrize("kind", ["tridiagonal", "blocks", "tridiagonal, scaled", "approximate inverse"])
@pytest.mark.parametrize(
    "matrix", ["nonsymmetric", "indefinite", pytest.param("complex", marks=pytest.mark.slow), "one path"]
)
def test_products_of_other_matrices_are_those_of_the_host(backend, kind, matrix):
    assert_like_the_host(backend, 3, MATRICES[matrix](), SETUPS[kind], tolerance=1e-6)


@pytest.mark.gpu
def test_a_path_over_many_ranks(cuda):
    """More than are linked by messages on the host; ranks without rows."""
    A = MATRICES["one path"]()
    assert_like_the_host(cuda, 12, A, SETUPS["tridiagonal"])
    offsets = np.array([0, 50, 50, N])
    assert_like_the_host(cuda, 3, A, SETUPS["tridiagonal"], offsets=offsets)
    assert_like_the_host(cuda, 12, indefinite(), SETUPS["tridiagonal"], tolerance=1e-6)


@pytest.mark.parametrize(
    "kind", ["jacobi", "tridiagonal", "blocks", "tridiagonal, local", "approximate inverse", "multigrid"]
)
def test_an_update_takes_new_values(backend, kind):
    A = MATRICES["grid"]()
    other = sp.csr_array((A.data * 1.5, A.indices, A.indptr), shape=A.shape)
    assert_like_the_host(backend, 2, A, SETUPS[kind], other=other)


def test_candidates_of_the_near_null_space(backend):
    def with_candidates(A):
        rows = np.arange(A.first, A.first + A.n_local)
        B = np.stack([np.ones(A.n_local), rows / N], axis=1)
        return multigrid(A, B=A.backend.xp.asarray(B))

    assert_like_the_host(backend, 2, lf.matrices.poisson((12, 12)), (with_candidates, {}))


def test_means_are_subtracted_where_constants_are_in_the_null_space(backend):
    A = lf.matrices.poisson((12, 12))
    A = sp.csr_array(A - sp.diags_array(A.sum(axis=1)))
    for options in ({}, {"coarsening": "matching", "cycle": "K"}):
        assert_like_the_host(backend, 2, A, (multigrid, options), tolerance=1e-7)


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres"])
def test_systems_are_solved(backend, method):
    A = lf.matrices.poisson((20, 20))

    def solve(comm):
        own = scatter(backend.csr(A), comm)
        b, found = backend.array(np.ones(own.n_local)), []
        for M in (distributed.tridiagonal(own), multigrid(own), distributed.approximate_inverse(own)):
            x, info = getattr(distributed, method)(own, b, M=M, rtol=1e-8)
            assert info == 0
            found.append(backend.host(x))
        residuals = []
        found.append(
            backend.host(distributed.multilevel(own).solve(b, tol=1e-8, accel=method, residuals=residuals))
        )
        assert residuals[-1] <= 1e-8 * residuals[0]
        return found

    for x in zip(*simulate(3, solve)):
        assert np.linalg.norm(A @ np.concatenate(x) - 1) <= 1.1e-8 * 20


def test_the_choice_is_that_of_the_host(backend):
    A = lf.matrices.aniso(2, 20)

    def kinds(comm):
        own = scatter(backend.csr(A), comm)
        M = distributed.auto(own, calibration="default")
        assert isinstance(M @ backend.array(np.ones(own.n_local)), backend.xp.ndarray)
        return M.kind

    whole = scatter_free_choice(A)
    assert set(simulate(2, kinds)) == {whole}


def scatter_free_choice(A):
    """The kind that one rank chooses on the host."""
    return simulate(1, lambda comm: distributed.auto(scatter(A, comm), calibration="default").kind)[0]


def assert_same(function, backend, size):
    """Assert that the ranks' arrays and numbers are those of the host, bit for bit."""
    found = simulate(size, function, backend)
    for own, expected in zip(found, found if backend is CPU else simulate(size, function, CPU)):
        for x, y in zip(own, expected, strict=True):
            assert getattr(x, "dtype", None) == getattr(y, "dtype", None)
            np.testing.assert_array_equal(x, y)


GRAPHS = {
    "grid": lambda: lf.matrices.aniso(1, 20),
    "ties": lambda: lf.matrices.poisson((15, 16)),
    "cycles": lambda: graphs.union_of_cycles([3, 4, 5, 8, 16, 31], "ties"),
    "cycle": lambda: graphs.cycle_graph(64, 1.0 + np.arange(64)),
    "star": lambda: graphs.star_graph(20),
    "nonsymmetric": lambda: graphs.random_graph(150, symmetric=False),
    "without edges": lambda: sp.eye_array(9, format="csr"),
    "fewer rows than ranks": lambda: graphs.path_graph(2),
    "more rows than a grid of threads": lambda: lf.matrices.aniso(2, 600),
}
ALONG_PATHS = "neighbors", "values", "path_id", "position"
OF_ORDER = "positions", "paths", "vertices", "starts_path"
FINDINGS = (
    *("n_paths", "longest_path", "n_cycles_broken", "iterations", "maximal", "coverage"),
    "identity_coverage",
)


@pytest.mark.parametrize("name", [*list(GRAPHS)[:-1], pytest.param(list(GRAPHS)[-1], marks=pytest.mark.slow)])
@pytest.mark.parametrize("options", [{}, {"iterations": None, "m": 1}], ids=str)
def test_forests_are_those_of_the_host(backend, name, options):
    A = GRAPHS[name]()

    def found(comm, own):
        parts = scatter(own.csr(A), comm)
        forest = distributed.linear_forest(parts, **options)
        bands = distributed.bands(parts, forest)
        arrays = [getattr(forest, each) for each in ALONG_PATHS]
        arrays += [getattr(forest.order, each) for each in OF_ORDER]
        arrays += [bands.lower, bands.diagonal, bands.upper]
        assert all(isinstance(each, own.xp.ndarray) for each in arrays)
        return [*map(own.host, arrays), *(getattr(forest, each) for each in FINDINGS)]

    assert_same(found, backend, 3)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "options",
    [{}, {"iterations": None}, {"ties": "random", "seed": 2**70}, {"charge": "md5", "seed": 3}],
    ids=str,
)
def test_factors_are_those_of_the_host(backend, n, options):
    A = graphs.random_graph(120, "ties", 1)

    def found(comm, own):
        factor = distributed.factor(scatter(own.csr(A), comm, [0, 0, 50, 120]), n, **options)
        numbers = factor.n_edges, factor.coverage, factor.iterations, factor.maximal
        return [own.host(factor.neighbors), own.host(factor.values), *numbers]

    assert_same(found, backend, 3)


def test_factors_of_types(backend):
    for dtype in (np.float32, np.float64, np.complex64):
        A = graphs.with_types(graphs.random_graph(90, "unique", 3), dtype, np.int32)

        def found(comm, own, A=A):
            factor = distributed.factor(scatter(own.csr(A), comm))
            return [own.host(factor.neighbors), own.host(factor.values)]

        assert_same(found, backend, 2)


@pytest.mark.parametrize("name", [*list(GRAPHS)[:-1], pytest.param(list(GRAPHS)[-1], marks=pytest.mark.slow)])
@pytest.mark.parametrize("weights", ["magnitude", "pattern"])
def test_matchings_and_coarse_matrices_are_those_of_the_host(backend, name, weights):
    A = GRAPHS[name]()

    def found(comm, own):
        parts = scatter(own.csr(A), comm)
        matching = distributed.matching(parts, weights=weights, seed=5)
        assert isinstance(matching.mate, own.xp.ndarray)
        coarse = distributed.coarsen(parts, matching)
        assert coarse.A.backend is parts.backend
        numbers = matching.size, matching.weight, matching.coverage, matching.iterations
        values = own.host(matching.mate), own.host(matching.values), own.host(coarse.A.rows.data)
        return [*numbers, *values, coarse.aggregates]

    assert_same(found, backend, 3)


@pytest.mark.gpu
def test_one_rank_passes_arrays_by_nccl(cuda):
    from cupy.cuda import nccl

    if not nccl.available:
        skip_or_fail("nccl", "NCCL is not installed")
    A, right = lf.matrices.aniso(2, 12), np.ones((N, 2))

    def by_nccl(comm, make, options):
        vars(comm)["device_messages"] = NcclMessages(comm, nccl_ranks(comm))
        return cuda.host(make(scatter(cuda.csr(A), comm), **options) @ cuda.array(right))

    for setup in SETUPS.values():
        (found,) = simulate(1, by_nccl, *setup)
        np.testing.assert_allclose(found, products(CPU, 1, A, setup, right)[0], rtol=1e-4, atol=1e-6)


SHARED = """
    import sys
    import cupy
    import cupyx.scipy.sparse as sparse
    import numpy as np
    import linforest_precond as lf
    from linforest_precond import distributed
    from linforest_precond.distributed.partition.device_messages import NcclMessages

    A, given = lf.matrices.poisson((20, 20)), np.load(sys.argv[1])
    csr = getattr(sparse, "csr_array", None) or sparse.csr_matrix
    on_device = csr(tuple(map(cupy.asarray, (A.data, A.indices, A.indptr))), shape=A.shape)
    own = distributed.scatter(on_device)
    comm, rows = own.comm, slice(own.first, own.first + own.n_local)
    b = cupy.ones(own.n_local)
    for kind in ("jacobi", "tridiagonal", "block_tridiagonal", "approximate_inverse", "multilevel"):
        M = getattr(distributed, kind)(own)
        M = M.aspreconditioner() if kind == "multilevel" else M
        assert np.allclose(cupy.asnumpy(M @ b), given[kind][rows], rtol=1e-9)
        x, info = distributed.cg(own, b, M=M, rtol=1e-8)
        assert info == 0 and np.allclose(cupy.asnumpy(x), given["x"][rows], rtol=1e-5)
    found = distributed.linear_forest(own).path_id, distributed.matching(own).mate
    for array, name in zip(found, ("path_id", "mate")):
        assert (cupy.asnumpy(array) == given[name][rows]).all()
    assert not isinstance(vars(comm)["device_messages"], NcclMessages)
    if comm.rank == 0:
        print("as on the host", flush=True)
"""


@pytest.mark.gpu
@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_of_mpi_share_the_gpu(cuda, mpiexec, tmp_path, ranks):
    A, kinds = lf.matrices.poisson((20, 20)), ("jacobi", "tridiagonal", "block_tridiagonal")
    makes = {kind: getattr(distributed, kind) for kind in (*kinds, "approximate_inverse")}
    makes["multilevel"] = lambda A: distributed.multilevel(A).aspreconditioner()
    expected = {
        kind: simulate(1, lambda comm, make=make: make(scatter(A, comm)) @ np.ones(400))[0]
        for kind, make in makes.items()
    }
    expected |= {"path_id": lf.linear_forest(A).path_id, "mate": lf.graph.matching(A).mate}
    np.savez(tmp_path / "given.npz", x=scipy.sparse.linalg.spsolve(sp.csc_array(A), np.ones(400)), **expected)
    done = mpiexec(ranks, SHARED, tmp_path / "given.npz")
    assert done.code == 0 and "as on the host" in done.output, done.output


def test_an_mpi_library_says_whether_it_takes_arrays_on_the_device(monkeypatch):
    def of(kinds):
        return is_aware_of_cuda(SimpleNamespace(Get_info=lambda: {"mpi_memory_alloc_kinds": kinds}))

    pytest.importorskip("mpi4py.MPI")
    monkeypatch.setattr("ctypes.CDLL", lambda path: SimpleNamespace())
    assert of("mpi,system,cuda:device") and not of("mpi,system")
    monkeypatch.setattr("ctypes.CDLL", lambda path: SimpleNamespace(MPIX_Query_cuda_support=lambda: 1))
    assert of("mpi,system")


@pytest.mark.parametrize(("takes", "kind"), [(True, "MpiMessages"), (False, "HostMessages")])
def test_ranks_that_share_a_gpu_pass_arrays_by_mpi_or_through_the_host(takes, kind):
    """Both ranks have the same GPU, or none: NCCL would need one for each."""
    comm = SimpleNamespace(size=2, are_processes=True, takes_gpu_arrays=takes)
    comm._allgather = lambda value: [value] * 2
    assert type(device_messages.device_messages(comm)).__name__ == kind


@pytest.mark.parametrize("shape", [(np.int64(3), 2), (np.int64(0), 2), 6])
def test_pinned_memory_has_the_shape_that_is_asked_for(monkeypatch, shape):
    monkeypatch.setitem(sys.modules, "cupyx", SimpleNamespace(empty_pinned=np.empty))
    found = device_messages.pinned(shape, np.float64)
    assert found.shape == np.empty(shape).shape and found.dtype == np.float64


def test_mpi_gets_arrays_of_the_device_after_kernels_have_ended(monkeypatch):
    """NumPy in place of CuPy: what is passed, and that the stream is waited for."""
    waits = []
    monkeypatch.setattr(device_messages, "finish_stream", lambda: waits.append(1))
    monkeypatch.setitem(sys.modules, "cupy", np)

    def passed(comm):
        messages, other = MpiMessages(comm), 1 - comm.rank
        own = np.arange(6.0).reshape(3, 2) + 10 * comm.rank
        total = messages._allreduce(own[:, ::-1], "sum")
        (found,) = messages._exchange({other: own[::2]}, {other: 2}, own).values()
        whole = messages._allgather_arrays(own, [3, 3])
        first = messages._broadcast(own.copy(), 0)
        return total.tolist(), found.tolist(), whole.shape, first[0].tolist()

    total = [[12.0, 10.0], [16.0, 14.0], [20.0, 18.0]]
    zero, one = simulate(2, passed)
    assert zero == (total, [[10.0, 11.0], [14.0, 15.0]], (6, 2), [0.0, 1.0])
    assert one == (total, [[0.0, 1.0], [4.0, 5.0]], (6, 2), [0.0, 1.0]) and len(waits) == 8


def copies_to_the_host(path):
    """The lines of a module that call `on_host`, or the method `get` of an array."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "on_host":
            yield node.lineno


@pytest.mark.parametrize("path", sorted(ROOM.rglob("*.py")), ids=lambda path: path.stem)
def test_copies_to_the_host_are_marked(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    for number in copies_to_the_host(path):
        assert "# stall: " in lines[number - 1] + lines[number - 2] + lines[max(number - 3, 0)], lines[
            number - 1
        ]
