"""Vectors between a matrix and its coarser one: sums over aggregates, and their values for all members."""

from ..runtime.launch import launch
from ..runtime.loader import kernels


def restrict(indptr, members, fine, coarse):
    """Write the sum over each aggregate's members into `coarse`: P^T fine.

    Members are added in their order, in runs of 32; then the sums of the runs. Vectors are contiguous, (N,)
    or (N, k); nothing is allocated.
    """
    program = kernels("multigrid/transfers", VALUE=coarse.dtype.type, INDEX=members.dtype.type)
    rows = coarse.shape[0]
    launch(
        program.sum_members,
        (indptr, members, fine, rows, coarse.size // max(rows, 1), coarse),
        items=coarse.size,
    )


def prolong_add(aggregates, coarse, fine):
    """Add to each vertex the value of its aggregate: fine += P coarse."""
    program = kernels("multigrid/transfers", VALUE=fine.dtype.type, INDEX=aggregates.dtype.type)
    rows = fine.shape[0]
    launch(program.add_values, (aggregates, coarse, rows, fine.size // max(rows, 1), fine), items=fine.size)
