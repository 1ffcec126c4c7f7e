"""cg, fcg and bicgstab: their results, and the arguments that they refuse."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
import strategies as graphs
from conftest import CPU
from operator_cases import assert_close, dominant
from solver_cases import (
    QUICK,
    SLACK,
    SOLVERS,
    SYMMETRIC,
    Watch,
    each_solver,
    each_type,
    grid,
    iterations_of,
    library,
    noise,
    recorded,
    true_residuals,
    users_operator,
)

import linforest_precond as lf
from linforest_precond.solvers import History, Status


def scipy_iterate(solver, A, b, M, count):
    """SciPy's x after some iterations, where it has the method, with the preconditioner on the same side."""
    options = {"M": M, "rtol": 1e-14, "maxiter": count}
    if solver == "idrs" or (M is not None and solver in ("gmres", "fgmres")):
        return None
    if solver in ("gmres", "fgmres"):
        options |= {"restart": count, "maxiter": 1, "callback": lambda x: None, "callback_type": "x"}
    name = {"fcg": "cg", "fgmres": "gmres"}.get(solver, solver)
    return getattr(scipy.sparse.linalg, name)(A, b, **options)[0]


class TestAnswers:
    @pytest.mark.parametrize(("solver", "dtype"), each_type(graphs.DTYPES))
    def test_all_types(self, backend, solver, dtype):
        """Hermitian for cg and fcg, general for bicgstab."""
        A = dominant(dtype=dtype, symmetric=solver in SYMMETRIC)
        single = np.dtype(dtype).char in "fF"
        rtol = 1e-5 if single else 1e-11
        x_t = noise(A.shape[0], dtype=dtype)
        b = backend.array(A @ x_t)
        x, info, told = recorded(SOLVERS[solver], backend.csr(A), b, rtol=rtol)
        assert isinstance(x, backend.xp.ndarray) and x.dtype == dtype and x.shape == x_t.shape
        assert info == 0 and isinstance(info, int) and not told
        assert true_residuals(backend, A, b, x) <= rtol * (1.02 if single else SLACK)
        assert_close(backend.host(x), x_t, 1e-3 if single else 1e-9)

    @each_solver
    @pytest.mark.parametrize(
        ("of_A", "of_b", "of_x0", "wanted"),
        [
            (np.float64, np.float32, None, np.float64),
            graphs.slow(np.float32, np.float64, None, np.float64),
            graphs.slow(np.float32, np.float32, np.float64, np.float64),
            graphs.slow(np.float64, np.complex64, None, np.complex128),
            graphs.slow(np.float32, np.complex64, None, np.complex64),
            (np.float64, np.int64, None, np.float64),
            (np.int64, np.int32, bool, np.float64),
        ],
    )
    def test_mixed_types(self, backend, solver, of_A, of_b, of_x0, wanted):
        A = sp.csr_array(np.rint(grid(solver, 8).toarray() * 10).astype(np.float64))
        b = np.rint(10 * noise(64, dtype=np.promote_types(of_b, np.float32))).astype(of_b)
        x0 = None if of_x0 is None else backend.array(np.ones(64, of_x0))
        B = graphs.with_types(A, of_A)
        if backend is not CPU and of_A is np.int64:
            B = B.toarray()  # cupyx has no sparse matrices of integers
        B = backend.array(B) if isinstance(B, np.ndarray) else backend.csr(B)
        x, info = SOLVERS[solver](B, backend.array(b), x0)
        assert info == 0 and x.dtype == wanted
        assert true_residuals(backend, A, b, x) <= 1.02e-5

    @each_solver
    def test_forms_of_matrices(self, backend, solver):
        A = grid(solver, 12)
        B, b = backend.csr(A), backend.array(noise(144))
        wanted, _ = SOLVERS[solver](B, b, rtol=1e-10)
        operator = library(backend).aslinearoperator(B)
        for form in (B.tocsc(), B.tocoo(), B.toarray(), operator, backend.xp.asfortranarray(B.toarray())):
            x, info = SOLVERS[solver](form, b, rtol=1e-10)
            assert info == 0
            assert_close(backend.host(x), backend.host(wanted), 1e-8)

    @each_solver
    @pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
    def test_other_forms_of_scipy(self, solver):
        A, b = grid(solver, 12), noise(144)
        wanted, _ = SOLVERS[solver](A, b, rtol=1e-10)
        for form in (sp.csr_matrix(A), sp.lil_array(A), sp.dok_array(A), sp.bsr_array(A), sp.dia_array(A)):
            np.testing.assert_array_equal(SOLVERS[solver](form, b, rtol=1e-10)[0], wanted)
        x, info = SOLVERS[solver](np.asmatrix(A.toarray()), b, rtol=1e-10, M=np.asmatrix(np.eye(144)))
        assert info == 0 and type(x) is np.ndarray and x.shape == (144,)
        assert_close(x, wanted, 1e-8)

    @each_solver
    @pytest.mark.parametrize("index_dtype", graphs.quick(graphs.INDEX_DTYPES))
    def test_indices(self, backend, solver, index_dtype):
        A, b = grid(solver), noise(400)
        x, _ = SOLVERS[solver](backend.csr(graphs.with_types(A, index_dtype=index_dtype)), backend.array(b))
        assert true_residuals(backend, A, b, x) <= 1e-5 * SLACK

    @each_solver
    def test_duplicates_and_unsorted_entries(self, backend, solver):
        A = grid(solver)
        B = backend.csr(A)
        for part in ("data", "indices"):
            values = getattr(B, part)
            for i in range(10):
                row = slice(int(A.indptr[i]), int(A.indptr[i + 1]))
                values[row] = values[row][::-1].copy()
        B.has_sorted_indices = False
        b = backend.array(noise(400))
        x, info = SOLVERS[solver](B, b)
        assert info == 0 and true_residuals(backend, A, b, x) <= 1e-5 * SLACK

    @each_solver
    @pytest.mark.parametrize("size", [0, 1, 2])
    def test_tiny(self, backend, solver, size):
        A = sp.csr_array(2 * np.eye(size))
        x, info = SOLVERS[solver](backend.csr(A), backend.array(np.ones(size)))
        assert info == 0 and x.shape == (size,)
        np.testing.assert_allclose(
            backend.host(x), np.full(size, 0.5), rtol=1e-15 if solver in QUICK else 1e-14
        )

    @each_solver
    def test_the_users_arrays_are_left_alone(self, backend, solver):
        A = grid(solver)
        B, b, x0 = backend.csr(A), backend.array(noise(400, 2)), backend.array(noise(400, 2, seed=1))
        before = [backend.host(part).copy() for part in (B.data, B.indices, B.indptr, b, x0)]
        x, _ = SOLVERS[solver](B, b, x0, rtol=1e-9)
        x[...] = 7
        for part, was in zip((B.data, B.indices, B.indptr, b, x0), before):
            np.testing.assert_array_equal(backend.host(part), was)

    @each_solver
    def test_arrays_that_cannot_be_written(self, solver):
        A, b, x0 = grid(solver), noise(400), noise(400, seed=1)
        for part in (A.data, A.indices, A.indptr, b, x0):
            part.setflags(write=False)
        x, info = SOLVERS[solver](A, b, x0, M=lf.tridiagonal(A))
        assert info == 0 and x.flags.writeable

    @each_solver
    def test_lists(self, solver):
        A = grid(solver, 5)
        b = noise(25)
        x, info = SOLVERS[solver](A, b.tolist(), np.zeros(25).tolist())
        assert info == 0
        np.testing.assert_array_equal(x, SOLVERS[solver](A, b, np.zeros(25))[0])

    @each_solver
    def test_strides(self, backend, solver):
        A = backend.csr(grid(solver))
        b = backend.array(noise(800, 6))
        for part in (b[::2, 0], b[:400, 3], b[400:, ::2], b[:400].T.copy().T, b[:400][::-1, 1:3]):
            wanted, _ = SOLVERS[solver](A, backend.xp.ascontiguousarray(part))
            x, _ = SOLVERS[solver](A, part)
            np.testing.assert_array_equal(backend.host(x), backend.host(wanted))
            x, _ = SOLVERS[solver](A, backend.xp.ascontiguousarray(part), part)
            y, _ = SOLVERS[solver](A, part, backend.xp.ascontiguousarray(part))
            np.testing.assert_array_equal(backend.host(x), backend.host(y))

    @each_solver
    def test_runs_repeat_bit_for_bit(self, backend, solver):
        A = grid(solver, 40)
        B, b = backend.csr(A), noise(A.shape[0], 3)
        M = lf.tridiagonal(B)
        for columns in (b[:, 0], b):
            runs = []
            for _ in range(3):
                history = History()
                x, info = SOLVERS[solver](B, backend.array(columns), rtol=1e-9, M=M, history=history)
                runs.append((backend.host(x), history.residuals, history.iterations, np.asarray(info)))
            for run in runs[1:]:
                for found, wanted in zip(run, runs[0]):
                    np.testing.assert_array_equal(found, wanted)

    @each_solver
    def test_a_watched_run_is_the_same(self, backend, solver):
        """On the GPU a callback keeps the iteration out of a graph."""
        A = backend.csr(grid(solver, 40))
        b = backend.array(noise(1600))
        for kind in (None, lf.jacobi, lf.tridiagonal, lf.block_tridiagonal):
            M = None if kind is None else kind(A)
            plain, _ = SOLVERS[solver](A, b, M=M, rtol=1e-9)
            for options in ({"callback": lambda x: None}, {"history": History(b)}):
                x, _ = SOLVERS[solver](A, b, M=M, rtol=1e-9, **options)
                np.testing.assert_array_equal(backend.host(x), backend.host(plain))

    @each_solver
    @pytest.mark.parametrize("exponent", [-200, -100, 100, 140])
    def test_the_scale_does_not_matter(self, backend, solver, exponent):
        """Powers of two change no digit of the iterates."""
        A, b = grid(solver), noise(400)
        wanted, _ = SOLVERS[solver](backend.csr(A), backend.array(b), rtol=1e-9)
        x, info, told = recorded(SOLVERS[solver], backend.csr(A), backend.array(b * 2.0**exponent), rtol=1e-9)
        assert info == 0 and not told
        assert_close(backend.host(x) * 2.0**-exponent, backend.host(wanted), 1e-12)
        x, info = SOLVERS[solver](backend.csr(A * 2.0**exponent), backend.array(b), rtol=1e-9)
        assert info == 0
        assert_close(backend.host(x) * 2.0**exponent, backend.host(wanted), 1e-12)

    @each_solver
    def test_threads(self, solver):
        """Concurrent solves with one matrix and one M."""
        A, b = grid(solver, 40), noise(1600, 8)
        M = lf.tridiagonal(A)
        wanted = [SOLVERS[solver](A, b[:, c], M=M)[0] for c in range(8)]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda c: SOLVERS[solver](A, b[:, c], M=M)[0], range(8)))
        np.testing.assert_array_equal(found, wanted)

    @pytest.mark.gpu
    @each_solver
    def test_other_streams(self, cuda, solver):
        A = grid(solver, 40)
        B, b = cuda.csr(A), cuda.array(noise(1600))
        M = lf.tridiagonal(B)
        wanted, _ = SOLVERS[solver](B, b, M=M)
        cuda.xp.cuda.Device().synchronize()
        stream = cuda.xp.cuda.Stream(non_blocking=True)
        for _ in range(2):
            with stream:
                x, info = SOLVERS[solver](B, b, M=M)
            stream.synchronize()
            assert info == 0
            np.testing.assert_array_equal(cuda.host(x), cuda.host(wanted))

    @pytest.mark.gpu
    @each_solver
    def test_backends_agree(self, cuda, solver):
        A = grid(solver, 30)
        b = noise(900, 2)
        for kind in (None, lf.tridiagonal):
            answers = []
            for backend in (CPU, cuda):
                B = backend.csr(A)
                M = None if kind is None else kind(B)
                answers.append(backend.host(SOLVERS[solver](B, backend.array(b), rtol=1e-10, M=M)[0]))
            assert_close(*answers, 1e-7)


class TestStarts:
    @each_solver
    def test_x0_is_where_it_starts(self, backend, solver):
        """As many iterations as from 0 with the residual of x0 as b."""
        A = grid(solver)
        b, x0 = noise(400), noise(400, seed=1)
        history, other = History(), History()
        size = np.linalg.norm(b)
        x, info = SOLVERS[solver](
            backend.csr(A), backend.array(b), backend.array(x0), rtol=0, atol=1e-8 * size, history=history
        )
        y, _ = SOLVERS[solver](
            backend.csr(A), backend.array(b - A @ x0), rtol=0, atol=1e-8 * size, history=other
        )
        assert info == 0 and true_residuals(backend, A, b, x) <= 1e-8 * SLACK
        assert_close(backend.host(x), x0 + backend.host(y), 1e-9)
        assert abs(iterations_of(history) - iterations_of(other)) <= 1
        assert history.residuals[0] == pytest.approx(np.linalg.norm(b - A @ x0) / size, rel=1e-12)

    @each_solver
    @pytest.mark.parametrize("shape", [(400,), (400, 1)])
    def test_shapes_of_x0(self, backend, solver, shape):
        A, b, x0 = backend.csr(grid(solver)), noise(400), noise(400, seed=1)
        wanted, _ = SOLVERS[solver](A, backend.array(b), backend.array(x0))
        for of_b in ((400,), (400, 1)):
            x, info = SOLVERS[solver](A, backend.array(b.reshape(of_b)), backend.array(x0.reshape(shape)))
            assert info == 0 and x.shape == (400,)
            np.testing.assert_array_equal(backend.host(x), backend.host(wanted))

    @each_solver
    def test_a_start_that_solves(self, backend, solver):
        A = grid(solver)
        x0 = np.arange(1.0, 401)
        b = A @ x0
        history, watch = History(), Watch(backend)
        x, info, told = recorded(
            SOLVERS[solver], backend.csr(A), backend.array(b), backend.array(x0), rtol=1e-10,
            history=history, callback=watch,
        )  # fmt: skip
        assert info == 0 and not told and not watch.seen
        np.testing.assert_array_equal(backend.host(x), x0)
        np.testing.assert_array_equal(history.iterations, [0])
        assert history.status is Status.CONVERGED and history.residuals[0] <= 1e-10

    @each_solver
    @pytest.mark.parametrize("with_x0", [False, True])
    def test_nothing_to_solve(self, backend, solver, with_x0):
        """b = 0 gives x = 0 for any x0."""
        A = backend.csr(grid(solver))
        x0 = backend.array(noise(400)) if with_x0 else None
        history, watch = History(), Watch(backend)
        x, info, told = recorded(
            SOLVERS[solver], A, backend.xp.zeros(400), x0, M=lf.jacobi(A), history=history, callback=watch
        )
        assert info == 0 and not told and not watch.seen
        np.testing.assert_array_equal(backend.host(x), np.zeros(400))
        assert history.status is Status.CONVERGED and len(history) == 1
        assert np.isfinite(history.residuals).all() and str(history)

    @each_solver
    def test_goes_on_from_its_own_answer(self, backend, solver):
        A, b = grid(solver), noise(400)
        x, info = SOLVERS[solver](backend.csr(A), backend.array(b), maxiter=5)
        assert info == 5
        x, info = SOLVERS[solver](backend.csr(A), backend.array(b), x)
        assert info == 0 and true_residuals(backend, A, b, x) <= 1e-5 * SLACK

    @each_solver
    def test_a_start_on_the_border(self, backend, solver):
        """A first residual that meets the tolerance up to rounding errors keeps x0."""
        A = grid(solver, 6)
        for seed in range(20):
            b, x0 = noise(36, seed=seed), noise(36, seed=100 + seed)
            r = b - A @ x0
            for size in (np.linalg.norm(r), np.sqrt(np.sum(r * r)), np.sqrt(np.dot(r, r))):
                watch = Watch(backend)
                x, info = SOLVERS[solver](
                    backend.csr(A), backend.array(b), backend.array(x0), rtol=0, atol=float(size),
                    callback=watch,
                )  # fmt: skip
                assert info == 0 and len(watch.seen) <= 2
                assert np.linalg.norm(b - A @ backend.host(x)) <= size * SLACK


class TestTolerances:
    @each_solver
    @pytest.mark.parametrize(("rtol", "atol"), [(1e-3, 0), (1e-9, 0), (0, 1e-6), (1e-9, 1e-2), (1e-2, 1e-9)])
    def test_the_larger_one_counts(self, backend, solver, rtol, atol):
        A, b = grid(solver), 30 * noise(400)
        target = max(rtol * np.linalg.norm(b), atol)
        history = History()
        x, info = SOLVERS[solver](backend.csr(A), backend.array(b), rtol=rtol, atol=atol, history=history)
        assert info == 0
        norms = history.residuals * np.linalg.norm(b)
        assert norms[-1] <= target * SLACK and (norms[:-1] > target / SLACK).all()
        assert np.linalg.norm(b - A @ backend.host(x)) <= target * SLACK

    @each_solver
    def test_the_default(self, backend, solver):
        A, b = backend.csr(grid(solver)), backend.array(noise(400))
        wanted, _ = SOLVERS[solver](A, b, rtol=1e-5, atol=0, maxiter=4000)
        np.testing.assert_array_equal(backend.host(SOLVERS[solver](A, b)[0]), backend.host(wanted))

    @each_solver
    @pytest.mark.parametrize("kind", [None, lf.tridiagonal])
    def test_maxiter(self, backend, solver, kind):
        """Exactly maxiter iterations, no warning, and SciPy's x."""
        A, b = grid(solver), noise(400)
        B = backend.csr(A)
        M, N = (None, None) if kind is None else (kind(B), kind(A))
        for most in (1, 2, 3, 7, np.int64(8), 16, 17):
            history, watch = History(), Watch(backend)
            x, info, told = recorded(
                SOLVERS[solver], B, backend.array(b), M=M, rtol=1e-14, maxiter=most, history=history
            )
            assert info == most and isinstance(info, int) and not told
            assert history.status is Status.MAXITER and history.info == most
            assert iterations_of(history) == history.iterations[-1] == most
            wanted = scipy_iterate(solver, A, b, N, most)
            if wanted is not None:
                assert_close(backend.host(x), wanted, 1e-10)
            SOLVERS[solver](B, backend.array(b), M=M, rtol=1e-14, maxiter=most, callback=watch)
            assert len(watch.seen) == most
            np.testing.assert_array_equal(watch.seen[-1], backend.host(x))

    @each_solver
    def test_no_iterations(self, backend, solver):
        """x0 is returned; info says whether it solves the system."""
        A, x0 = grid(solver), noise(400)
        for b, solved in ((noise(400, seed=1), False), (A @ x0, True)):
            history = History()
            x, info, told = recorded(
                SOLVERS[solver],
                backend.csr(A),
                backend.array(b),
                backend.array(x0),
                maxiter=0,
                history=history,
            )
            np.testing.assert_array_equal(backend.host(x), x0)
            assert (info == 0) is solved and info >= 0 and not told
            assert history.status is (Status.CONVERGED if solved else Status.MAXITER)

    @each_solver
    def test_ten_iterations_a_row(self, backend, solver):
        """The most iterations without maxiter."""
        A = grid(solver, 3)
        x, info, _ = recorded(SOLVERS[solver], backend.csr(A), backend.array(noise(9)), rtol=0, atol=1e-320)
        assert info == 90 or info < 0


class TestColumns:
    def systems(self, solver):
        """Columns of different difficulty: an eigenvector, a sum of two, zero, noise, and scaled noise."""
        A = lf.matrices.poisson((15, 15))
        if solver not in SYMMETRIC:
            A = sp.csr_array(A + 0.2 * sp.eye_array(225, k=1))
        along = np.sin(np.pi * np.arange(1, 16)[:, None] * np.arange(1, 16) / 16)
        modes = np.stack([np.outer(along[i], along[i]).ravel() for i in (0, 4)], axis=1)
        b = noise(225, 6)
        if solver in SYMMETRIC:
            b[:, 0], b[:, 1] = modes[:, 0], modes.sum(axis=1)
        b[:, 2] = 0
        b[:, 4] *= 1e-9
        return A, b

    @each_solver
    @pytest.mark.parametrize("kind", [None, lf.tridiagonal, "user"])
    def test_together_as_one_by_one(self, backend, solver, kind):
        A, b = self.systems(solver)
        B = backend.csr(A)
        if kind == "user":
            diagonal = backend.array(1 / np.linspace(3, 5, 225))
            M, _ = users_operator(backend, 225, lambda x: (diagonal * x.T).T)
        else:
            M = None if kind is None else kind(B)
        history, watch = History(), Watch(backend)
        x, info = SOLVERS[solver](B, backend.array(b), rtol=1e-9, M=M, history=history, callback=watch)
        assert isinstance(info, np.ndarray) and info.shape == (6,) and info.dtype.kind == "i"
        assert x.shape == b.shape and not info.any()
        assert history.residuals.shape == (len(history), 6)
        counts = []
        for c in range(6):
            alone = History()
            y, _ = SOLVERS[solver](B, backend.array(b[:, c]), rtol=1e-9, M=M, history=alone)
            counts.append(iterations_of(alone))
            assert abs(iterations_of(history, c) - counts[c]) <= (1 if solver in SYMMETRIC else 2)
            np.testing.assert_allclose(backend.host(x)[:, c], backend.host(y), atol=1e-7 * max(abs(b[:, c])))
            shared = min(len(alone), 8)
            np.testing.assert_allclose(
                history.residuals[:shared, c], alone.residuals[:shared], rtol=1e-6, atol=1e-12
            )
            # Stopped columns do not change, in x and in the history.
            for seen in watch.seen[counts[c] + 2 :]:
                np.testing.assert_array_equal(seen[:, c], backend.host(x)[:, c])
            last = np.flatnonzero(~np.isnan(history.residuals[:, c]))[-1]
            assert np.isnan(history.residuals[last + 1 :, c]).all()
            assert not np.isnan(history.residuals[: last + 1, c]).any()
        together = [iterations_of(history, c) for c in range(6)]
        assert counts[2] == together[2] == 0 and max(together) == len(watch.seen)
        if solver in SYMMETRIC and kind is None:
            assert counts[:2] == [1, 2]
        good = b.any(axis=0)
        assert (true_residuals(backend, A, b[:, good], backend.host(x)[:, good]) <= 1e-9 * SLACK).all()

    @each_solver
    def test_one_product_for_all(self, backend, solver):
        A, b = self.systems(solver)
        B = backend.csr(A)
        operator, products = users_operator(backend, 225, lambda x: B @ x)
        M, applied = users_operator(backend, 225, lambda x: x / 4)
        history = History()
        SOLVERS[solver](operator, backend.array(b), M=M, history=history)
        each = 2 if solver == "bicgstab" else 1
        count = int(np.ceil(history.iterations[-1])) * each
        late = 0 if backend is CPU else each  # the host polls one iteration late
        # minres begins with a product with M; a cycle of gmres ends with one, and with a product with A.
        late += {"minres": 1, "gmres": 2, "fgmres": 2}.get(solver, 0)
        assert set(products) | set(applied) == {(225, 6)}
        assert count <= len(products) <= count + 2 + late and len(applied) <= count + late

    @each_solver
    def test_one_column(self, backend, solver):
        A, b = backend.csr(grid(solver)), backend.array(noise(400))
        watch, history = Watch(backend), History()
        x, info = SOLVERS[solver](A, b[:, None], callback=watch, history=history)
        assert x.shape == (400,) and isinstance(info, int) and info == 0
        assert {seen.shape for seen in watch.seen} == {(400,)} and history.residuals.ndim == 1
        assert history.status is Status.CONVERGED
        np.testing.assert_array_equal(backend.host(x), backend.host(SOLVERS[solver](A, b)[0]))

    @each_solver
    def test_no_columns(self, backend, solver):
        x, info = SOLVERS[solver](backend.csr(grid(solver)), backend.xp.ones((400, 0)))
        assert x.shape == (400, 0) and info.shape == (0,)

    @each_solver
    def test_no_rows(self, backend, solver):
        A, nothing = backend.csr(sp.csr_array((0, 0))), backend.xp.zeros(0)
        for x0 in (None, nothing):
            x, info = SOLVERS[solver](A, nothing, x0)
            assert x.shape == (0,) and info == 0

    @each_solver
    @pytest.mark.parametrize("columns", [2, 33, 70])
    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.float32, np.complex128]))
    def test_many_columns(self, backend, solver, columns, dtype):
        A = graphs.with_types(grid(solver, 12), dtype)
        b = noise(144, columns, dtype=dtype)
        x, info = SOLVERS[solver](backend.csr(A), backend.array(b), M=lf.tridiagonal(backend.csr(A)))
        assert x.dtype == dtype and not info.any()
        assert (true_residuals(backend, A, b, x) <= 1.02e-5).all()

    @each_solver
    def test_maxiter(self, backend, solver):
        A, b = self.systems(solver)
        x, info, told = recorded(SOLVERS[solver], backend.csr(A), backend.array(b), rtol=1e-9, maxiter=4)
        wanted = [0, 0, 0, 4, 4, 4] if solver in SYMMETRIC else [4, 4, 0, 4, 4, 4]
        np.testing.assert_array_equal(info, wanted)
        assert not told

    @each_solver
    def test_starts(self, backend, solver):
        A, b = self.systems(solver)
        x0 = noise(225, 6, seed=5)
        x0[:, 5] = scipy.sparse.linalg.spsolve(A.tocsc(), b[:, 5])
        history = History()
        x, info = SOLVERS[solver](backend.csr(A), backend.array(b), backend.array(x0), history=history)
        assert not info.any() and not backend.host(x)[:, 2].any()
        np.testing.assert_array_equal(backend.host(x)[:, 5], x0[:, 5])
        assert iterations_of(history, 5) == iterations_of(history, 2) == 0
        good = b.any(axis=0)
        assert (true_residuals(backend, A, b[:, good], backend.host(x)[:, good]) <= 1e-5 * SLACK).all()


class TestRefusals:
    """Bad arguments raise an exception that names them, before any work."""

    @each_solver
    @pytest.mark.parametrize("name", ["rtol", "atol"])
    def test_tolerances(self, backend, solver, name):
        A, b = backend.csr(grid(solver)), backend.xp.ones(400)
        for wrong in (-1.0, -1e-300, np.nan):
            with pytest.raises(ValueError, match=name):
                SOLVERS[solver](A, b, **{name: wrong})
        for wrong in ("legacy", None, [1e-5], 1j):
            with pytest.raises((TypeError, ValueError), match=name):
                SOLVERS[solver](A, b, **{name: wrong})
        for right in (np.float32(1e-3), 1, np.int64(1)):
            assert SOLVERS[solver](A, b, **{name: right})[1] == 0

    @each_solver
    def test_maxiter(self, backend, solver):
        A, b = backend.csr(grid(solver)), backend.xp.ones(400)
        with pytest.raises(ValueError, match="maxiter"):
            SOLVERS[solver](A, b, maxiter=-1)
        for wrong in (2.5, "7", [3]):
            with pytest.raises(TypeError, match="maxiter"):
                SOLVERS[solver](A, b, maxiter=wrong)

    @each_solver
    def test_nonfinite_numbers(self, backend, solver):
        A = backend.csr(grid(solver))
        for wrong in (np.nan, np.inf, -np.inf):
            for shape in ((400,), (400, 2)):
                bad, good = np.ones(shape), backend.xp.ones(shape)
                bad[(7, *[1] * (len(shape) - 1))] = wrong
                bad = backend.array(bad)
                with pytest.raises(ValueError, match=r"\bb\b"):
                    SOLVERS[solver](A, bad)
                with pytest.raises(ValueError, match=r"\bx0\b"):
                    SOLVERS[solver](A, good, bad)
        bad = backend.array(np.ones(400) + 1j * np.nan)
        with pytest.raises(ValueError, match=r"\bb\b"):
            SOLVERS[solver](A, bad)
        B = grid(solver)
        B.data[5] = np.nan
        with pytest.raises(ValueError, match="finite"):
            SOLVERS[solver](backend.csr(B), backend.xp.ones(400))

    @each_solver
    def test_shapes(self, backend, solver):
        A, xp = backend.csr(grid(solver)), backend.xp
        for shape in ((399,), (401, 2), (1, 400), (), (400, 1, 1), (2, 400), (0,)):
            with pytest.raises(ValueError, match=r"\bb\b"):
                SOLVERS[solver](A, xp.ones(shape))
            with pytest.raises(ValueError, match=r"\bx0\b"):
                SOLVERS[solver](A, xp.ones(400), xp.ones(shape))
        with pytest.raises(ValueError, match=r"\bx0\b"):
            SOLVERS[solver](A, xp.ones(400), xp.ones((400, 2)))
        with pytest.raises(ValueError, match=r"\bx0\b"):
            SOLVERS[solver](A, xp.ones((400, 3)), xp.ones((400, 2)))
        with pytest.raises(ValueError, match="A must be square"):
            SOLVERS[solver](xp.ones((3, 4)), xp.ones(3))
        with pytest.raises(ValueError, match=r"\bA\b"):
            SOLVERS[solver](xp.ones(3), xp.ones(3))
        for wrong in (xp.ones((399, 399)), xp.ones((400, 399)), lf.jacobi(backend.csr(grid(solver, 5)))):
            with pytest.raises(ValueError, match=r"\bM\b"):
                SOLVERS[solver](A, xp.ones(400), M=wrong)
        for wrong in (xp.ones(399), xp.ones((400, 2))):
            with pytest.raises(ValueError, match="x_true"):
                SOLVERS[solver](A, xp.ones(400), history=History(wrong))

    @each_solver
    def test_things(self, backend, solver):
        A, b = backend.csr(grid(solver)), backend.xp.ones(400)
        for wrong in (lambda x: x, "A", 3.0):
            with pytest.raises(TypeError, match=r"\bA\b"):
                SOLVERS[solver](wrong, np.ones(400))
        for wrong in (lambda x: x, "jacobi", 3.0):
            with pytest.raises(TypeError, match=r"\bM\b"):
                SOLVERS[solver](A, b, M=wrong)
        with pytest.raises(TypeError, match="inner"):
            SOLVERS[solver](A, b, inner=3)
        with pytest.raises(TypeError, match="callback"):
            SOLVERS[solver](A, b, callback=3)
        with pytest.raises(TypeError, match="history"):
            SOLVERS[solver](A, b, history=[])
        if backend is CPU:
            for dtype in (np.longdouble, object, np.float16):
                with pytest.raises(TypeError, match=r"\bb\b"):
                    SOLVERS[solver](A, np.ones(400, dtype))
                with pytest.raises(TypeError, match=r"\bx0\b"):
                    SOLVERS[solver](A, b, np.ones(400, dtype))
            with pytest.raises(TypeError):
                SOLVERS[solver](A, np.array(["a"] * 400))

    @each_solver
    @pytest.mark.parametrize("which", ["A", "M"])
    @pytest.mark.parametrize("columns", [None, 2])
    def test_products_of_a_wrong_shape(self, backend, solver, which, columns):
        class Wrong(library(backend).LinearOperator):
            def __init__(self, change):
                super().__init__(np.dtype(float), (400, 400))
                self.change = change

            def __matmul__(self, x):
                return self.change(x)

            def matvec(self, x):
                return self.change(x)

            matmat = dot = _matvec = _matmat = matvec

        A = backend.csr(grid(solver))
        b = backend.xp.ones(400 if columns is None else (400, columns))
        for change in (lambda x: x[:-1], lambda x: x[None], lambda x: x.T[:1], lambda x: x.sum()):
            wrong = Wrong(change)
            arguments, options = ((wrong, b), {}) if which == "A" else ((A, b), {"M": wrong})
            with pytest.raises(ValueError, match=rf"\b{which}\b.*400"):
                SOLVERS[solver](*arguments, **options)

    @each_solver
    def test_functions_of_a_wrong_shape(self, backend, solver):
        """LinearOperators check it themselves, with a ValueError of their own."""
        A, b = backend.csr(grid(solver)), backend.xp.ones(400)
        operator, _ = users_operator(backend, 400, lambda x: x[:-1])
        with pytest.raises(ValueError):
            SOLVERS[solver](operator, b)
        with pytest.raises(ValueError):
            SOLVERS[solver](A, b, M=operator)

    @each_solver
    def test_complex_numbers_in_a_real_system(self, backend, solver):
        """Their imaginary part is never dropped silently."""
        A, b = backend.csr(grid(solver)), backend.xp.ones(400)
        operator, _ = users_operator(backend, 400, lambda x: x * (1 + 1j), dtype=complex)
        try:
            x, _ = SOLVERS[solver](A, b, M=operator)
        except (TypeError, ValueError) as error:
            assert "M" in str(error)
        else:
            assert x.dtype == np.complex128

    @pytest.mark.gpu
    @each_solver
    def test_devices(self, cuda, solver):
        A = grid(solver)
        B, b, c = cuda.csr(A), np.ones(400), cuda.xp.ones(400)
        for arguments, options, name in [
            ((B, b), {}, "b"),
            ((A, c), {}, "b"),
            ((B, c, b), {}, "x0"),
            ((A, b, c), {}, "x0"),
            ((B, c), {"M": lf.jacobi(A)}, "M"),
            ((A, b), {"M": lf.jacobi(B)}, "M"),
            ((B, c), {"M": A}, "M"),
            ((A, b), {"M": B}, "M"),
            ((B, c), {"history": History(b)}, "x_true"),
            ((A, b), {"history": History(c)}, "x_true"),
        ]:
            with pytest.raises(TypeError, match=rf"\b{name}\b"):
                SOLVERS[solver](*arguments, **options)
