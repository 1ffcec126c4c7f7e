"""How strongly unknowns are coupled, for pairing them: couplings that pull their values together."""

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels


def is_hermitian(csr):
    """Whether every entry is the conjugate of its mirror image; the magnitudes are known to be symmetric."""
    different = cupy.zeros(1, np.uint32)
    launch(_program(csr).find_mirrors, (csr.indptr, csr.indices, csr.data, csr.n, different))
    return not different.item()  # stall: decides on cycles


def row_sums(csr):
    """The sums of the magnitudes of each row and the magnitudes of its sums, in double precision."""
    sizes, sums = cupy.empty(csr.n), cupy.empty(csr.n)
    launch(_program(csr).add_rows, (csr.indptr, csr.data, csr.n, sizes, sums))
    return sizes, sums


def weigh(csr, strength):
    """A weight for every entry: 2 |a_ij| / (|a_ii| + |a_jj|) where a_ij has the other sign than the diagonal.

    0 elsewhere, and where the weight is below `strength` times the largest of either row: in double
    precision.
    """
    program, matrix = _program(csr), (csr.indptr, csr.indices, csr.data, csr.diagonal, csr.n)
    strongest, weights = cupy.empty(csr.n), cupy.empty(csr.nnz)
    launch(program.find_strongest, (*matrix, strongest))
    launch(program.weigh_entries, (*matrix, strongest, float(strength), weights))
    return weights, strongest


def _program(csr):
    return kernels("multigrid/strength", VALUE=csr.data.dtype.type, INDEX=csr.indices.dtype.type)
