"""The Galerkin product P^T A P for the tentative prolongator P of aggregates: a one in each row."""

from ..matrix.row_merging import merge_rows
from ..runtime.launch import launch
from ..runtime.loader import INDICES, VALUES, Program

PROGRAM = Program("multigrid/galerkin", VALUE=VALUES, INDEX=INDICES)


def coarse_matrix(csr, aggregates, indptr, members):
    """The CSR arrays of P^T A P, columns ascending; each entry is summed in (row, column) order of A."""
    return merge_rows((csr.indptr, csr.indices, csr.data), indptr, members, aggregates)


def mirror_upper(indptr, indices, data):
    """Copy the conjugates of the upper triangle to the lower one, and make the diagonal real, in place."""
    program = PROGRAM(VALUE=data.dtype.type, INDEX=indices.dtype.type)
    launch(program.copy_upper, (indptr, indices, indptr.size - 1, data))
