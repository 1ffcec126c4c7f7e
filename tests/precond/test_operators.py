"""The preconditioners as linear operators: one battery for all kinds, both backends and all types."""

import importlib
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import CPU
from hypothesis import given
from hypothesis import strategies as st
from operator_cases import (
    IN_SINGLE_PRECISION,
    KINDS,
    LIBRARIES,
    SIZE,
    approximation,
    assert_close,
    assert_operator,
    dominant,
    held,
    permutation,
    tolerance,
    vectors,
    wanted_inverse,
)

import linforest_precond as lf


# Orderings of one operator are alike but for the ordering, which other tests are about.
@pytest.mark.parametrize(
    "kind", [graphs.slow(kind) if kind in ("rcm", "permutation") else kind for kind in KINDS]
)
class TestBattery:
    def test_symmetric(self, backend, kind):
        A = dominant()
        M = KINDS[kind](backend.csr(A))
        inverse = wanted_inverse(backend, A, M)
        assert_operator(backend, M, inverse)
        identity = backend.array(np.eye(SIZE))
        dense = backend.host(M @ identity)
        assert_close(dense, dense.T, 1e-13)
        assert np.linalg.eigvalsh((dense + dense.T) / 2).min() > 0

    @pytest.mark.parametrize("of_matrix", graphs.quick([np.float64, np.float32]))
    def test_other_types_of_vectors(self, backend, kind, of_matrix):
        matrix = graphs.with_types(dominant(seed=4), of_matrix)
        M = KINDS[kind](backend.csr(matrix))
        inverse = wanted_inverse(backend, matrix, M)
        for dtype in (np.float32, np.float64, np.complex64, np.complex128, np.int64, np.int8, bool):
            for shape in ((SIZE,), (SIZE, 3)):
                r = (10 * vectors(np.promote_types(dtype, np.float32), *shape)).astype(dtype)
                for order in "CF":
                    product = M @ backend.array(np.asarray(r, order=order))
                    assert product.dtype == np.promote_types(M.dtype, dtype)
                    assert_close(backend.host(product), inverse @ r, tolerance(M))
                assert_close(
                    backend.host(M.rmatmat(backend.array(r.reshape(SIZE, -1)))),
                    (inverse.T @ r).reshape(SIZE, -1),
                    tolerance(M),
                )

    @pytest.mark.parametrize("size", [0, 1, 2, 5])
    def test_small(self, backend, kind, size):
        dense = np.diag(np.arange(2.0, size + 2)) + 0.25 * np.eye(size, k=1) + 0.5 * np.eye(size, k=-1)
        A = sp.csr_array(dense.reshape(size, size))
        M = KINDS[kind](backend.csr(A))
        assert M.shape == (size, size) and str(M)
        if size:
            assert_operator(backend, M, wanted_inverse(backend, A, M))
        assert (M @ backend.array(np.ones(size))).shape == (size,)

    def test_diagonal_and_disconnected(self, backend, kind):
        A = sp.csr_array(sp.block_diag([sp.diags_array([1.0, 2, 3]), dominant(20).toarray(), [[5.0]]]))
        M = KINDS[kind](backend.csr(A))
        assert_operator(backend, M, wanted_inverse(backend, A, M))

    def test_larger_than_a_block_of_threads(self, backend, kind):
        A = lf.matrices.aniso(2, 37)
        M = KINDS[kind](backend.csr(A))
        T = sp.csc_array(approximation(backend, A, M))
        r = vectors(float, A.shape[0], 2)
        assert_close(T @ backend.host(M @ backend.array(r)), r, 1e-12)
        assert_close(T.T @ backend.host(M.T @ backend.array(r)), r, 1e-12)

    @pytest.mark.parametrize("index_dtype", graphs.quick(graphs.INDEX_DTYPES))
    def test_index_types_and_formats(self, backend, kind, index_dtype):
        A = dominant(index_dtype=index_dtype)
        wanted = backend.host(KINDS[kind](backend.csr(A)) @ backend.array(np.ones(SIZE)))
        B = backend.csr(A)
        for form in (B, B.tocsc(), B.tocoo(), B.toarray()):
            found = backend.host(KINDS[kind](form) @ backend.array(np.ones(SIZE)))
            np.testing.assert_array_equal(found, wanted)

    def test_bad_vectors_are_refused(self, backend, kind):
        M = KINDS[kind](backend.csr(dominant()))
        xp = backend.xp
        for product, shape in [
            (M.matvec, (SIZE + 1,)),
            (M.matvec, (SIZE - 1, 1)),
            (M.matvec, (SIZE, 2)),
            (M.matvec, ()),
            (M.rmatvec, (3,)),
            (M.matmat, (SIZE,)),
            (M.matmat, (SIZE + 1, 2)),
            (M.rmatmat, (2, SIZE)),
            (M.dot, (SIZE, 2, 2)),
            (M.dot, (2 * SIZE,)),
            (M.T.matvec, (2,)),
            (M.H.matmat, (SIZE,)),
        ]:
            with pytest.raises(ValueError):
                product(xp.ones(shape))
        with pytest.raises(TypeError):
            M @ np.array(["a"] * SIZE)
        if backend is CPU:
            for refused in (np.longdouble, np.float16):
                with pytest.raises(TypeError, match="r must hold numbers of single or double precision"):
                    M @ np.ones(SIZE, refused)
            np.testing.assert_array_equal(M.matvec([1.0] * SIZE), M @ np.ones(SIZE))

    @pytest.mark.gpu
    def test_vectors_on_the_other_device_are_refused(self, cuda, kind):
        A = dominant()
        on_gpu, on_cpu = KINDS[kind](cuda.csr(A)), KINDS[kind](A)
        for product in (on_gpu.matvec, on_gpu.rmatvec, on_gpu.T.matvec, on_gpu.dot):
            with pytest.raises(TypeError):
                product(np.ones(SIZE))
        for product in (on_cpu.matvec, on_cpu.rmatvec, on_cpu.T.matvec, on_cpu.dot):
            with pytest.raises(TypeError):
                product(cuda.xp.ones(SIZE))

    @pytest.mark.gpu
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_backends_agree(self, cuda, kind, dtype):
        for A in (dominant(dtype=dtype, symmetric=False), graphs.with_types(lf.matrices.aniso(2, 60), dtype)):
            one, other = KINDS[kind](A), KINDS[kind](cuda.csr(A))
            r = vectors(dtype, A.shape[0], 2)
            assert_close(cuda.host(other @ cuda.array(r)), one @ r, tolerance(one))
            if one.ordering is not None and kind != "direct":  # cuDSS has an order of its own
                np.testing.assert_array_equal(cuda.host(other.ordering.order), one.ordering.order)
            if one.bands is not None:
                np.testing.assert_array_equal(cuda.host(other.bands.upper), one.bands.upper)
            shown = str(one).splitlines()[:-1], str(other).splitlines()[:-1]
            assert shown[0] == shown[1] or one.nbytes != other.nbytes or kind == "direct"  # by two libraries


@pytest.mark.parametrize(("kind", "dtype"), graphs.crossed(KINDS, graphs.DTYPES))
def test_nonsymmetric_in_all_types(backend, kind, dtype):
    A = dominant(dtype=dtype, symmetric=False, seed=1)
    M = KINDS[kind](backend.csr(A))
    assert M.dtype == M.stored_dtype == dtype
    assert_operator(backend, M, wanted_inverse(backend, A, M))


@pytest.mark.parametrize("kind", IN_SINGLE_PRECISION)
@pytest.mark.parametrize(
    ("dtype", "stored"), graphs.quick([(np.float64, np.float32), (np.complex128, np.complex64)])
)
def test_stored_in_single_precision(backend, kind, dtype, stored):
    A = dominant(dtype=dtype, symmetric=False, seed=2)
    M = KINDS[kind](backend.csr(A), dtype=stored)
    assert M.dtype == dtype and M.stored_dtype == stored
    assert_operator(backend, M, wanted_inverse(backend, A, M))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_stored_in_double_precision(backend, kind):
    A = dominant(dtype=np.float32)
    M = KINDS[kind](backend.csr(A), dtype="float64")
    assert M.dtype == np.float32 and M.stored_dtype == np.float64
    r = vectors(np.float32, SIZE, 2)
    product = M @ backend.array(r)
    assert product.dtype == np.float32
    assert_close(backend.host(product), wanted_inverse(backend, A, M) @ r, 1e-6)


class TestSolvers:
    """M goes into M= of the library's own solvers."""

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("solver", ["cg", "bicgstab"])
    def test_solvers(self, backend, kind, solver, stored=None):
        solve = getattr(importlib.import_module(LIBRARIES[backend.name]), solver)
        A = backend.csr(lf.matrices.aniso(2, 20))
        b = A @ backend.xp.ones(A.shape[0])
        x, info = solve(A, b, M=KINDS[kind](A, dtype=stored), rtol=1e-10, maxiter=500)
        assert info == 0 and x.dtype == np.float64
        assert_close(backend.host(x), np.ones(A.shape[0]), 1e-8)

    @pytest.mark.parametrize("kind", IN_SINGLE_PRECISION)
    @pytest.mark.parametrize("solver", ["cg", "bicgstab"])
    def test_solvers_in_single_precision(self, backend, kind, solver):
        self.test_solvers(backend, kind, solver, np.float32)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_complex_system(self, backend, kind):
        solve = importlib.import_module(LIBRARIES[backend.name]).bicgstab
        A = dominant(dtype=np.complex128, symmetric=False)
        x_t = vectors(complex, SIZE)
        B = backend.csr(A)
        x, info = solve(B, backend.array(A @ x_t), M=KINDS[kind](B, dtype=np.complex64), rtol=1e-10)
        assert info == 0
        assert_close(backend.host(x), x_t, 1e-8)

    def test_least_squares_of_both_sides(self):
        """SciPy's lsqr calls rmatvec; a product of operators calls matvec."""
        from scipy.sparse.linalg import aslinearoperator, lsqr

        A = dominant(symmetric=False)
        for kind in KINDS.values():
            M = kind(A)
            b = vectors(float, SIZE)
            x = lsqr(aslinearoperator(A) @ M, b, atol=1e-13, btol=1e-13)[0]
            assert_close(A @ (M @ x), b, 1e-8)


class TestOrderings:
    def test_names(self, backend):
        A = backend.csr(dominant())
        for wrong in ("RCM", "Forest", ""):
            with pytest.raises(ValueError, match='"forest", "original"'):
                lf.tridiagonal(A, wrong)

    def test_the_forest_is_that_of_the_options(self, backend):
        A = backend.csr(lf.matrices.poisson((12, 12)))
        options = {"seed": 5, "iterations": 2, "m": 3, "k_m": 1, "p": 0.3}
        M, t = lf.tridiagonal(A, **options), lf.linear_forest(A, **options)
        np.testing.assert_array_equal(backend.host(M.forest.order), backend.host(t.order))
        np.testing.assert_array_equal(backend.host(M.ordering.order), backend.host(t.order))
        np.testing.assert_array_equal(backend.host(M.ordering.rank), backend.host(t.rank))
        assert M.coverage == pytest.approx(t.coverage, rel=1e-12)
        bands = lf.extract_bands(A, t)
        np.testing.assert_array_equal(backend.host(M.bands.lower), backend.host(bands.lower))

    @given(A=graphs.matrices(max_size=12, dtypes=(np.float64,)), seed=st.integers(0, 99))
    def test_permutations(self, backend, A, seed):
        A = sp.csr_array(A.toarray() + 1e8 * np.eye(A.shape[0]))
        order = np.random.default_rng(seed).permutation(A.shape[0])
        M = lf.tridiagonal(backend.csr(A), order)
        np.testing.assert_array_equal(backend.host(M.ordering.order), order)
        np.testing.assert_array_equal(backend.host(M.ordering.rank)[order], np.arange(order.size))
        r = vectors(float, A.shape[0])
        assert_close(backend.host(M @ backend.array(r)), wanted_inverse(backend, A, M) @ r, 1e-12)

    def test_ways_to_give_a_permutation(self, backend):
        A = backend.csr(dominant())
        order = permutation(SIZE)
        wanted = backend.host(lf.tridiagonal(A, order) @ backend.xp.ones(SIZE))
        ways = [order.tolist(), order.astype(np.int32), order.astype(np.uint8), backend.array(order)]
        for way in ways:
            found = lf.tridiagonal(A, way) @ backend.xp.ones(SIZE)
            np.testing.assert_array_equal(backend.host(found), wanted)

    def test_what_is_no_permutation(self, backend):
        A = backend.csr(dominant())
        twice = permutation(SIZE)
        twice[3] = twice[4]
        for wrong in (
            np.arange(SIZE - 1),
            np.arange(SIZE + 1),
            np.arange(1, SIZE + 1),
            -np.arange(SIZE),
            twice,
        ):
            with pytest.raises(ValueError, match="ordering"):
                lf.tridiagonal(A, wrong)
        for wrong in (np.arange(SIZE) * 1.0, None, object()):
            with pytest.raises(TypeError, match="ordering"):
                lf.tridiagonal(A, wrong)
        with pytest.raises(ValueError, match="ordering.neighbors must have shape"):
            lf.tridiagonal(A, lf.linear_forest(backend.csr(dominant(20))))

    @pytest.mark.gpu
    def test_a_device_array_for_a_host_matrix(self, cuda):
        with pytest.raises(TypeError, match="ordering"):
            lf.tridiagonal(dominant(), cuda.array(permutation(SIZE)))
        with pytest.raises(TypeError, match="device"):
            lf.tridiagonal(dominant(), lf.linear_forest(cuda.csr(dominant())))


class TestArguments:
    def test_types(self, backend):
        real, complex_ = (backend.csr(dominant(dtype=dtype)) for dtype in (np.float64, np.complex128))
        for kind in KINDS.values():
            for A, wrong in [(real, np.complex64), (real, np.float16), (real, int), (complex_, np.float32)]:
                with pytest.raises(TypeError, match="dtype"):
                    kind(A, dtype=wrong)

    @pytest.mark.parametrize("kind", IN_SINGLE_PRECISION)
    def test_numbers_that_single_precision_cannot_hold(self, backend, kind):
        """A is scaled by a power of two."""
        A = np.array([[4.0, 1], [1, 4]])
        M, huge = (KINDS[kind](backend.csr(sp.csr_array(A * 2.0**k)), dtype=np.float32) for k in (0, 1000))
        x, y = (backend.host(each @ backend.xp.ones(2)) for each in (M, huge))
        if "cuDSS" in str(M):
            np.testing.assert_allclose(x * 2.0**-1000, y, rtol=1e-6)
        else:
            np.testing.assert_array_equal(x * 2.0**-1000, y)

    @pytest.mark.parametrize("wrong", [0, 33, -1])
    def test_block_sizes(self, backend, wrong):
        with pytest.raises(ValueError, match="block_size"):
            lf.block_jacobi(backend.csr(dominant()), wrong)
        with pytest.raises(ValueError, match="block_size"):
            lf.block_tridiagonal(backend.csr(dominant()), wrong)

    def test_options(self, backend):
        A = backend.csr(dominant())
        with pytest.raises(TypeError, match="block_size"):
            lf.block_jacobi(A, 2.5)
        for options in ({"m": 0}, {"k_m": 5}, {"p": 2.0}, {"iterations": 0}):
            with pytest.raises(ValueError, match=next(iter(options))):
                lf.tridiagonal(A, **options)

    @pytest.mark.parametrize("kind", KINDS)
    def test_bad_matrices(self, backend, kind):
        with pytest.raises(ValueError, match="square"):
            KINDS[kind](backend.array(np.ones((2, 3))))
        A = dominant()
        A.data[7] = np.nan
        with pytest.raises(ValueError, match="finite"):
            KINDS[kind](backend.csr(A))

    @pytest.mark.parametrize("kind", KINDS)
    def test_integers(self, backend, kind):
        A = graphs.with_types(sp.csr_array(np.rint(dominant().toarray())), np.int64)
        if backend is CPU:
            M = KINDS[kind](A)
            assert M.dtype == np.float64
            assert_close(M @ np.ones(SIZE), wanted_inverse(backend, A, M) @ np.ones(SIZE), 1e-11)


class TestRepairs:
    def test_zero_diagonal_of_jacobi(self, backend):
        A = sp.csr_array(np.diag([2.0, 0, 4, 0, 0]) + np.eye(5, k=1))
        with pytest.warns(RuntimeWarning, match="3 pivots") as told:
            M = lf.jacobi(backend.csr(A))
        assert len(told) == 1 and told[0].filename == __file__
        np.testing.assert_array_equal(backend.host(M @ backend.xp.ones(5)), [0.5, 1, 0.25, 1, 1])
        assert "3 pivots perturbed" in str(M)

    @pytest.mark.parametrize("size", [1, 2, 5, 17, 32])
    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_singular_blocks(self, backend, size, dtype):
        rng = np.random.default_rng(size)
        A = rng.standard_normal((70, 70)).astype(dtype)
        A[:, 3] = A[3] = 0
        with pytest.warns(RuntimeWarning, match="1 pivot "):
            M = lf.block_jacobi(backend.array(A), size)
        x = backend.host(M @ backend.xp.ones(70, dtype))
        assert np.isfinite(x).all()
        A[3, 3] = {1: 1}.get(size, 0)
        good = np.arange(70) // size != 3 // size
        T = np.where(held(backend, M), A, 0)
        assert_close((T @ x)[good], np.ones(good.sum()), 1e-3 if np.dtype(dtype).char in "fF" else 1e-9)

    @pytest.mark.parametrize("power", [-200, 200])
    def test_the_last_block_is_filled_up_in_the_scale_of_its_entries(self, backend, power):
        A, r = lf.matrices.poisson((5,)), backend.array(np.arange(1.0, 6))
        M, scaled = (lf.block_jacobi(backend.csr(matrix), 3) for matrix in (A, A * 2.0**power))
        np.testing.assert_array_equal(backend.host(scaled @ r) * 2.0**power, backend.host(M @ r))

    def test_blocks_that_need_pivoting(self, backend):
        A = sp.csr_array(np.kron(np.eye(5), [[0.0, 2], [1, 0]]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            M = lf.block_jacobi(backend.csr(A), 2)
        r = vectors(float, 10)
        np.testing.assert_array_equal(backend.host(M @ backend.array(A @ r)), r)
        assert "not known to be positive definite" in str(M)

    @pytest.mark.parametrize("tiny", [1e-310, 5e-324])
    def test_subnormal_diagonal(self, backend, tiny):
        with pytest.warns(RuntimeWarning, match="1 pivot "):
            M = lf.jacobi(backend.array(np.diag([1.0, tiny])))
        np.testing.assert_array_equal(backend.host(M @ backend.xp.ones(2)), [1, 1])

    def test_a_singular_path(self, backend):
        A = sp.csr_array(sp.block_diag([sp.csr_array([[1.0, 1], [1, 1]]), [[2.0]], [[0.0]]]))
        for kind in ("forest", "original", "blocks of 2"):
            with pytest.warns(RuntimeWarning) as told:
                M = KINDS[kind](backend.csr(A))
            assert len(told) == 1
            assert np.isfinite(backend.host(M @ backend.xp.ones(4))).all()
            assert "perturbed" in str(M) or "clipped" in str(M)

    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_indefinite_tridiagonals_are_made_definite(self, backend, dtype):
        """Symmetric with a positive diagonal, but its tridiagonal part is indefinite."""
        A = np.diag(np.ones(30)) + 0.9 * (np.eye(30, k=1) + np.eye(30, k=-1))
        A = sp.csr_array(A.astype(dtype))
        for kind in ("forest", "original", "blocks of 2", "blocks of 4"):
            M = KINDS[kind](backend.csr(A))
            dense = backend.host(M @ backend.array(np.eye(30, dtype=dtype)))
            assert_close(dense, dense.conj().T, tolerance(M))
            assert np.linalg.eigvalsh(dense).min() > 0
            assert "clipped" in str(M)
            assert M.bands.upper.dtype == dtype
            held_entries = np.where(held(backend, M), A.toarray(), 0)
            assert abs(held_entries).sum() == pytest.approx(60 * 0.9 * 29 / 30 + 30, rel=1e-5)

    def test_a_nonpositive_diagonal_is_flagged(self, backend):
        A = dominant()
        A.setdiag(-A.diagonal())
        for kind, make in KINDS.items():
            assert "not known to be positive definite" in str(make(backend.csr(A))), kind


class TestPrint:
    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            ("forest", "tridiagonal part along a linear forest"),
            ("forest given", "tridiagonal part along a linear forest"),
            ("original", "tridiagonal part in A's own order"),
            ("permutation", "tridiagonal part in a given order"),
            ("blocks of 2", "2 x 2 block tridiagonal part"),
            ("blocks of 4", "4 x 4 block tridiagonal part"),
            ("jacobi", "Jacobi"),
            ("block jacobi 3", "block Jacobi"),
        ],
    )
    def test_it_explains(self, backend, kind, name):
        A = backend.csr(lf.matrices.aniso(1, 20))
        M = KINDS[kind](A)
        text = str(M)
        assert text.startswith(name) and repr(M).count("\n") == 0 and "rows 400" in repr(M)
        assert f"({lf.graph.identity_coverage(A):.4f} next to A's diagonal)" in text
        assert f"{M.coverage:.4f} of" in text
        for word in ("400", "float64", "bytes held", " ms", backend.name, "repairs"):
            assert word in text
        if M.forest is not None:
            assert f"{M.forest.n_paths:,}" in text and f"{M.forest.longest_path:,}" in text
            assert M.coverage == pytest.approx(M.forest.coverage, rel=1e-12)

    def test_paths_of_a_given_order(self, backend):
        A = sp.csr_array(
            sp.block_diag([sp.csr_array([[2.0, 1], [0, 2]]), [[3.0]], dominant(5).toarray() + 1])
        )
        text = str(lf.tridiagonal(backend.csr(A), "original"))
        assert "paths" in text and "3" in text and "5 vertices" in text

    def test_coverage_of_blocks(self, backend):
        A = dominant(symmetric=False)
        weight = abs(A.toarray()) * ~np.eye(SIZE, dtype=bool)
        for make in KINDS.values():
            M = make(backend.csr(A))
            wanted = (weight * held(backend, M)).sum() / weight.sum()
            assert M.coverage == pytest.approx(wanted, rel=1e-12)

    def test_bytes(self, backend):
        A = backend.csr(lf.matrices.aniso(1, 20))
        assert lf.jacobi(A).nbytes == 8 * 400
        assert lf.jacobi(A, dtype=np.float32).nbytes == 4 * 400
        assert lf.block_jacobi(A, 3).nbytes == 8 * 134 * 9
        M = lf.tridiagonal(A, "original")
        assert M.nbytes >= 8 * 3 * 400

    def test_the_first_setup_says_that_it_compiles(self, backend, monkeypatch):
        from linforest_precond.precond import setup

        monkeypatch.setattr(setup, "_seen", set())
        A = backend.csr(dominant())
        assert "compilation" in str(lf.jacobi(A)) and "compilation" not in str(lf.jacobi(A))


@pytest.mark.parametrize("block_size", [2, 4])
def test_blocks_take_the_scale_of_the_matrix(backend, block_size, recwarn):
    """With ghost rows: no pivot is perturbed, however small all entries are."""
    A, scale = lf.matrices.aniso(1, 12), 2.0**-80
    r = np.random.default_rng(0).standard_normal(A.shape[0])
    large, small = (
        backend.host(lf.block_tridiagonal(backend.csr(B), block_size, m=1) @ backend.array(r))
        for B in (A, A * scale)
    )
    np.testing.assert_allclose(small * scale, large, rtol=1e-12)
    assert not recwarn.list
