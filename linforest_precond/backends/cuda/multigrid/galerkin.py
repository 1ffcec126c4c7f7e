"""The matrix between aggregates: P^T A P, where P has a one in each row."""

from ..matrix.row_merging import merge_rows
from ..runtime.launch import launch
from ..runtime.loader import kernels


def coarse_matrix(csr, aggregates, indptr, members):
    """Add up the entries between the members of each two aggregates, in (row, column) order.

    Takes the aggregates and their members (`aggregates.members_of`). Returns CSR arrays with ascending
    columns: an entry for every two aggregates between which one is stored, zeros included.
    """
    return merge_rows((csr.indptr, csr.indices, csr.data), indptr, members, coarse_columns=aggregates)


def mirror_upper(indptr, indices, data):
    """Let entries below the diagonal be the conjugates of those above it, and the diagonal real, in place.

    For coarse matrices of Hermitian ones, whose pattern is symmetric: their sums run in another order on
    either side of the diagonal, so they are Hermitian to rounding only.
    """
    program = kernels("multigrid/galerkin", VALUE=data.dtype.type, INDEX=indices.dtype.type)
    launch(program.copy_upper, (indptr, indices, indptr.size - 1, data))
