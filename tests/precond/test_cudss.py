"""Factors by cuDSS: on a GPU where it is installed, and their bookkeeping with a stand-in for the library."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from operator_cases import dominant, other_values, vectors
from test_direct import backward_error, line, random_matrix, saddle_point, solve_refined

import linforest_precond as lf
from linforest_precond.backends.cuda.direct import cudss, sparse_lu
from linforest_precond.matrix.checked import checked


@pytest.fixture
def gpu(cuda):
    if cudss.unusable():
        pytest.skip(cudss.unusable())
    return cuda


@pytest.mark.gpu
class TestOnGpu:
    @pytest.mark.parametrize("index", [np.int32, np.int64])
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    @pytest.mark.parametrize("symmetric", [False, True])
    def test_all_types(self, gpu, dtype, index, symmetric):
        A = dominant(200, dtype, symmetric=symmetric, index_dtype=index)
        M = lf.direct(gpu.csr(A))
        assert "cuDSS" in line(M, "factored by") and line(M, "order") == "nested dissection"
        assert ("Cholesky" in line(M, "factored by")) == M.positive_definite == symmetric
        assert M.nbytes > 0 and M._part.factors.entries >= A.nnz // 2
        b, eps = vectors(dtype, 200, 3), np.finfo(dtype).eps
        for transpose in (False, True):
            operator, matrix = (M.T, A.T) if transpose else (M, A)
            x = gpu.host(operator @ gpu.array(b))
            assert np.linalg.norm(matrix @ x - b) <= 1e3 * eps * np.linalg.norm(b)

    def test_updates_keep_the_analysis(self, gpu):
        A = dominant(300, symmetric=False)
        B = other_values(A)
        M = lf.direct(gpu.csr(A))
        analysis, before = M._part.factors._analysis, M.frozen()
        M.update(gpu.csr(B))
        assert M._part.factors._analysis is analysis
        b = np.ones(300)
        # The old factors are made again, and the new ones after them.
        for operator, matrix in ((M, B), (before, A), (M, B)):
            assert backward_error(matrix, gpu.host(operator @ gpu.array(b)), b) <= 1e-13

    def test_an_update_that_is_not_definite(self, gpu):
        A = dominant(100)
        B = A.copy()
        B.setdiag(-B.diagonal())
        M = lf.direct(gpu.csr(A))
        M.update(gpu.csr(B))
        b = np.ones(100)
        assert not M.positive_definite
        assert backward_error(B, gpu.host(M @ gpu.array(b)), b) <= 1e-13

    @pytest.mark.parametrize("make", [saddle_point, lambda: random_matrix(200, diagonal=0.0)])
    def test_bad_diagonals(self, gpu, make):
        A = make()
        b = A @ np.ones(A.shape[0])
        x, error = solve_refined(checked(gpu.csr(A)), lf.direct(gpu.csr(A)), gpu.array(b))
        assert error <= 1e-14 and backward_error(A, gpu.host(x), b) <= 1e-13

    def test_orders(self, gpu):
        """A given order is followed: fewer entries than in A's own."""
        A = lf.matrices.poisson((60, 60))
        entries = {
            order: lf.direct(gpu.csr(A), ordering=order)._part.factors.entries
            for order in ("auto", "minimum_degree", "natural")
        }
        assert entries["auto"] < entries["natural"] and entries["minimum_degree"] < entries["natural"]

    def test_several_streams(self, gpu):
        A = lf.matrices.poisson((50, 50))
        M = lf.direct(gpu.csr(A))
        b = gpu.array(np.ones(2500))
        wanted, results = gpu.host(M @ b), []

        def solve():
            with gpu.xp.cuda.Stream(non_blocking=True) as stream:
                results.extend(M @ b for _ in range(20))
                stream.synchronize()

        gpu.xp.cuda.Device().synchronize()
        threads = [threading.Thread(target=solve) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 60
        assert all(np.array_equal(gpu.host(x), wanted) for x in results)

    def test_memory_is_given_back(self, gpu):
        A = gpu.csr(lf.matrices.poisson((100, 100)))
        lf.direct(A)
        pool = gpu.xp.get_default_memory_pool()
        before = pool.used_bytes()
        M = lf.direct(A)
        assert pool.used_bytes() > before
        del M
        assert pool.used_bytes() <= before

    def test_solvers_take_it(self, gpu):
        A = gpu.csr(lf.matrices.poisson((40, 40)))
        b = gpu.array(np.ones(1600))
        for solver in (lf.solvers.cg, lf.solvers.bicgstab, lf.solvers.gmres):
            x, info = solver(A, b, M=lf.direct(A), rtol=1e-10, maxiter=5)
            assert info == 0


class Stream:
    def synchronize(self):
        pass

    def wait_event(self, event):
        pass


class System:
    """A stand-in for `cudss.System`: dense solves, with the values of the last factorization."""

    def __init__(self, csr, matrix_type):
        self.session = SimpleNamespace(lock=threading.Lock())
        self.csr, self.matrix_type, self.phases = csr, matrix_type, []

    def run(self, phase, values=None):
        self.phases.append(phase)
        if values is not None:
            self.dense = sp.csr_array(
                (values, self.csr.indices, self.csr.indptr), shape=self.csr.shape
            ).toarray()

    def solve(self, b, x, mode):
        assert b.flags.f_contiguous and x.flags.f_contiguous and b.dtype == x.dtype == self.dense.dtype
        x[...] = np.linalg.solve(self.dense.T if mode else self.dense, b)

    def number(self, parameter):
        if parameter != cudss.INFO or self.matrix_type == cudss.GENERAL:
            return 7
        return int(np.linalg.eigvalsh(self.dense).min() <= 0)

    def memory(self):
        return 1000, 2000


@pytest.fixture
def stand_in(monkeypatch):
    event = SimpleNamespace(record=lambda: None)
    streams = SimpleNamespace(get_current_stream=Stream, Event=lambda **_: event)
    numbers = {name: getattr(np, name) for name in ("asfortranarray", "empty", "nan")}
    monkeypatch.setattr(sparse_lu, "cupy", SimpleNamespace(cuda=streams, asnumpy=np.asarray, **numbers))
    monkeypatch.setattr(sparse_lu, "free_bytes", lambda: 3000)
    monkeypatch.setattr(cudss, "System", System)
    monkeypatch.setattr(cudss, "version", lambda: "1.0.0")


@pytest.mark.usefixtures("stand_in")
class TestBookkeeping:
    def factors(self, A):
        csr = checked(A)
        return sparse_lu.factor(csr, None, "diagonal", csr.definite, 0.0)

    def solved(self, factors, b, transpose=False):
        x = np.empty(b.shape, np.promote_types(b.dtype, factors.csr.dtype))
        factors.solve_into(b, x, transpose)
        return x

    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex128]))
    @pytest.mark.parametrize("symmetric", [False, True])
    def test_layouts_and_transposes(self, dtype, symmetric):
        A = dominant(dtype=dtype, symmetric=symmetric)
        factors, b = self.factors(A), vectors(dtype, A.shape[0], 4)
        assert factors.definite == symmetric
        for given in (b, b[:, ::2], np.asfortranarray(b), b[:, :1]):
            for transpose in (False, True):
                wanted = np.linalg.solve(A.toarray().T if transpose else A.toarray(), given)
                np.testing.assert_allclose(self.solved(factors, given, transpose), wanted, rtol=1e-10)

    def test_factors_of_two_matrices_share_an_analysis(self):
        A = dominant(symmetric=False)
        B = other_values(A)
        first = self.factors(A)
        second = first.refactored(checked(B))
        b = np.ones((A.shape[0], 1))
        for factors, matrix in ((second, B), (first, A), (first, A), (second, B)):
            np.testing.assert_allclose(matrix @ self.solved(factors, b), b, rtol=1e-10)
        wanted = [cudss.ANALYSIS, cudss.FACTORIZATION, *[cudss.REFACTORIZATION] * 3]
        assert first._analysis._system.phases == wanted

    def test_cholesky_factors_that_do_not_exist(self):
        A = sp.csr_array(np.array([[1.0, 2.0], [2.0, 1.0]]))  # a positive diagonal, and indefinite
        factors = self.factors(A)
        assert not factors.definite and "LU" in factors.library
        definite = self.factors(sp.csr_array(np.array([[3.0, 2.0], [2.0, 3.0]])))
        assert definite.definite and not definite.refactored(checked(A)).definite

    def test_memory_is_checked_after_the_analysis(self, monkeypatch):
        monkeypatch.setattr(sparse_lu, "free_bytes", lambda: 1999)
        with pytest.raises(MemoryError, match="2,000 bytes on the GPU, and 1,999 are free"):
            self.factors(dominant())
