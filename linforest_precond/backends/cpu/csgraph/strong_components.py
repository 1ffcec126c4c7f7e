"""Strongly connected components, as SciPy finds them."""

import numpy as np
import scipy.sparse
from scipy.sparse import csgraph

from .components import numbered

# What SciPy's graph functions number entries by.
LARGEST_COUNT = 2**31 - 1


def strong_components(pattern):
    """The number of components and each vertex's, numbered by their lowest vertices."""
    n, nnz = pattern.n, pattern.nnz
    if nnz > LARGEST_COUNT:
        raise ValueError(
            f"A must have at most {LARGEST_COUNT} stored entries for strong components on the CPU, got {nnz}"
        )
    parts = np.ones(nnz), pattern.indices, pattern.indptr.astype(np.int32, copy=False)
    count, labels = csgraph.connected_components(
        scipy.sparse.csr_matrix(parts, shape=(n, n)), connection="strong"
    )
    # Of the vertices with one label the last to be written is the lowest.
    lowest = np.empty(count, np.int32)
    lowest[labels[::-1]] = np.arange(n, dtype=np.int32)[::-1]
    return numbered(lowest[labels])
