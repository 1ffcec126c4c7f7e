"""Load balancing of sparse products: consecutive rows with about equal numbers of entries."""

import numpy as np

ENTRIES_AT_ONCE = 16384  # entries of a matrix, about, that one thread takes at a time


def row_shares(indptr):
    """Where the rows begin that one thread takes at a time, and the last end."""
    nnz = int(indptr[-1])
    parts = max(-(-nnz // ENTRIES_AT_ONCE), 1)
    shares = np.arange(1, parts) * (nnz // parts)
    return np.array([0, *np.searchsorted(indptr, shares), indptr.size - 1], np.int64)
