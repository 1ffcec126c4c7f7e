"""Products over ranks: the bits of one rank for A, to rounding for the transpose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parallel_cases import joined, random_matrix, random_offsets

import linforest_precond as lf
from linforest_precond.distributed import scatter, simulate


def random_vectors(n, columns, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, columns) if columns else n)
    return (x + 1j * rng.standard_normal(x.shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@given(
    n=st.integers(0, 25),
    size=st.integers(1, 8),
    seed=st.integers(0, 2**32 - 1),
    columns=st.sampled_from([0, 1, 3]),
    dtypes=st.sampled_from(["ff", "dd", "fd", "DD", "dD", "Fd"]),
)
def test_products_have_the_bits_of_one_rank(n, size, seed, columns, dtypes):
    A, x = random_matrix(n, 0.3, seed, dtypes[0]), random_vectors(n, columns, dtypes[1], seed)
    offsets = random_offsets(n, size, seed)

    def part(comm):
        parts = scatter(A, comm, offsets)
        own = x[offsets[comm.rank] : offsets[comm.rank + 1]]
        assert np.array_equal(parts.operator @ own, parts @ own)
        return (
            np.concatenate([parts @ own, parts.T @ own, parts.rmatvec(own)], axis=-1)
            if columns
            else parts @ own
        )

    found = joined(size, part)
    whole = A @ x
    if not columns:
        assert found.dtype == whole.dtype and np.array_equal(found, whole)
        return
    assert np.array_equal(found[:, :columns], whole)
    eps = np.finfo(found.dtype).eps
    expected = np.concatenate([A.T @ x, A.conj().T @ x], axis=1)
    scale = abs(A).T @ abs(x)
    assert (abs(found[:, columns:] - expected) <= 8 * eps * (n + 1) * np.tile(scale, 2)).all()


def test_a_vector_of_another_length_is_refused():
    A = lf.matrices.poisson((4, 4))
    with pytest.raises(ValueError, match=r"x must have the shape \(8,\) or \(8, k\), got \(16,\)"):
        simulate(2, lambda comm: scatter(A, comm) @ np.ones(16))


def test_the_operator_knows_the_whole_matrix():
    A = lf.matrices.poisson((5, 4))
    for operator in simulate(3, lambda comm: scatter(A, comm, [0, 7, 7, 20]).operator):
        assert operator.global_rows == 20 and operator.shape in ((7, 7), (0, 0), (13, 13))
