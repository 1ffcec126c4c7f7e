"""Grid transfer by plain aggregates: restriction, prolongation, and the Galerkin product P^T A P."""

from ..matrix.row_merging import merge_rows
from ..runtime import INDICES, VALUES, Program, launch

PROGRAM = Program("multigrid/transfers", VALUE=VALUES, INDEX=INDICES)


def restrict(indptr, members, fine, coarse):
    program = PROGRAM(VALUE=coarse, INDEX=members)
    rows = coarse.shape[0]
    arguments = indptr, members, fine, rows, coarse.size // max(rows, 1), coarse
    launch(program.sum_members, arguments, items=coarse.size)


def prolong_add(aggregates, coarse, fine):
    program = PROGRAM(VALUE=fine, INDEX=aggregates)
    rows = fine.shape[0]
    launch(program.add_values, (aggregates, coarse, rows, fine.size // max(rows, 1), fine), items=fine.size)


def coarse_matrix(csr, aggregates, indptr, members):
    return merge_rows((csr.indptr, csr.indices, csr.data), indptr, members, aggregates)
