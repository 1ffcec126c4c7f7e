"""Solvers of singular systems project the null space of A out of all vectors.

With the orthogonal projection P = I - Q Q*, where the columns of Q span the null space, the solvers iterate
on P A x = P b with the preconditioner P M: vectors stay orthogonal to Q whatever rounding errors do. For a
Hermitian A, P b is the part of b in the range of A, and x the least squares solution of the smallest norm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.matrix.vectors import checked_vectors, norms_of

from .reordering import Reordering

CONSTANT = "constant"
# A projected right-hand side below this multiple of the machine precision is set to 0.
ROUNDING = 100.0


class NullSpace:
    """The projection that removes the span of an orthonormal (n, m) basis, by the user's inner product."""

    def __init__(self, basis: Array, inner: Any) -> None:
        self._basis, self._inner = basis, inner

    def in_order(self, reordering: Reordering) -> NullSpace:
        """The projection of permuted vectors."""
        return NullSpace(reordering.permuted(self._basis), self._inner)

    def project(self, vectors: Array) -> None:
        """Remove the null space's part of the columns, in place."""
        if self._inner is None:
            vectors -= self._basis @ (self._basis.conj().T @ vectors)
            return
        for column in vectors.T:
            for q in self._basis.T:
                column -= q * self._inner(q, column)

    def projected(self, vectors: Array) -> Array:
        """A projected copy; rounding errors of a column that lies in the null space become 0."""
        result = vectors.copy()
        self.project(result)
        eps = float(np.finfo(vectors.dtype).eps)
        vanished = norms_of(result, self._inner) <= ROUNDING * eps * norms_of(vectors, self._inner)
        for c in np.flatnonzero(vanished).tolist():
            result[:, c] = 0
        return result

    def product(self, product: Any) -> Any:
        return ProjectedOperator(product, self)

    def preconditioning(self, preconditioning: Any) -> Any:
        return preconditioning if preconditioning.is_identity else ProjectedOperator(preconditioning, self)


class ProjectedOperator:
    """The products of an operator, with the null space projected out."""

    capturable = own = is_identity = False

    def __init__(self, operator: Any, null_space: NullSpace) -> None:
        self._operator, self._null_space = operator, null_space

    def into(self, space: Any, source: str, target: str) -> None:
        """Write the product with vector `source` into vector `target`; both are given by name."""
        self._operator.into(space, source, target)
        self._null_space.project(space[target])

    def residual(self, b: Array, x: Array, target: Array) -> None:
        """Write b - A x into `target`, without its part in the null space."""
        self._operator.residual(b, x, target)
        self._null_space.project(target)

    def magnitudes(self, x: Array) -> Array | None:
        """|A| |x|; None where A is an operator."""
        return self._operator.magnitudes(x)


def null_space_of(nullspace: Any, A: Any, n: int, dtype: Any, backend: Backend, inner: Any) -> NullSpace:
    """The checked argument `nullspace` of a solver."""
    if isinstance(nullspace, str):
        if nullspace != CONSTANT:
            raise ValueError(f'nullspace must be None, "constant" or an array, got {nullspace!r}')
        vectors = backend.xp.ones((n, 1), dtype)
    else:
        if inner is not None:
            raise ValueError('nullspace must be None or "constant" where inner is given, got an array')
        vectors = checked_vectors("nullspace", nullspace, n, backend).astype(dtype).reshape(n, -1)
    basis = _orthonormal(vectors, backend, inner)
    _require_null(A, basis, inner)
    return NullSpace(basis, inner)


def _orthonormal(vectors: Array, backend: Backend, inner: Any) -> Array:
    if vectors.shape[1] > 1:
        return backend.xp.linalg.qr(vectors)[0]
    norm = norms_of(vectors, inner)[0]
    return vectors / norm if norm > 0 else vectors


def _require_null(A: Any, basis: Array, inner: Any) -> None:
    """Raise where A does not map the basis to zero, up to the square root of rounding errors."""
    size = norms_of(apply(A, basis), inner)
    usual = norms_of(apply(A, oscillating(basis, inner)), inner)[0]
    limit = float(np.finfo(basis.dtype).eps) ** 0.5 * usual
    if not (size <= limit).all():
        raise ValueError(
            f"nullspace must hold vectors that A maps to zero, got norm(A q) = {size.max():.2g} for a "
            f"vector q of norm 1, where norm(A v) is {usual:.2g} for an oscillating v"
        )


def oscillating(like: Array, inner: Any) -> Array:
    """A vector of norm 1 without pattern: norm(A v) then estimates the size of A."""
    xp = xp_of(like)
    v = xp.cos(xp.arange(like.shape[0], dtype=np.float64) ** 2).astype(like.dtype).reshape(-1, 1)
    norm = norms_of(v, inner)[0]
    return v / norm if norm > 0 else v


def apply(A: Any, vectors: Array) -> Array:
    """A times each column: users' operators often take one-dimensional vectors only."""
    with np.errstate(all="ignore"):
        columns = [A @ vectors[:, c].copy() for c in range(vectors.shape[1])]
    result = vectors.copy()
    for c, column in enumerate(columns):
        result[:, c] = column.reshape(-1)
    return result
