"""Mycielski graphs: without triangles, and with long rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.user_warnings import named_arguments

from ..arrays import CsrArray, Device, from_host


@named_arguments
def mycielskian(
    k: int,
    *,
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
    index_dtype: npt.DTypeLike | None = None,
) -> CsrArray:
    """The Mycielski graph with chromatic number k, which has no triangles: the collection's mycielskian`k`.

    Parameters
    ----------
    k : int
        2 to 20; the graph has 3 * 2**(k - 2) - 1 vertices.
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    csr_array
        Symmetric, all values one, no diagonal.

    References
    ----------
    J. Mycielski, "Sur le coloriage des graphes", Colloquium Mathematicum 3 (1955).

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> A = matrices.mycielskian(4)
    >>> A.shape, A.nnz // 2
    ((11, 11), 20)
    """
    import scipy.sparse as sp

    A = sp.csr_array(np.array([[0, 1], [1, 0]], np.int8))  # short values, as all is copied
    for _ in range(as_integer("k", k, 2, 20) - 2):
        n = A.shape[0]
        ones = sp.csr_array(np.ones((n, 1), np.int8))
        zeros = sp.csr_array((n, n), dtype=np.int8)
        # Stacks of CSR matrices are copies; `block_array` would go through COO.
        rows = ([A, A, zeros[:, :1]], [A, zeros, ones], [zeros[:1], ones.T.tocsr(), zeros[:1, :1]])
        A = sp.vstack([sp.hstack(row, format="csr") for row in rows], format="csr")
    return from_host(A, dtype, device, index_dtype)
