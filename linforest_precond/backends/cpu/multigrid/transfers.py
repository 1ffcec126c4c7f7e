"""Restriction and prolongation by aggregates."""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel, serial_version

ROWS_AT_ONCE = 16384  # rows of a thread's share
RUN = 32


def restrict(indptr, members, fine, coarse):
    """coarse = P^T fine: the sum over the members of each aggregate.

    Members are added in their order in runs of 32, then the sums of the runs: the same bits on every device.
    Vectors are contiguous, (N,) or (N, k); nothing is allocated.
    """
    _run(sum_members, coarse, readonly(indptr), readonly(members), readonly(_columns(fine)), _columns(coarse))


def prolong_add(aggregates, coarse, fine):
    """fine += P coarse: each unknown adds the value of its aggregate."""
    _run(add_values, fine, readonly(aggregates), readonly(_columns(coarse)), _columns(fine))


def _columns(vector):
    return vector[:, None] if vector.ndim == 1 else vector


def _run(function, target, *arguments):
    """Call a parallel kernel, compiled without threads where there is one share of rows."""
    if target.shape[0] <= ROWS_AT_ONCE:
        function = serial_version(function)
    function(*arguments)


@kernel(parallel=True)
def sum_members(indptr, members, fine, coarse):
    rows = coarse.shape[0]
    for block in prange(-(-rows // ROWS_AT_ONCE)):
        first = block * ROWS_AT_ONCE
        sum_members_of(first, min(first + ROWS_AT_ONCE, rows), indptr, members, fine, coarse)


@helper
def sum_members_of(first, end, indptr, members, fine, coarse):
    for row in range(first, end):
        for column in range(coarse.shape[1]):
            total = coarse.dtype.type(0)
            last = np.int64(indptr[row + 1])
            for begin in range(np.int64(indptr[row]), last, RUN):
                run = coarse.dtype.type(0)
                for i in range(begin, min(begin + RUN, last)):
                    run += fine[members[i], column]
                total += run
            coarse[row, column] = total


@kernel(parallel=True)
def add_values(aggregates, coarse, fine):
    rows = fine.shape[0]
    for block in prange(-(-rows // ROWS_AT_ONCE)):
        first = block * ROWS_AT_ONCE
        add_values_of(first, min(first + ROWS_AT_ONCE, rows), aggregates, coarse, fine)


@helper
def add_values_of(first, end, aggregates, coarse, fine):
    for row in range(first, end):
        for column in range(fine.shape[1]):
            fine[row, column] += coarse[np.uint64(aggregates[row]), column]
