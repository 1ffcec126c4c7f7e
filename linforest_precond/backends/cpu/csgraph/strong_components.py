"""Strongly connected components by SciPy (Pearce's variant of Tarjan's algorithm), renumbered."""

import numpy as np
import scipy.sparse
from scipy.sparse import csgraph

from .components import labels_of_roots

# SciPy's graph functions index entries with 32 bits.
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
    # Written in descending order, so the lowest vertex of each label remains.
    lowest = np.empty(count, np.int32)
    lowest[labels[::-1]] = np.arange(n, dtype=np.int32)[::-1]
    return labels_of_roots(lowest[labels])
