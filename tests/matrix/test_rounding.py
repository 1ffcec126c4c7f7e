"""Matrices that are Hermitian to rounding: recognized by one rule, and treated as Hermitian everywhere."""

import finite_elements
import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from checked_matrices import is_hermitian_to_rounding, larger_part
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.backends import backend_of
from linforest_precond.distributed.partition.entries import without_rounding
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.doors import as_csgraph

ELEMENTS = ["diffusion on triangles", *map(graphs.slow, ("diffusion on tetrahedra", "elasticity"))]


def random_hermitian(rng, n, dtype):
    """Sparse, of entries of many sizes; the diagonal has zeros."""
    upper = sp.random_array((n, n), density=0.3, rng=rng).toarray()
    upper *= 10.0 ** rng.uniform(-3, 3, (n, n)) * np.sign(rng.standard_normal((n, n)))
    upper = np.triu(upper).astype(dtype)
    if np.dtype(dtype).kind == "c":
        upper *= np.exp(2j * np.pi * rng.random((n, n))).astype(dtype)
    upper[np.diag_indices(n)] = abs(upper.diagonal())
    return upper + np.triu(upper, 1).conj().T


def in_ulps(A, steps):
    """The real and imaginary parts, each moved by a number of units in the last place."""
    parts = np.ascontiguousarray(A).view(A.real.dtype).copy()
    parts += np.spacing(abs(parts)) * steps.reshape(parts.shape) * (parts != 0)
    return parts.view(A.dtype)


def random_steps(rng, A, most):
    return rng.integers(-most, most + 1, np.ascontiguousarray(A).view(A.real.dtype).shape).astype(
        A.real.dtype
    )


dtypes = graphs.types(graphs.DTYPES)


class TestTheRule:
    @given(seed=st.integers(0, 2**32), n=st.integers(1, 12), dtype=dtypes)
    def test_a_few_units_in_the_last_place(self, seed, n, dtype):
        rng = np.random.default_rng(seed)
        A = random_hermitian(rng, n, dtype)
        csr = checked(sp.csr_array(in_ulps(A, random_steps(rng, A, 4))))
        assert csr.hermitian and csr.symmetric

    @given(seed=st.integers(0, 2**32), n=st.integers(2, 12), dtype=dtypes)
    def test_a_larger_change(self, seed, n, dtype):
        rng = np.random.default_rng(seed)
        A = random_hermitian(rng, n, dtype)
        i, j = rng.permutation(n)[:2]
        A[i, j] = 0.1 * np.sqrt(larger_part(A[i, i]) * larger_part(A[j, j])) + 1
        A[j, i] = A[i, j] * (1 + 1e6 * np.finfo(dtype).eps)
        assert not checked(sp.csr_array(A)).hermitian

    @given(seed=st.integers(0, 2**32), n=st.integers(1, 10), dtype=dtypes, most=st.integers(1, 40))
    def test_against_dense_arrays(self, seed, n, dtype, most):
        rng = np.random.default_rng(seed)
        A = in_ulps(random_hermitian(rng, n, dtype), random_steps(rng, np.empty((n, n), dtype), most))
        assert checked(sp.csr_array(A)).hermitian == is_hermitian_to_rounding(A)

    def test_on_either_backend(self, backend):
        for seed in range(60):
            rng = np.random.default_rng(seed)
            A = random_hermitian(rng, 8, np.float64)
            A = in_ulps(A, random_steps(rng, A, 1 + seed % 12))
            csr = checked(backend.csr(sp.csr_array(A)))
            assert csr.hermitian == is_hermitian_to_rounding(A), seed

    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_values_of_the_upper_triangle_are_kept(self, backend, dtype):
        rng = np.random.default_rng(0)
        A = random_hermitian(rng, 200, dtype)
        perturbed = in_ulps(A, random_steps(rng, A, 3))
        given = backend.csr(sp.csr_array(perturbed))
        before = backend.host(given.data).copy()
        csr = checked(given)
        assert csr.to_rounding and csr.hermitian
        arrays = (backend.host(array) for array in (csr.data, csr.indices, csr.indptr))
        found, upper = sp.csr_array(tuple(arrays), shape=A.shape).toarray(), np.triu(perturbed, 1)
        np.testing.assert_array_equal(found, upper + upper.conj().T + np.diag(np.diag(perturbed).real))
        np.testing.assert_array_equal(backend.host(csr.diagonal), np.diag(perturbed).real)
        np.testing.assert_array_equal(backend.host(given.data), before)

    def test_permuted_and_scaled(self, backend):
        rng = np.random.default_rng(1)
        A = symmetrized(finite_elements.diffusion(14))
        order, D = rng.permutation(169), sp.diags_array(10.0 ** rng.uniform(-4, 4, 169))
        B = sp.csr_array(((D @ A) @ D)[order][:, order])
        assert abs(B - B.T).nnz
        csr = checked(backend.csr(B))
        assert csr.to_rounding and csr.definite

    def test_the_imaginary_part_of_a_diagonal(self, backend):
        A = np.array([[2, 1j], [-1j, 3 + 4e-16j]])
        assert checked(backend.csr(sp.csr_array(A))).definite
        A[1, 1] = 3 + 1e-14j
        assert not checked(backend.csr(sp.csr_array(A))).hermitian

    def test_an_entry_without_a_mirror_image(self, backend):
        """However small, it makes the matrix nonsymmetric; an explicit zero does not."""
        A = sp.csr_array(lf.matrices.poisson((6, 6))).tolil()
        for place in ((0, 20), (20, 0)):
            B = A.copy()
            B[place] = 1e-30
            assert not checked(backend.csr(sp.csr_array(B))).hermitian
        B = sp.csr_array(B)
        B.data[B.data == 1e-30] = 0
        assert checked(backend.csr(B)).hermitian

    def test_integers_have_no_rounding_errors(self):
        A = np.array([[1, 2**53], [2**53 - 1, 1]])
        assert not checked(A).hermitian and checked(A.astype(np.float64)).hermitian

    def test_skew_and_complex_symmetric_matrices(self, backend):
        for A in ([[2.0, 1.0], [-1.0, 2.0]], [[2, 1j], [1j, 2]], [[2, 1 + 1e-3j], [1, 2]]):
            assert not checked(backend.csr(sp.csr_array(np.array(A)))).hermitian

    def test_exactly_symmetric_matrices_are_not_compared(self, backend, monkeypatch):
        A = backend.csr(sp.csr_array(lf.matrices.poisson((6, 6))))
        room = backend_of(A).matrix.hermitian
        monkeypatch.setattr(room, "values_without_rounding", lambda *arrays: pytest.fail("compared"))
        assert checked(A).hermitian and not checked(A).to_rounding

    def test_graphs_keep_the_weights(self):
        A = finite_elements.diffusion(5)
        np.testing.assert_array_equal(as_csgraph(A).data, A.data)


def symmetrized(A):
    return sp.csr_array((A + A.T) / 2)


def iterations(M, A, solver):
    history = lf.solvers.History()
    _, info = solver(A, np.ones(A.shape[0]), M=M, rtol=1e-8, history=history)
    assert info == 0
    return len(history.residuals)


class TestFiniteElements:
    @pytest.mark.parametrize("name", finite_elements.MATRICES)
    def test_are_hermitian_to_rounding(self, backend, name):
        A = finite_elements.MATRICES[name]()
        assert abs(A - A.T).nnz
        csr = checked(backend.csr(A))
        assert csr.to_rounding and csr.hermitian and csr.definite == (name != "stokes")

    def test_in_single_precision(self, backend):
        A = finite_elements.diffusion(6, 3, dtype=np.float32)
        assert checked(backend.csr(A)).definite
        assert not checked(backend.csr(A.astype(np.float64))).hermitian

    @pytest.mark.parametrize("name", ELEMENTS)
    def test_multigrid_is_that_of_a_symmetric_matrix(self, name):
        A = finite_elements.MATRICES[name]()
        found, wanted = lf.multilevel(A, max_coarse=20), lf.multilevel(symmetrized(A), max_coarse=20)
        assert [level.A.shape for level in found.levels] == [level.A.shape for level in wanted.levels]
        assert found.cycle == wanted.cycle
        counts = [
            iterations(M.aspreconditioner(), A, lf.solvers.fcg if M.cycle == "K" else lf.solvers.cg)
            for M in (found, wanted)
        ]
        assert counts[0] == counts[1]
        assert "symmetric to rounding" in str(found) and "to rounding" not in str(wanted)

    @pytest.mark.parametrize("make", [lf.tridiagonal, lf.block_tridiagonal, lf.ilu, lf.approximate_inverse,
                                      lf.jacobi, lf.block_jacobi, lf.gauss_seidel])  # fmt: skip
    def test_preconditioners_are_for_cg(self, make):
        A = finite_elements.diffusion(16)
        M, exact = make(A), make(symmetrized(A))
        assert M.positive_definite and "symmetry" in str(M)
        assert abs(iterations(M, A, lf.solvers.cg) - iterations(exact, A, lf.solvers.cg)) <= 1

    def test_the_chooser_takes_cg(self):
        A = finite_elements.diffusion(24)
        report = lf.SolveReport()
        _, info = lf.solve(A, np.ones(A.shape[0]), report=report, method="tridiagonal")
        assert info == 0 and report.facts.hermitian and report.chosen.solver == "cg"
        assert "symmetric to rounding" in str(report)

    def test_storage(self, tmp_path):
        A = finite_elements.diffusion(10)
        M = lf.ilu(A)
        lf.save_preconditioner(M, tmp_path / "M.npz")
        r = np.arange(A.shape[0], dtype=float)
        np.testing.assert_array_equal(lf.load_preconditioner(tmp_path / "M.npz") @ r, M @ r)


class TestUpdates:
    @pytest.mark.parametrize("make", [lf.tridiagonal, lf.block_tridiagonal, lf.ilu, lf.multilevel])
    def test_exact_values_and_rounded_ones_alternate(self, backend, make):
        A = finite_elements.diffusion(10)
        exact = symmetrized(A)
        r = backend.array(np.arange(A.shape[0], dtype=float))
        for first, second in ((exact, A), (A, exact)):
            M = make(backend.csr(first))
            for each in (second, second, first, second):
                M.update(backend.csr(2 * each))
                fresh = make(backend.csr(first))
                fresh.update(backend.csr(2 * each))
                operator, wanted = (
                    one.aspreconditioner() if make is lf.multilevel else one for one in (M, fresh)
                )
                assert operator.positive_definite
                np.testing.assert_array_equal(backend.host(operator @ r), backend.host(wanted @ r))


class TestOverRanks:
    @pytest.mark.parametrize("ranks", [1, 3])
    def test_the_rule(self, ranks):
        cases = {name: make() for name, make in finite_elements.MATRICES.items()}
        cases["far"] = cases["stokes"].copy()
        cases["far"].data[100] *= 1 + 1e-10

        def found(comm):
            kinds = {}
            for name, A in cases.items():
                rows = distributed.scatter(A, comm)
                kinds[name] = without_rounding(rows).rows is not rows.rows
            return kinds

        wanted = {name: checked(A).to_rounding for name, A in cases.items()}
        assert distributed.simulate(ranks, found) == [wanted] * ranks

    @pytest.mark.parametrize("make", ["tridiagonal", "multilevel"])
    def test_preconditioners_are_those_of_one_rank(self, make):
        A = finite_elements.diffusion(16)
        b = np.arange(A.shape[0], dtype=float)

        def product(comm):
            rows = distributed.scatter(A, comm)
            M = getattr(distributed, make)(rows)
            M = M.aspreconditioner("V") if make == "multilevel" else M
            part = slice(rows.first, rows.first + rows.n_local)
            return M.positive_definite, M @ b[part]

        one = lf.tridiagonal(A)
        if make == "multilevel":
            one = lf.multilevel(A, coarsening="matching").aspreconditioner("V")
        found = distributed.simulate(3, product)
        assert all(definite for definite, _ in found)
        np.testing.assert_allclose(np.concatenate([part for _, part in found]), one @ b, rtol=1e-10)
