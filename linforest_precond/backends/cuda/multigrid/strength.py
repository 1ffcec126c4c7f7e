"""Strength of connection between unknowns, Hermitian symmetry, and sums of rows."""

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels


def is_hermitian(csr):
    """Whether A equals its conjugate transpose; the magnitudes are known to be symmetric."""
    different = cupy.zeros(1, np.uint32)
    launch(_program(csr).find_mirrors, (csr.indptr, csr.indices, csr.data, csr.n, different))
    return not different.item()  # stall: decides on cycles


def row_sums(csr):
    """The sum of the magnitudes of each row, and the magnitude of its sum, in double precision."""
    sizes, sums = cupy.empty(csr.n), cupy.empty(csr.n)
    launch(_program(csr).add_rows, (csr.indptr, csr.data, csr.n, sizes, sums))
    return sizes, sums


def weigh(csr, strength):
    """The strength of connection of every entry, and the largest of each row, in double precision.

    The strength is 2 |a_ij| / (|a_ii| + |a_jj|) where a_ij has the opposite sign of a_ii. It is 0 elsewhere,
    on the diagonal, and where it is below `strength` times the largest of either row.
    """
    program, matrix = _program(csr), (csr.indptr, csr.indices, csr.data, csr.diagonal, csr.n)
    strongest, weights = cupy.empty(csr.n), cupy.empty(csr.nnz)
    launch(program.find_strongest, (*matrix, strongest))
    launch(program.weigh_entries, (*matrix, strongest, float(strength), weights))
    return weights, strongest


def _program(csr):
    return kernels("multigrid/strength", VALUE=csr.data.dtype.type, INDEX=csr.indices.dtype.type)
