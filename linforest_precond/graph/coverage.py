"""How much of a matrix's off-diagonal weight lies where."""

from __future__ import annotations

from typing import Any

from linforest_precond.backends import backend_of
from linforest_precond.gate import as_csr
from linforest_precond.records import CSR


def identity_coverage(A: Any) -> float:
    """Share of the off-diagonal weight on the sub- and superdiagonal, in the order A comes in.

    This is c_id, Eq. 5 of Klein & Strzodka, "Highly Parallel Linear Forest Extraction from a Weighted
    Graph on GPUs" (2022), doi:10.1145/3545008.3545035: what a plain tridiagonal preconditioner keeps.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.

    Returns
    -------
    float
        Between 0 and 1; 1 for a matrix without off-diagonal entries.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> round(lf.graph.identity_coverage(lf.matrices.poisson((50, 50))), 2)
    0.5
    """
    csr = as_csr(A)
    if csr.total_weight == 0.0:
        return 1.0
    backend = backend_of(csr.data)
    lower, _, upper = backend.bands.extract(csr, *_original_path(csr, backend.xp), None, None)
    weight = sum(
        backend.sums.tree_sum(backend.entries.magnitudes(band), csr.scale) for band in (lower, upper)
    )
    return min(1.0, weight / csr.total_weight)


def _original_path(csr: CSR, xp: Any) -> tuple[Any, Any]:
    """Neighbours and order of the one path 0, 1, ..., n - 1."""
    order = xp.arange(csr.n, dtype=csr.indices.dtype)
    neighbors = xp.stack([order - 1, order + 1], axis=1)
    neighbors[-1:, 1] = -1
    return neighbors, order
