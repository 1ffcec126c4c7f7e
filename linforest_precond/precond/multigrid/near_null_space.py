"""Near-null space candidates: their tentative prolongators, and adaptive candidates from A alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.eigenvalue_estimates import SAFETY, ApplyInto, chebyshev_steps
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix

# The most candidates, and the most unknowns per node: the lanes of a warp.
MOST_CANDIDATES = 32
# Steps of the Chebyshev iteration that smooths candidates, and the lower end of the interval that it damps,
# as a share of the largest eigenvalue. After more steps, only the modes of the softest parts of a body are
# left, which vanish elsewhere.
SWEEPS = 20
LOWEST_SHARE = 1 / 20
# Steps of conjugate gradients that improve candidates.
STEPS = 5


def tentative(
    backend: Backend, node_numbers: Array, count: int, block_size: int, B: Array
) -> tuple[RectangularCSR, Array]:
    """The tentative prolongator of aggregates of nodes with the candidates B, and B on the next level."""
    arrays, coarse = backend.multigrid.tentative.tentative_prolongator(node_numbers, count, block_size, B)
    return RectangularCSR.of(arrays, count * B.shape[1]), coarse


def prolongator_weights(matrix: LevelMatrix) -> Array:
    """The weights of the step that smooths a prolongator.

    The largest eigenvalue counts without its safety factor: a step that is too long does no harm here, one
    that is too short costs iterations.
    """
    return SAFETY * matrix.damped_jacobi


def adaptive_candidates(matrix: LevelMatrix, k: int, seed: int, sweeps: int = SWEEPS) -> Array:
    """Orthonormal near-null space candidates (n, k): pseudorandom vectors, smoothed by `sweeps` steps.

    The first stage of Brezina, Falgout, MacLachlan, Manteuffel, McCormick & Ruge, "Adaptive smoothed
    aggregation (alpha SA) multigrid" (2005), doi:10.1137/050626272, with a Chebyshev iteration for A x = 0.
    """
    xp, ops, csr = matrix.backend.xp, matrix.backend.multigrid.vector_ops, matrix.csr
    scale = _inverse_root(matrix)
    x = (pseudorandom_vectors(csr.n, k, seed, xp) * scale[:, None]).astype(csr.data.dtype)
    b, y = xp.zeros_like(x), xp.zeros_like(x)
    operand = csr.operand()
    for momentum, factor in chebyshev_steps(matrix.largest_eigenvalue, LOWEST_SHARE, sweeps):
        ops.relax(operand, matrix.inverse_diagonal, b, x, y, momentum, factor)
        x, y = y, x
    return orthonormal(x, scale, xp)


def improved_candidates(matrix: LevelMatrix, B: Array, cycle: ApplyInto, steps: int = STEPS) -> Array:
    """Candidates after a step of inverse iteration, D^-1 A x = B, by preconditioned conjugate gradients.

    ``cycle(r, z)`` is a V-cycle of the hierarchy that B gave, A Hermitian positive definite. All columns
    iterate at once, and no number is read back.
    """
    xp, ops, operand = matrix.backend.xp, matrix.backend.multigrid.vector_ops, matrix.csr.operand()
    r = B / matrix.inverse_diagonal[:, None]
    x, z, q = xp.zeros_like(r), xp.empty_like(r), xp.empty_like(r)
    cycle(r, z)
    p, rho = z.copy(), _dots(r, z)
    for _ in range(steps):
        ops.multiply(operand, p, q)
        alpha = _ratios(rho, _dots(p, q), xp)
        x, r = x + alpha * p, r - alpha * q
        cycle(r, z)
        previous, rho = rho, _dots(r, z)
        p = z + _ratios(rho, previous, xp) * p
    return orthonormal(x, _inverse_root(matrix), xp)


def _inverse_root(matrix: LevelMatrix) -> Array:
    """D^-1/2 for the diagonal D of A, divided by the power of two next to A's largest entry.

    So candidates have the same bits for all A 2**k.
    """
    power = 2.0 ** (matrix.csr.exponent or 0)
    return matrix.backend.xp.sqrt(abs(matrix.inverse_diagonal) * power)


def _dots(u: Array, v: Array) -> Array:
    """The real parts of the columns' inner products."""
    return (u.conj() * v).real.sum(axis=0)


def _ratios(numbers: Array, divisors: Array, xp: Any) -> Array:
    """0 where a column has converged."""
    positive = divisors > 0
    return xp.where(positive, numbers / xp.where(positive, divisors, 1), 0)


def orthonormal(x: Array, scale: Array, xp: Any) -> Array:
    """A basis of the columns of x, orthonormal in the inner product of the diagonal, 1 / scale^2."""
    wide = np.result_type(x.dtype, np.float64)
    basis, _ = xp.linalg.qr(x.astype(wide) / scale[:, None])
    return xp.ascontiguousarray((basis * scale[:, None]).astype(x.dtype))


def pseudorandom_vectors(n: int, k: int, seed: int, xp: Any) -> Array:
    """(n, k) numbers between -1/2 and 1/2 by the finalizer of splitmix64, the same on every device."""
    bits = xp.arange(1, n * k + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits += np.uint64(seed % 2**64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((bits >> np.uint64(11)).astype(np.float64) / 2.0**53 - 0.5).reshape(n, k)
