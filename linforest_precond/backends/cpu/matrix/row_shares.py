"""Load balancing of sparse products: threads take consecutive rows with about equal numbers of entries."""

import numpy as np

ENTRIES_AT_ONCE = 16384  # entries, about, of a thread's share


def row_shares(indptr):
    """The first row of each share, and the number of rows."""
    nnz = int(indptr[-1])
    parts = max(-(-nnz // ENTRIES_AT_ONCE), 1)
    shares = np.arange(1, parts) * (nnz // parts)
    return np.array([0, *np.searchsorted(indptr, shares), indptr.size - 1], np.int64)
