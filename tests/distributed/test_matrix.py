"""Row-partitioned matrices: what a rank keeps, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from parallel_cases import gathered_matrix, random_matrix, random_offsets

import linforest_precond as lf
from linforest_precond.distributed import Matrix, scatter, simulate


@given(n=st.integers(0, 20), size=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_the_rows_of_all_ranks_are_the_matrix(n, size, seed):
    A, offsets = random_matrix(n, 0.2, seed), random_offsets(n, size, seed)

    def kept(comm):
        parts = scatter(A, comm, offsets)
        assert parts.shape == A.shape and parts.offsets.tolist() == offsets.tolist()
        assert parts.rows.shape == (parts.n_local, parts.n_local + parts.ghosts.size)
        assert (np.diff(parts.ghosts) > 0).all()
        return parts, gathered_matrix(parts)

    for parts, whole in simulate(size, kept):
        assert (whole != A).nnz == 0 and whole.nnz == A.nnz
        own = A[parts.first : parts.first + parts.n_local]
        # Only ghosts that are referred to; entries in the order of their global columns.
        outside = (own.indices < parts.first) | (own.indices >= parts.first + parts.n_local)
        assert parts.ghosts.tolist() == np.unique(own.indices[outside]).tolist()
        assert parts.columns[parts.rows.indices].tolist() == own.indices.tolist()
        assert parts.rows.data.tolist() == own.data.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int32])
def test_rank_0_alone_may_hold_the_matrix(dtype):
    A = random_matrix(9, 0.3, 1).astype(dtype)

    def kept(comm):
        parts = scatter(A if comm.rank == 0 else None, comm, np.array([0, 4, 4, 9]))
        return gathered_matrix(parts), parts.dtype

    for whole, found in simulate(3, kept):
        assert (whole != A).nnz == 0
        assert found == (np.float64 if dtype == np.int32 else dtype)


def test_duplicates_are_summed_and_columns_sorted():
    rows = sp.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3, 3, 3])), shape=(3, 3)
    )
    parts = simulate(1, lambda comm: Matrix(rows, comm))[0]
    assert parts.rows.indices.tolist() == [0, 2] and parts.rows.data.tolist() == [2.0, 5.0]
    assert rows.nnz == 3
    assert parts.diagonal().tolist() == [2.0, 0.0, 0.0]


def test_a_matrix_prints_itself():
    A = lf.matrices.poisson((4, 3))
    printed = simulate(2, lambda comm: repr(scatter(A, comm)))[1]
    assert printed == "<distributed.Matrix 12 x 12, float64; rank 1 of 2: rows 6:12, 23 entries, 3 ghosts>"


def test_offsets_follow_from_the_rows():
    A = lf.matrices.poisson((4, 4))
    cuts = [0, 5, 5, 16]
    parts = simulate(3, lambda comm: Matrix(A[cuts[comm.rank] : cuts[comm.rank + 1]], comm).offsets)
    assert all(found.tolist() == cuts and found.dtype == np.int64 for found in parts)


def refused(size, function):
    """The one message that all ranks raise, and its type."""

    def caught(comm):
        with pytest.raises((TypeError, ValueError)) as error:
            function(comm)
        return type(error.value), str(error.value)

    found = simulate(size, caught)
    assert all(other == found[0] for other in found)
    return found[0]


def entries(rows, shape=None):
    return sp.csr_array(np.array(rows), shape=shape)


@pytest.mark.parametrize(
    ("local", "message"),
    [
        (lambda r: sp.csr_array((2, 3 + r)), "number of columns of A must be the same on all ranks"),
        (lambda r: sp.csr_array((2, 4), dtype=[np.float64, np.float32][r]), "dtype of A must be the same"),
        (lambda r: sp.csr_array((2, 3)), "ranks have 4 rows together, but 3 columns"),
        (lambda r: sp.csr_array(np.full((2, 4), [1.0, np.nan][r])), "rank 1: A must be finite, got nan in"),
        (lambda r: np.eye(2) if r else sp.csr_array((2, 4)), "rank 1: A must be a sparse matrix"),
        (lambda r: sp.csr_array((2, 4), dtype=np.longdouble), "A must hold float32"),
    ],
)
def test_bad_rows_are_refused_on_all_ranks(local, message):
    kind, found = refused(2, lambda comm: Matrix(local(comm.rank), comm))
    assert message in found
    assert kind in (TypeError, ValueError)


def test_broken_index_arrays_are_refused():
    for field, values in (
        ("indptr", [0, 2, 1]),
        ("indptr", [1, 1, 2]),
        ("indices", [0, 7]),
        ("indices", [0, -1]),
    ):
        rows = sp.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
        setattr(rows, field, np.array(values))
        with pytest.raises(ValueError, match=f"A.{field} must"):
            simulate(1, lambda comm, rows=rows: Matrix(rows, comm))


@pytest.mark.parametrize(
    "offsets", [[0, 5], [0, 3, 9, 10], [0, 6, 10], [0, 11, 10], [1, 5, 10], [0.0, 5.0, 10.0]]
)
def test_bad_offsets_are_refused(offsets):
    A = lf.matrices.poisson((5, 2))
    halves = lambda comm: Matrix(A[5 * comm.rank : 5 * comm.rank + 5], comm, offsets)  # noqa: E731
    if offsets != [0.0, 5.0, 10.0]:
        assert "offsets must be" in refused(2, halves)[1]
    if offsets != [0, 6, 10]:
        assert "offsets must" in refused(2, lambda comm: scatter(A, comm, offsets))[1]


def test_offsets_that_differ_are_refused():
    A = lf.matrices.poisson((5, 2))
    kind, message = refused(2, lambda comm: scatter(A, comm, [0, 5 + comm.rank, 10]))
    assert kind is ValueError and "offsets must be the same on all ranks" in message


def test_a_matrix_must_be_given():
    assert refused(2, lambda comm: scatter(None, comm))[1].startswith(
        "rank 0: A must be the matrix on rank 0"
    )
