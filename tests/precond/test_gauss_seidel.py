"""Gauss-Seidel and SOR by colours, against relaxation row by row; and as a smoother of multigrid."""

import inspect
import pickle
from argparse import ArgumentParser, HelpFormatter

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from operator_cases import assert_close, assert_operator, dominant, other_values, tolerance

import linforest_precond as lf
from linforest_precond.precond.kinds import faces

RELAXATIONS = [
    {"omega": 1.0},
    {"omega": 1.4},
    {"omega": 0.6, "sweeps": 3},
    {"omega": 1.2, "symmetric": False},
    {"omega": 1.0, "sweeps": 2, "symmetric": False},
]


def relaxed(dense, order, omega=1.0, sweeps=1, symmetric=True):
    """The matrix of the sweeps from x = 0, row by row in an order: all unit vectors are right-hand sides."""
    n = len(dense)
    x, b = np.zeros_like(dense), np.eye(n, dtype=dense.dtype)
    for _ in range(sweeps):
        for row in [*order, *(order[::-1] if symmetric else [])]:
            x[row] += omega / dense[row, row] * (b[row] - dense[row] @ x)
    return x


def wanted_of(backend, A, M, **options):
    wide = np.promote_types(A.dtype, np.float64)
    return relaxed(A.toarray().astype(wide), backend.host(M.ordering.order), **options)


class TestSweeps:
    @pytest.mark.parametrize("options", RELAXATIONS, ids=str)
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_row_by_row(self, backend, options, symmetric):
        A = dominant(symmetric=symmetric)
        M = lf.gauss_seidel(backend.csr(A), **options)
        assert_operator(backend, M, wanted_of(backend, A, M, **options))
        assert M.positive_definite == (symmetric and options.get("symmetric", True))

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    def test_types(self, backend, dtype, index_dtype):
        A, options = dominant(dtype=dtype, symmetric=False, index_dtype=index_dtype), RELAXATIONS[2]
        M = lf.gauss_seidel(backend.csr(A), **options)
        assert M.ordering.order.dtype == index_dtype and M.stored_dtype == dtype
        assert_operator(backend, M, wanted_of(backend, A, M, **options))

    def test_the_order_is_that_of_the_colours(self, backend):
        A = lf.matrices.poisson((20, 30))
        M = lf.gauss_seidel(backend.csr(A), seed=3)
        colors = lf.graph.vertex_coloring(A, "LDF", seed=3)[backend.host(M.ordering.order)]
        assert (np.diff(colors) >= 0).all()
        assert ["colours", f"{colors[-1] + 1}"] in [line.split() for line in str(M).splitlines()]

    def test_definite_for_every_hermitian_matrix_with_a_positive_diagonal(self, backend):
        """Also where A is indefinite: M - A is positive semidefinite."""
        A = np.ones((6, 6)) + 0.1 * np.eye(6)
        A[0, 1] = A[1, 0] = 5
        for options in RELAXATIONS[:3]:
            M = lf.gauss_seidel(backend.array(A), **options)
            dense = backend.host(M @ backend.array(np.eye(6)))
            assert M.positive_definite and np.linalg.eigvalsh((dense + dense.T) / 2).min() > 0
            assert_close(dense, dense.T, tolerance(M))

    def test_zeros_on_the_diagonal_count_as_one(self, backend):
        A = sp.csr_array(np.array([[2.0, 1, 0], [1, 0, 1], [0, 0, 4]]))
        with pytest.warns(RuntimeWarning, match="1 pivot counts as 1: the diagonal of A has zeros") as told:
            M = lf.gauss_seidel(backend.csr(A))
        assert len(told) == 1 and M.repairs == {"pivots_perturbed": 1} and not M.positive_definite
        repaired = A.toarray() + np.diag([0.0, 1, 0])
        sweeps = relaxed(repaired, backend.host(M.ordering.order))
        assert_close(backend.host(M @ backend.array(np.eye(3))), sweeps, tolerance(M))

    @pytest.mark.parametrize("options", RELAXATIONS, ids=str)
    def test_update_and_pickle(self, backend, options):
        A = dominant()
        B = other_values(A)
        M = lf.gauss_seidel(backend.csr(A), **options)
        M.update(backend.csr(B))
        again = pickle.loads(pickle.dumps(M))
        identity = backend.array(np.eye(A.shape[0]))
        np.testing.assert_array_equal(backend.host(again @ identity), backend.host(M @ identity))
        assert_close(backend.host(again @ identity), wanted_of(backend, B, M, **options), tolerance(M))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"omega": 0.0}, r"omega must lie in \(0, 2\)"),
            ({"omega": 2}, r"omega must lie in \(0, 2\)"),
            ({"omega": "1"}, r"omega must lie in \(0, 2\)"),
            ({"omega": np.nan}, r"omega must lie in \(0, 2\)"),
            ({"sweeps": 0}, r"sweeps must lie in \[1, 1000\]"),
        ],
    )
    def test_wrong_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            lf.gauss_seidel(lf.matrices.poisson(5), **options)

    def test_fewer_iterations_than_jacobi(self, backend):
        A = backend.csr(lf.matrices.poisson((60, 60)))
        b = backend.xp.ones(3600)
        made = []
        for M in (lf.jacobi(A), lf.gauss_seidel(A), lf.gauss_seidel(A, sweeps=3)):
            history = lf.solvers.History()
            assert lf.solvers.cg(A, b, rtol=1e-8, M=M, history=history)[1] == 0
            made.append(len(history))
        assert made[0] > made[1] > made[2]


def test_several_sweeps_hold_the_matrix():
    """Which `memory_estimate` does not know of."""
    A = lf.matrices.poisson((30, 30))
    one, two = lf.gauss_seidel(A), lf.gauss_seidel(A, sweeps=2)
    assert two.nbytes - one.nbytes >= A.data.nbytes + A.indices.nbytes
    assert one.nbytes <= lf.memory_estimate(A, "gauss_seidel", symmetric=True).operator


class TestSmoother:
    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex64]))
    def test_multigrid(self, backend, dtype):
        A = lf.matrices.poisson((20, 20), dtype=dtype)
        ml = lf.multilevel(backend.csr(A), smoother="gauss_seidel", max_coarse=20)
        M = ml.aspreconditioner()
        dense = backend.host(M @ backend.array(np.eye(400, dtype=dtype)))
        assert M.positive_definite and "gauss_seidel, sweeps: 1 before, 1 after" in str(M)
        assert_close(dense, dense.conj().T, tolerance(M))
        assert abs(np.linalg.eigvals(np.eye(400) - dense @ A.toarray())).max() < 0.4

    def test_update_transpose_and_storage(self, backend, tmp_path):
        A = lf.matrices.stencil((20, 20), [[0, -1, 0], [-2, 5, -1], [0, -1, 0]])
        M = lf.multilevel(backend.csr(A), smoother="gauss_seidel", max_coarse=30).aspreconditioner()
        lf.save_preconditioner(M, tmp_path / "M")
        again = lf.load_preconditioner(tmp_path / "M")
        for operator in (M, again):
            operator.update(backend.csr(2 * A))
        identity = backend.array(np.eye(400))
        dense = backend.host(M @ identity)
        np.testing.assert_array_equal(backend.host(again @ identity), dense)
        assert_close(backend.host(M.T @ identity), dense.T, tolerance(M))


def test_kinds_are_described_once():
    """What other modules show of a kind comes from its descriptor."""
    from linforest_precond.app.commands import solve
    from linforest_precond.app.commands.preconditioners import CHOICES
    from linforest_precond.app.warm_up import STEPS
    from linforest_precond.distributed.petsc.options import FUNCTIONS

    solve.add_arguments(
        parser := ArgumentParser(formatter_class=lambda prog: HelpFormatter(prog, width=9999))
    )
    for name, face in faces().items():
        assert f"{name}: {face.title}" in parser.format_help()
        assert face.defaults.keys() >= {option for each in face.candidates for option in each.options}
        assert face.function is getattr(lf, name) and face.function is FUNCTIONS[name]
        assert CHOICES[name].title == face.title and name in STEPS
        assert "scaling" in inspect.signature(face.function).parameters  # the command line passes it
