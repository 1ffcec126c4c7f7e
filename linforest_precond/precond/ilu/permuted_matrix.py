"""A matrix in the order of elimination, with all of its diagonal stored."""

from __future__ import annotations

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.checked import CSR
from linforest_precond.records.forest import Ordering


def permuted_with_diagonal(csr: CSR, ordering: Ordering, dtype: DType) -> tuple[Array, Array, Array]:
    """The CSR arrays of ``A[order][:, order]``; diagonal entries that are not stored become zeros.

    The transpose of a matrix has sorted rows whatever the order of its own entries: after two transpositions,
    each with the columns renumbered, rows and columns are permuted and sorted.
    """
    entries, rank = csr.backend.matrix.entries, ordering.rank
    indptr, indices, data = _with_diagonal(csr)
    data = data.astype(dtype, copy=False)
    for _ in range(2):
        indptr, indices, data = entries.transposed(indptr, rank[indices], data)
    return indptr, indices, data


def _with_diagonal(csr: CSR) -> tuple[Array, Array, Array]:
    backend, n, index = csr.backend, csr.n, csr.indices.dtype
    xp, entries = backend.xp, backend.matrix.entries
    if bool((csr.diagonal != 0).all()):  # stall: decides whether entries are added
        return csr.indptr, csr.indices, csr.data
    rows, diagonal = entries.rows_of(csr.indptr, csr.nnz), xp.arange(n, dtype=index)
    return entries.canonical(
        xp.concatenate([rows, diagonal]),
        xp.concatenate([csr.indices, diagonal]),
        xp.concatenate([csr.data, xp.zeros(n, csr.data.dtype)]),
        n,
        index,
    )
