"""Connected components, whatever the direction of the edges, numbered by their lowest vertex."""

import numpy as np

from . import entries
from .launch import launch
from .lazy import cupy
from .loader import kernels


def weak_components(pattern):
    """The number of components, and each vertex's."""
    n, nnz = pattern.n, pattern.nnz
    program = kernels("components", INDEX=pattern.indptr.dtype.type)
    parents, is_root, labels = (cupy.empty(n, np.int32) for _ in range(3))
    launch(program.plant, (pattern.indptr, pattern.indices, n, parents))
    rows = entries.rows_of(pattern.indptr, nnz)
    launch(program.join, (rows, pattern.indices, nnz, parents))
    launch(program.find_roots, (n, parents, labels, is_root))
    numbers = cupy.cumsum(is_root, dtype=np.int32)
    launch(program.number_roots, (numbers, n, labels))
    return int(numbers[-1]), labels  # stall: the caller sizes arrays by it
