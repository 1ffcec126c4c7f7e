"""CSR records of matrices that this package computed itself: one scan describes them, nothing is checked.

Such matrices (Galerkin products, transposes, graphs of computed weights) have index arrays that are valid and
sorted by construction. A user's matrix goes through `gate` instead.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linforest_precond.annotations import Array, DType
from linforest_precond.backends import backend_of
from linforest_precond.backends.returns import EntryScan
from linforest_precond.records import CSR

# The largest number of entries, or of vertices, for which indices are 32-bit.
LARGEST_INT32_COUNT = 2**31 - 1
# A sum of any number of magnitudes, each scaled by this factor, does not overflow in float64.
OVERFLOW_SCALE = 2.0**-128


def described_csr(indptr: Array, indices: Array, data: Array) -> CSR:
    """The record of CSR arrays whose columns strictly increase in each row.

    Index arrays are not checked.

    Parameters
    ----------
    indptr, indices, data
        CSR arrays of a square matrix on one device, with one index type and one of the four value types.

    Raises
    ------
    ValueError
        If an entry overflowed while it was computed: the entries of A are finite, sums of them need not be.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.own_matrix import described_csr
    >>> csr = described_csr(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([2.0, -1.0, -1.0]))
    >>> csr.symmetric, csr.total_weight, csr.diagonal.tolist(), csr.longest_row
    (True, 2.0, [2.0, 0.0], 2)
    """
    scan = backend_of(data).matrix.entries.scan(indptr, indices, data)
    if scan.first_nonfinite >= 0:
        raise ValueError(
            "A's entries differ too much in size, scale its rows and columns: a matrix computed from it "
            f"overflowed, got {data[scan.first_nonfinite]}"
        )
    return csr_from_scan(indptr, indices, data, scan)


def csr_from_scan(indptr: Array, indices: Array, data: Array, scan: EntryScan) -> CSR:
    """The record of sorted, finite CSR arrays with the properties that a scan of them found."""
    if not scan.symmetric:  # the graph of a nonsymmetric matrix also has the entries of its transpose
        index = index_dtype(2 * indices.size, indices.dtype)
        indptr, indices = indptr.astype(index, copy=False), indices.astype(index, copy=False)
    scale = 1.0
    if not np.isfinite(2.0 * scan.total):  # twice: the weight of |A| + |A|^T
        scale = OVERFLOW_SCALE
        scan = backend_of(data).matrix.entries.scan(indptr, indices, data, scale)
    return CSR(
        indptr,
        indices,
        data,
        symmetric=scan.symmetric,
        total_weight=scan.total,
        adjacent_weight=scan.adjacent,
        diagonal=scan.diagonal,
        longest_row=scan.longest_row,
        scale=scale,
        exponent=scan.biased_exponent + np.finfo(data.dtype).minexp if scan.biased_exponent else None,
    )


def index_dtype(count: int, *dtypes: npt.DTypeLike) -> DType:
    """The index type for `count` entries, not narrower than the given types."""
    wide = count > LARGEST_INT32_COUNT or any(np.dtype(dtype).itemsize > 4 for dtype in dtypes)
    return np.dtype(np.int64 if wide else np.int32)
