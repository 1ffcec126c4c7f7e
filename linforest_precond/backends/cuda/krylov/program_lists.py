"""The programs of Krylov solvers, for `prefetch`."""

import numpy as np

from ..runtime.loader import kernels, wide_type
from ..runtime.prefetch import lists_programs_of
from .spmv import product_program


@lists_programs_of("solver")
def solver_programs(dtype):
    """Of vectors of a type."""
    return [
        kernels("krylov/updates", VALUE=dtype.type, WIDE=wide_type(dtype), BLOCK=1),
        kernels("krylov/norms", VALUE=dtype.type(0).real.dtype.type, WIDE=np.float64, BLOCK=1),
    ]


@lists_programs_of("product")
def product_programs(csr, dtype):
    """Of products with a matrix."""
    return [product_program(dtype, csr.indices.dtype)]
