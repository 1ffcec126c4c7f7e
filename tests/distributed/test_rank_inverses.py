"""Approximate inverses over ranks: those of one rank, bit for bit."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from parallel_cases import joined, jumps, random_matrix, random_offsets, vector
from strategies import slow

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.distributed import scatter, simulate


def with_dominant_diagonal(A):
    """The same pattern and phases; diagonally dominant rows."""
    return sp.csr_array(A + sp.diags_array(abs(A).sum(axis=1) + 1.0).astype(A.dtype))


def hermitian(A):
    return with_dominant_diagonal(sp.csr_array(A + A.conj().T))


CASES = {
    "poisson": lambda: lf.matrices.poisson((14, 11)),
    "jumps": lambda: jumps((9, 9)),
    "aniso": lambda: lf.matrices.aniso(2, 14),
    "one long row": lambda: hermitian(random_matrix(60, 0.05, 1)),
    "complex": lambda: hermitian(random_matrix(50, 0.06, 2, np.complex128)),
    "single": lambda: lf.matrices.poisson((9, 9)).astype(np.float32),
    "with empty rows": lambda: sp.csr_array(
        sp.block_diag([lf.matrices.poisson((5, 5)), sp.csr_array((3, 3))])
    ),
    "convection": lambda: with_dominant_diagonal(random_matrix(70, 0.04, 3)),
    "nonsymmetric complex": lambda: with_dominant_diagonal(random_matrix(50, 0.05, 4, np.complex64)),
    "nonsymmetric, zero rows": lambda: random_matrix(40, 0.08, 5),
}

# Types for which the kernels are compiled again.
OTHER_TYPES = ("complex", "single", "nonsymmetric complex")
CASE_NAMES = [slow(name) if name in OTHER_TYPES else name for name in CASES]


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*arguments, **options)


def parts_of(A, size, offsets, changed=None, **options):
    """The operators of the ranks, updated to another matrix if there is one."""

    def work(comm):
        M = distributed.approximate_inverse(scatter(A, comm, offsets), **options)
        if changed is not None:
            M.update(scatter(changed, comm, offsets))
        return M

    return quietly(simulate, size, work)


def applied(operators, r, view=None):
    operators = [M if view is None else getattr(M, view) for M in operators]
    parts = np.split(r, np.cumsum([M.shape[0] for M in operators])[:-1])
    return joined(len(operators), lambda comm: operators[comm.rank] @ parts[comm.rank])


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("name", CASE_NAMES)
def test_products_are_those_of_one_rank(name, size):
    A = sp.csr_array(CASES[name]())
    n, r = A.shape[0], vector(A.shape[0], 7, A.dtype)
    one = quietly(lf.approximate_inverse, A)
    found = parts_of(A, size, random_offsets(n, size, size))
    assert np.array_equal(applied(found, r), one @ r)
    assert np.allclose(applied(found, r, "T"), one.T @ r, rtol=1e-4 if A.dtype.itemsize == 4 else 1e-6)
    assert np.allclose(applied(found, r, "H"), one.H @ r, rtol=1e-4 if A.dtype.itemsize == 4 else 1e-6)
    for M in found:
        assert (M.repairs, M.positive_definite) == (one.repairs, one.positive_definite)


@pytest.mark.parametrize("name", ["poisson", "convection", slow("complex")])
def test_updates_are_those_of_one_rank(name):
    A = sp.csr_array(CASES[name]())
    changed = sp.csr_array(2 * A + sp.diags_array(np.linspace(0, 1, A.shape[0])).astype(A.dtype))
    offsets, r = random_offsets(A.shape[0], 3, 8), vector(A.shape[0], 7, A.dtype)
    one = lf.approximate_inverse(A)
    one.update(changed)
    found = parts_of(A, 3, offsets, changed)
    assert np.array_equal(applied(found, r), one @ r)


@pytest.mark.parametrize(
    "options", [{"entries": 40, "tolerance": 1e-6}, {"method": "spai"}, {"dtype": np.float32}]
)
def test_options(options):
    """Patterns of 40 entries reach over several ranks."""
    A = lf.matrices.poisson((13, 8))
    r = vector(A.shape[0], 7)
    found = parts_of(A, 6, None, **options)
    assert np.array_equal(applied(found, r), lf.approximate_inverse(A, **options) @ r)


def test_one_vector_or_several():
    A, R = lf.matrices.poisson((9, 9)), vector(81 * 300, 1).reshape(81, 300)
    assert np.array_equal(applied(parts_of(A, 3, None), R), lf.approximate_inverse(A) @ R)


def test_it_preconditions_the_solvers_over_ranks():
    A = lf.matrices.poisson((20, 20))

    def work(comm):
        own, history = scatter(A, comm), lf.solvers.History()
        M = distributed.approximate_inverse(own)
        distributed.cg(own, np.ones(own.n_local), M=M, history=history, rtol=1e-8)
        assert "bytes exchanged" in str(M) or comm.size == 1
        return history.residuals.tobytes()

    assert len(set(simulate(1, work) + simulate(4, work))) == 1


def test_a_factor_of_a_nonsymmetric_matrix_is_refused_on_all_ranks():
    A = CASES["convection"]()
    with pytest.raises(ValueError, match='method="fsai" needs a Hermitian A'):
        parts_of(A, 2, None, method="fsai")
    symmetric = hermitian(A)
    with pytest.raises(
        ValueError, match="A must be Hermitian with a positive diagonal as that of the setup was"
    ):
        parts_of(symmetric, 2, None, changed=-symmetric)
    with pytest.raises(ValueError, match="tolerance must lie in"):
        parts_of(symmetric, 2, None, tolerance=2.0)
