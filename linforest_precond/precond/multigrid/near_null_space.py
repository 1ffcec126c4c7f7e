"""Near-null space candidates: from A alone, and aggregates of nodes with their smoothed prolongator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from linforest_precond.backends import Backend, OnBackend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.eigenvalue_estimates import SAFETY, ApplyInto, chebyshev_steps
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.prolongation import adjoint, smoothed_tentative
from linforest_precond.precond.storage import schema

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
    arrays, coarse = backend.multigrid.prolongators.tentative_prolongator(node_numbers, count, block_size, B)
    return RectangularCSR.of(arrays, count * B.shape[1]), coarse


def prolongator_weights(matrix: LevelMatrix) -> Array:
    """The weights of the step that smooths a prolongator.

    The largest eigenvalue counts without its safety factor: a step that is too long does no harm here, one
    that is too short costs iterations.
    """
    return SAFETY * matrix.damped_jacobi


def adaptive_candidates(matrix: LevelMatrix, k: int, seed: int) -> Array:
    """Orthonormal near-null space candidates (n, k): pseudorandom vectors, smoothed.

    The first stage of Brezina, Falgout, MacLachlan, Manteuffel, McCormick & Ruge, "Adaptive smoothed
    aggregation (alpha SA) multigrid" (2005), doi:10.1137/050626272, with a Chebyshev iteration for A x = 0.
    """
    xp, ops, csr = matrix.backend.xp, matrix.backend.multigrid.vector_ops, matrix.csr
    scale = _inverse_root(matrix)
    x = (pseudorandom_vectors(csr.n, k, seed, xp) * scale[:, None]).astype(csr.data.dtype)
    b, y = xp.zeros_like(x), xp.zeros_like(x)
    operand = csr.operand()
    for momentum, factor in chebyshev_steps(matrix.largest_eigenvalue, LOWEST_SHARE, SWEEPS):
        ops.relax(operand, matrix.inverse_diagonal, b, x, y, momentum, factor)
        x, y = y, x
    return orthonormal(x, scale, xp)


def improved_candidates(matrix: LevelMatrix, B: Array, cycle: ApplyInto) -> Array:
    """Candidates after a step of inverse iteration, D^-1 A x = B, by preconditioned conjugate gradients.

    ``cycle(r, z)`` is a V-cycle of the hierarchy that B gave, A Hermitian positive definite. All columns
    iterate at once, and no number is read back.
    """
    xp, ops, operand = matrix.backend.xp, matrix.backend.multigrid.vector_ops, matrix.csr.operand()
    r = B / matrix.inverse_diagonal[:, None]
    x, z, q = xp.zeros_like(r), xp.empty_like(r), xp.empty_like(r)
    cycle(r, z)
    p, rho = z.copy(), _dots(r, z)
    for _ in range(STEPS):
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


def candidates_fit_aggregates(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    """Each node has as many unknowns, and each aggregate a coarse unknown for each candidate."""
    k = fields["candidates"].shape[1]
    divided = fields["numbers"].size * fields["block_size"] == names["n"]
    yield "block_size", f"divide the {names['n']} unknowns into nodes", divided
    fitting = 1 <= k <= MOST_CANDIDATES and fields["count"] * k == names["coarse"]
    yield "candidates", f"have columns for the {names['coarse']} unknowns of the next level", fitting
    kinds = {fields[name].dtype.kind for name in ("candidates", "coarse_candidates")}
    yield "candidates", "be real for real matrices", kinds == {names["value"].kind}


@dataclass(frozen=True, eq=False)
class CandidateAggregates(OnBackend, schema.Stored):
    """Aggregates of nodes, and near-null space candidates that their prolongator reproduces."""

    # each node's aggregate; -1 for none
    numbers: Annotated[Array, schema.indices("nodes", least=-1, below="aggregates")]
    count: int  # of aggregates
    block_size: Annotated[int, schema.integer(1, MOST_CANDIDATES)]  # unknowns of a node
    candidates: Annotated[Array, schema.own_numbers("n", "candidates")]  # (n, k), in the precision of A
    # (k count, k), on the next level
    coarse_candidates: Annotated[Array, schema.own_numbers("coarse", "candidates")]

    @classmethod
    def of(
        cls, fine: LevelMatrix, numbers: Array, count: int, block_size: int, candidates: Array
    ) -> tuple[CandidateAggregates, tuple[RectangularCSR, RectangularCSR]]:
        """The aggregates with the candidates on both levels; the smoothed prolongator and its adjoint."""
        numbers = numbers.astype(fine.csr.indices.dtype, copy=False)
        P, coarse = tentative(fine.backend, numbers, count, block_size, candidates)
        smoothed = smoothed_tentative(fine.csr, P, prolongator_weights(fine))
        return cls(numbers, count, block_size, candidates, coarse), (smoothed, adjoint(smoothed))

    @property
    def held(self) -> list[Any]:
        """The objects whose arrays count in `nbytes`."""
        return [self.numbers, self.candidates, self.coarse_candidates]

    def smoothed(self, fine: LevelMatrix) -> tuple[RectangularCSR, RectangularCSR]:
        """The prolongator smoothed by a damped Jacobi step, and its adjoint; the candidates stay."""
        return self.of(fine, self.numbers, self.count, self.block_size, self.candidates)[1]

    def fill_dropped(self, indptr: Array, indices: Array, data: Array) -> None:
        """Fill the diagonal of the Galerkin product where an aggregate has too few rows for a candidate."""
        self.backend.multigrid.prolongators.fill_dropped(self.coarse_candidates, indptr, indices, data)

    def refreshed(self, fine: LevelMatrix) -> CandidateAggregates:
        """The aggregates for another matrix of the pattern, which may have another index type."""
        return self.indexed_by(fine.csr.indices.dtype).stored_in(fine.csr.data.dtype)

    def indexed_by(self, index: DType) -> CandidateAggregates:
        return replace(self, numbers=self.numbers.astype(index, copy=False))

    def stored_in(self, dtype: DType) -> CandidateAggregates:
        own, coarse = (each.astype(dtype, copy=False) for each in (self.candidates, self.coarse_candidates))
        return replace(self, candidates=own, coarse_candidates=coarse)


SCHEMA = schema.of_fields(CandidateAggregates, candidates_fit_aggregates, count=schema.size("aggregates"))
