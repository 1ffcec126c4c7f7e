"""The programs of multigrid setups, for `prefetch`: the slowest to compile first."""

import numpy as np

from ..matrix.long_row_split import PIECE
from ..runtime.loader import kernels, wide_type
from ..runtime.prefetch import lists_programs_of
from . import smoothed_aggregation


@lists_programs_of("smoothed_aggregation")
def smoothed_aggregation_programs(csr, stored, hermitian):
    """Of a hierarchy by smoothed aggregation of a matrix that is not the coarsest.

    The rows of coarse matrices are longer: they are taken to need the next larger team of lanes.
    """
    value, index = csr.data.dtype.type, csr.indices.dtype.type
    types = {"VALUE": value, "INDEX": index}
    programs = [
        *(smoothed_aggregation.program_of(csr, lanes) for lanes in smoothed_aggregation.likely_lanes(csr)),
        kernels("matrix/sparse_products", **types),
        kernels("csgraph/independent_set", cooperative=True, INDEX=index, PIECE=PIECE),
        kernels("multigrid/dense_matrix", WIDE=wide_type(value), **types),
        kernels("runtime/prefix_sum", INDEX=index),
        kernels("matrix/pattern_digest", INDEX=index),
    ]
    if hermitian:
        programs.append(kernels("multigrid/galerkin", **types))
        inverse = {"VALUE": wide_type(value), "RESULT": stored.type}
        programs.append(kernels("multigrid/dense_inverse", cooperative=True, **inverse))
    if stored.itemsize < np.dtype(value).itemsize:
        programs.append(kernels("matrix/conversion", INDEX=np.int32))
    return programs
